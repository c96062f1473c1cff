# SPDX-License-Identifier: GPL-2.0-only
"""./cupel monitor: a machine with nothing to do, and this terminal as its console."""

import os
import re
import subprocess
import sys

from . import Failure, Usage, bench, build, tied

OPTIONS = ("cpus", "cpu", "gic", "machine", "memory", "build", "icount", "board", "firmware")


def option_lines():
    """Those of bench that are the monitor's too, without what they say of --host."""
    lines = [line for line in bench.OPTIONS if line.split()[0][2:] in OPTIONS]
    return [re.sub(r"; --host: [^)]*", "", line) for line in lines]


HELP = "\n".join(["./cupel monitor [arm64|x86] [options]", "",
                  "Boot QEMU with this terminal as the console of the monitor: docs/monitor.md. `poweroff` there, or",
                  "the end of this terminal, ends it. Ctrl-C is the monitor's. Standard input that is no terminal is",
                  "given to it a line at each prompt, and at its end `poweroff`.", "", "Options:",
                  *option_lines()])

PROMPT = b"cupel> "


class Request(bench.Request):
    """The same machines, and nothing to run."""

    def check(self):
        if self.experiment or self.words:
            raise Usage("the monitor is told what to run at its prompt, not '%s'"
                        % (self.experiment or self.words[0]))
        for name, value in self.options.items():
            if name not in OPTIONS and value not in (None, False, bench.Request().options[name]):
                raise Usage("--%s is not for the monitor" % name)
        self.check_arch()
        self.check_machine()


def feed(child):
    """Standard input, a line at each prompt: so no more is typed ahead than the machine has room for."""
    tail = b""
    while True:
        data = os.read(child.stdout.fileno(), 65536)
        if not data:
            return child.wait()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        tail = (tail + data)[-len(PROMPT):]
        if tail == PROMPT:
            line = sys.stdin.buffer.readline() or b"poweroff\n"
            child.stdin.write(line if line.endswith(b"\n") else line + b"\n")


def main(words):
    request = Request()
    request.read(words)
    build.setup()
    request.make()
    what = request.to_machine()
    argv = tied(what.argv())
    # Of this session and its terminal, which QEMU makes raw: Ctrl-C is a key like any other.
    if sys.stdin.isatty():
        status = subprocess.run(argv, check=False).returncode
    else:
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as child:
            status = feed(child)
    if what.exit_code(status):
        raise Failure("the machine ended with code %d" % what.exit_code(status))
