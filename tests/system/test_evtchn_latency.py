# SPDX-License-Identifier: GPL-2.0-only
"""bench evtchn-latency: every target is measured under every way to guard page caches, and where
instructions are counted, a count repeats to the digit."""

import pytest

from front import machine

import conftest

ONE_CPU = {"self", "interrupt", "preempted", "idle"}
KINDS = {"rwlock", "trylock", "expedited", "atomic", "atomic-fast", "targeted"}
# What a send to oneself may cost at most, from the call to the vector.
SELF = {"arm64": 700, "x86": 1000}


def measure(arch, cpus):
    what = machine.Machine(arch=arch, icount=True, cpus=cpus)
    what = what.for_bench("bench=evtchn-latency", "samples=50")
    return conftest.Booted("evtchn-latency, icount, %d CPUs" % cpus, machine.boot(what, 240)).well()


@pytest.mark.parametrize("cpus", (1, 2))
@pytest.mark.parametrize("arch", ("arm64", "x86"))
def test_a_count_repeats(arch, cpus):
    booted = measure(arch, cpus)
    rows = booted.records()
    got = {(row["variant"]["gpc"], row["variant"]["op"]): row for row in rows}
    ops = ONE_CPU | ({"running"} if cpus > 1 else set())
    booted.check(set(got) == {(kind, op) for kind in KINDS for op in ops}, "rows %s" % sorted(got))
    for (kind, op), row in sorted(got.items()):
        booted.check(row["unit"] == "instructions" and row["n"] == 50, "%s %s: %s" % (kind, op, row))
        # A time slice of the CPU that two vCPUs share ends now and then.
        booted.check(row["p90"] == row["min"], "%s %s: %d to %d" % (kind, op, row["min"], row["p90"]))
    for kind in KINDS:
        booted.check(got[kind, "self"]["p50"] <= SELF[arch], "%s: %d to oneself"
                     % (kind, got[kind, "self"]["p50"]))
    for op in ops:
        booted.check(got["targeted", op]["p50"] < got["rwlock", op]["p50"],
                     "%s: targeted is no cheaper than rwlock" % op)
