# SPDX-License-Identifier: GPL-2.0-only
"""The front door's long half: what ./cupel hands over to. Only the standard library and what
tools/packages installs; nothing here is imported by the image's build."""

import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ARCHES = ("arm64", "x86")
PYTHON = "/usr/bin/python3"


class Usage(Exception):
    """A wrong word on the command line: one line, exit 2."""


class Failure(Exception):
    """Something that was asked for could not be done: one line, exit 1."""


def tied(argv):
    """A command that runs argv for as long as we live: the kernel ends it with us, and if we ended before the
    kernel was asked to, it never begins. Of the thread that starts it, so that has to stay as well."""
    return ["setpriv", "--pdeathsig", "KILL", "--", "sh", "-c", '[ $PPID = "$0" ] && exec "$@"', str(os.getpid()),
            *argv]
