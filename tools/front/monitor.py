# SPDX-License-Identifier: GPL-2.0-only
"""./cupel monitor: a machine with nothing to do, and this terminal as its console."""

import subprocess

from . import Failure, Usage, bench, build, tied

OPTIONS = ("cpus", "cpu", "gic", "machine", "memory", "build", "icount", "board", "firmware")

HELP = "\n".join(["./cupel monitor [arm64|x86] [options]", "",
                  "Boot QEMU with this terminal as the console of the monitor: docs/monitor.md. `poweroff` there, or",
                  "the end of this terminal, ends it. Ctrl-C is the monitor's.", "", "Options:",
                  *(line for line in bench.OPTIONS if line.split()[0][2:] in OPTIONS)])


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


def main(words):
    request = Request()
    request.read(words)
    build.setup()
    request.make()
    what = request.to_machine()
    # Of this session and its terminal, which QEMU makes raw: Ctrl-C is a key like any other.
    status = subprocess.run(tied(what.argv()), check=False).returncode
    if what.exit_code(status):
        raise Failure("the machine ended with code %d" % what.exit_code(status))
