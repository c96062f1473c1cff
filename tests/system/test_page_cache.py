# SPDX-License-Identifier: GPL-2.0-only
"""Page caches in the image: what a lookup costs, exactly, and that invalidations meet readers."""

import pytest

from test_exits import compare, measure

KINDS = ("rwlock", "trylock", "expedited", "atomic", "atomic-fast", "targeted")
# Lookups between two readings of the clock.
BATCH = 64


@pytest.mark.parametrize("arch", ("arm64", "x86"))
def test_lookup_costs_what_it_did(arch):
    """Instructions of a lookup by kind; shared read-modify-writes: none, but for the rwlock's two."""
    booted = measure(arch, "reader", "rounds=2 duration=1")
    rows = {row["variant"]["gpc"]: row for row in booted.well().records()}
    booted.check(set(rows) == {*KINDS, "(loop)", "(section)"}, "rows %s" % sorted(rows))
    for kind in KINDS:
        counters = rows[kind]["counters"]
        each = counters["shared_rmws"] / counters["counted_lookups"]
        booted.check(each == (2 if kind in ("rwlock", "trylock") else 0),
                     "%s: %.3f shared read-modify-writes a lookup" % (kind, each))
        booted.check(counters["missed"] == 0, "%s: lookups failed" % kind)
    compare(booted, "reader-" + arch, {kind: rows[kind]["p50"] // BATCH for kind in rows})


def test_invalidations_meet_readers(boot, arch):
    """A row a kind, of valid caches taken from readers that read; nobody waits for good."""
    booted = boot("bench=invalidate rounds=2 duration=40 by=invalidate,move", arch, cpus=3)
    rows = [row for row in booted.well().records() if row["bench"] == "invalidate"]
    booted.check([row["variant"]["gpc"] for row in rows] == 2 * list(KINDS), "rows are missing")
    for row in rows:
        counters = row["counters"]
        booted.check(row["n"] > 0 and sum(count for _, count in row["hist"]) == row["n"],
                     "the histogram is not n")
        booted.check(row["sweep"]["invalidators"] == 2 and row["sweep"]["readers"] == 1,
                     "sweep %r" % row["sweep"])
        booted.check(counters["taken_valid"] > 0, "%s: nothing was taken" % row["variant"]["gpc"])
