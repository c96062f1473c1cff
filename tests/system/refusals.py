# SPDX-License-Identifier: GPL-2.0-only
"""What a machine that can't be used has to say, and how it has to end."""

import re

LINE = "cupel: cannot start: "


def one_line(booted, *parts, prefix=LINE):
    """One line with all that, and nothing that looks like an accident. A terminal's codes do not count."""
    text = re.sub("\033\\[[0-9;=]*[A-Za-z]", "", booted.text)
    lines = [line for line in text.splitlines() if line.startswith(prefix)]
    booted.check(len(lines) == 1, "should have one line '%s...', has %d" % (prefix, len(lines)))
    for part in parts:
        booted.check(part.lower() in lines[0].lower(), "%r lacks %r" % (lines[0], part))
    return booted.never_says("panic", "backtrace", "exception")


def refused(booted, *parts):
    """And it ended by itself, with the code of a failure."""
    one_line(booted, *parts)
    booted.check(booted.result.ended == "exit" and booted.result.code == 1, "should end with code 1")
    return booted
