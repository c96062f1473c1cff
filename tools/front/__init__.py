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
