# SPDX-License-Identifier: GPL-2.0-only
"""./cupel: the words of its command line."""

import importlib
import os
import signal
import subprocess
import sys

from . import PYTHON, ROOT, Failure, Usage

HELP = """\
./cupel COMMAND [words]; ./cupel COMMAND --help says more

  run [arm64|x86]      build, boot on QEMU, print the vCPU-load table
  bench EXPERIMENT …   run one experiment; its words and the machine's are in `bench --help`
  monitor [arm64|x86]  a prompt on the machine's console: list, run, look
  torture NAME …       race one part of it against all that can get in its way
  check                build and run every test
  mutants [NAME …]     break the code on purpose; a test must notice each time
  models [NAME …]      what spin says of the models in tests/models
  archive OUT FILE …   guests and cupel.conf as one archive
  disk OUT [words]     an image for a stick or SD card, for both architectures
  symbolize [LOG]      a panic's backtrace with function, file and line
  report …             figures and plots from JSON rows
  setup                install what is missing on Debian 12 or 13
  help                 this text"""

RUN_HELP = """\
./cupel run [arm64|x86] [--board NAME] [--gdb | --gdb-batch FILE | --gdb-wait]

Install what is missing, build, boot QEMU (arm64: virt at EL2 with GICv3; x86: q35 with SVM) and
print the vcpu-load table. Default: arm64.

  --board NAME      a board of docs/boards.md, as QEMU models it
  --gdb             in gdb, stopped before the first instruction; `help cupel` there
  --gdb-batch FILE  the same with gdb's commands from a file
  --gdb-wait        wait for a debugger of your own"""

SYMBOLIZE_HELP = """\
./cupel symbolize [LOG]

Read a console log (default: standard input), find the image in build/ that printed it by the build
id on its first line, and say below each line of a backtrace which function, file and line it is."""


def run(words):
    from . import bench
    bench.run(words)


def bench_command(words):
    from . import bench
    bench.bench(words)


def torture(words):
    from . import torture as tool
    return tool.main(words)


def monitor(words):
    from . import monitor as tool
    tool.main(words)


def check(words):
    from . import check as checks
    return checks.main(words)


def mutants(words):
    from . import mutants as tool
    return tool.main(words)


def models(words):
    return subprocess.run([PYTHON, os.path.join(ROOT, "tests/models/run"), *words], check=False).returncode


def archive(words):
    from . import archive as tool
    tool.main(words)


def disk(words):
    from . import disk as tool
    tool.main(words)


def symbolize(words):
    from . import symbolize as tool
    if len(words) > 1:
        raise Usage("symbolize takes one file")
    tool.main(*words)


def report(words):
    return subprocess.run([PYTHON, os.path.join(ROOT, "tools/report"), *words], check=False).returncode


def setup(words):
    return subprocess.run([os.path.join(ROOT, "tools/setup"), *words], check=False).returncode


COMMANDS = {"run": run, "bench": bench_command, "torture": torture, "monitor": monitor, "check": check,
            "mutants": mutants, "models": models, "archive": archive, "disk": disk, "symbolize": symbolize,
            "report": report, "setup": setup}


def help_of(command):
    if command == "run":
        return RUN_HELP
    if command == "symbolize":
        return SYMBOLIZE_HELP
    if command == "bench":
        from . import bench
        return bench.usage()
    if command == "torture":
        from . import torture as tool
        return tool.usage()
    if command == "check":
        from . import check as checks
        return checks.HELP
    if command in ("mutants", "archive", "disk", "monitor"):
        return importlib.import_module("front." + command).HELP
    return None


def main(words):
    command = words[0] if words else "help"
    if command in ("help", "-h", "--help"):
        if len(words) > 1 and help_of(words[1]):
            print(help_of(words[1]))
        else:
            print(HELP)
        return 0
    if command not in COMMANDS:
        raise Usage("unknown command '%s'" % command)
    if command == "check" and "--fresh" in words and any(w in ("-h", "--help") for w in words):
        from . import fresh
        print(fresh.HELP)
        return 0
    if help_of(command) and any(w in ("-h", "--help") for w in words[1:]):
        print(help_of(command))
        return 0
    return COMMANDS[command](words[1:]) or 0


def end(number, _frame):
    """A polite end: `finally` blocks run, and with them everything that was started ends."""
    raise SystemExit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGHUP, end)
    sys.stdout.reconfigure(errors="surrogateescape")  # names of files are bytes
    name = sys.argv[1] if len(sys.argv) > 1 and sys.argv[1] in COMMANDS else ""
    try:
        status = main(sys.argv[1:])
        sys.stdout.flush()
    except Usage as error:
        print("cupel: %s (see ./cupel %s)" % (error, (name + " --help") if name else "help"),
              file=sys.stderr)
        status = 2
    except Failure as error:
        print("cupel: %s" % error, file=sys.stderr)
        status = 1
    except KeyboardInterrupt:
        print("\ncupel: interrupted", file=sys.stderr)
        status = 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        status = 1
    sys.exit(status)
