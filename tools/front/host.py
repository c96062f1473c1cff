# SPDX-License-Identifier: GPL-2.0-only
"""The host program: the experiments and tortures of the image, with threads as CPUs (host/)."""

import os
from dataclasses import dataclass

from . import ROOT, Failure, build

# What it can be built with: as tests/tests.mk calls it.
KINDS = {"release": "release", "debug": "none", "asan": "address", "tsan": "thread"}


@dataclass(frozen=True)
class Host:
    """One run of the host program; stands where a machine.Machine does. 0: the program's default."""

    cpus: int = 0
    memory: int = 0
    build: str = "release"
    words: tuple = ()
    gdb: bool = False

    def argv(self):
        options = [("--cpus=%d", self.cpus), ("--memory=%d", self.memory)]
        # A sanitizer speaks once; threads of stand-in CPUs run until the end, which is no leak.
        return ["env", "TSAN_OPTIONS=halt_on_error=1 report_thread_leaks=0",
                "ASAN_OPTIONS=detect_leaks=0",
                os.path.join(ROOT, "build/host-%s/cupel-host" % KINDS[self.build]),
                *(form % value for form, value in options if value), *self.words]

    def name(self):
        return "host x%d" % self.cpus if self.cpus else "host"

    @staticmethod
    def exit_code(status):
        return status


def make(kind):
    if kind not in KINDS:
        raise Failure("the host program is built as %s, not '%s'" % (", ".join(KINDS), kind))
    build.make("host", "SAN=" + KINDS[kind])
