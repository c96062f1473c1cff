# SPDX-License-Identifier: GPL-2.0-only
"""./cupel torture: a torture or more (core/torture_*.c) for a while, in the image or on the host."""

import glob
import os
import re

from . import ROOT, Usage, bench, build

SECONDS = 30
KEYS = ("seed", "stall", "arm64.mode", "nr_cpus")
# Beyond its own time: booting, and coming to an end on a busy machine.
PATIENCE = 120


def names():
    return [re.match(r"torture_(\w+)\.c", os.path.basename(path)).group(1)
            for path in sorted(glob.glob(os.path.join(ROOT, "core/torture_*.c")))]


def usage():
    return "\n".join(["./cupel torture NAME[,NAME …] [arm64|x86|--host] [key=value …] [--seconds N] [options]",
                      "", "Race what a name stands for against all that can get in its way; ends with counts of",
                      "what was exercised, and fails when something went wrong or never happened.", "",
                      "Names: " + ", ".join(names()), "", "Options:",
                      "  --seconds N      how long each (default %d)" % SECONDS,
                      "  --host           no emulator: on this machine, with threads as CPUs",
                      *(line for line in bench.OPTIONS if "--json" not in line)])


class Request(bench.Request):
    """The same words and machines; the torture itself reads its key=value."""

    def __init__(self):
        super().__init__()
        self.options["seconds"] = SECONDS

    def check(self):
        known = names()
        if not self.experiment:
            raise Usage("which torture? There are: %s" % ", ".join(known))
        for name in self.experiment.split(","):
            if name not in known:
                raise Usage("there is no torture '%s'; there are: %s" % (name, ", ".join(known)))
        if self.options["json"]:
            raise Usage("a torture has no rows")
        for word in self.words:
            match = bench.KEY_VALUE.match(word)
            if not match or match.group(1) not in KEYS:
                raise Usage("'%s': a torture knows %s" % (word, ", ".join(k + "=" for k in KEYS)))
        self.check_arch()
        self.check_machine()


def main(words):
    request = Request()
    request.read(words)
    build.setup()
    request.make()
    seconds = request.options["seconds"]
    what = request.to_machine("torture=" + request.experiment, "seconds=%d" % seconds)
    times = 1 + request.experiment.count(",")
    bench.run_on(what, min(request.options["timeout"], times * seconds + PATIENCE))
