# SPDX-License-Identifier: GPL-2.0-only
"""The experiment this house was built for: its rows, and the counters that prove which path ran."""

import re

import pytest

WORDS = "bench=vcpu-load rounds=2 loads=400"

KEYS = {"bench", "arch", "machine", "build", "clock", "variant", "sweep", "unit", "n", "min", "q1",
        "p50", "mean", "p90", "p99", "max", "stddev", "hist", "counters", "noise"}
COUNTERS = {"exits_per_s", "exits_per_s_vcpu", "loads", "counted_loads", "active_writes",
            "lock_acquired", "lock_contended"}

# Acquisitions of the descriptor lock for each load with irqstate=locked: one a timer that drives its
# hardware directly.
LOCKED_VHE, LOCKED_NVHE = 2, 1


def rows_of(booted, expected):
    rows = [row for row in booted.well().records() if row["bench"] == "vcpu-load"]
    booted.check(len(rows) == expected, "%d rows, expected %d" % (len(rows), expected))
    return rows


def per_load(booted, row):
    counters = row["counters"]
    booted.check(counters["counted_loads"] > 0, "no loads were counted")
    return counters["lock_acquired"] / counters["counted_loads"]


def by_irqstate(rows, state):
    return [row for row in rows if row["variant"]["irqstate"] == state]


def check_acquisitions(booted, rows, locked, percpu=0):
    for state, expected in (("locked", locked), ("percpu", percpu)):
        for row in by_irqstate(rows, state):
            got = per_load(booted, row)
            booted.check(got == expected, "%s acquisitions per load in %r, expected %s"
                         % (got, row["variant"], expected))


def test_every_key_is_there(boot, arch):
    """One JSON line a row with every key, n the number of loads, and rows for each variant."""
    booted = boot(WORDS + " vcpus=1,2", arch, cpus=2)
    chips = 2 if arch == "arm64" else 1
    rows = rows_of(booted, 4 * chips)
    for row in rows:
        booted.check(set(row) >= KEYS, "keys missing: %s" % sorted(KEYS - set(row)))
        booted.check(set(row["counters"]) >= COUNTERS,
                     "counters missing: %s" % sorted(COUNTERS - set(row["counters"])))
        booted.check(row["n"] == row["counters"]["loads"], "n is not the number of loads")
        booted.check(row["n"] == 2 * 400 * row["sweep"]["vcpus"], "n is %d" % row["n"])
        booted.check(sum(count for _, count in row["hist"]) == row["n"], "the histogram is not n")
        booted.check(row["min"] <= row["q1"] <= row["p50"] <= row["p90"] <= row["p99"] <= row["max"],
                     "quantiles out of order")
        booted.check(row["noise"] > 0, "no noise floor")
        booted.check(row["clock"]["hz"] > 0 and row["build"]["id"] in booted.text.split("\n")[0],
                     "clock or build unknown")
    variants = {(r["variant"]["irqstate"], r["variant"]["irqchip"], r["sweep"]["vcpus"]) for r in rows}
    booted.check(len(variants) == 4 * chips, "rows repeat a variant")


def test_vhe_takes_two_locks_or_none(boot):
    booted = boot(WORDS + " vcpus=2 irqchip=full page=own,shared", "arm64", cpus=2)
    rows = rows_of(booted, 4)
    check_acquisitions(booted, rows, LOCKED_VHE)
    for row in rows:
        booted.check(row["counters"]["active_writes"] == LOCKED_VHE * row["counters"]["loads"],
                     "active-state writes are not one a timer and load")


@pytest.mark.parametrize("fields", [dict(cpu="cortex-a57"), dict(words=" arm64.mode=nvhe")],
                         ids=("cortex-a57", "asked for"))
def test_nvhe_takes_one_lock_or_none(boot, fields):
    words = WORDS + " vcpus=2 irqchip=full" + fields.pop("words", "")
    booted = boot(words, "arm64", cpus=2, **fields)
    rows = rows_of(booted, 2)
    check_acquisitions(booted, rows, LOCKED_NVHE)
    for row in rows:
        booted.check("nVHE" in row["machine"]["cpu"], "not nVHE: " + row["machine"]["cpu"])


def test_gicv2_falls_back_to_the_lock(boot):
    """A chip without the flag: percpu takes what locked takes."""
    booted = boot(WORDS + " vcpus=2 irqchip=full", "arm64", cpus=2, gic="2")
    check_acquisitions(booted, rows_of(booted, 2), LOCKED_VHE, percpu=LOCKED_VHE)


def test_external_irqchip(boot):
    booted = boot(WORDS + " vcpus=2 irqchip=external", "arm64", cpus=2)
    rows = rows_of(booted, 2)
    check_acquisitions(booted, by_irqstate(rows, "percpu"), LOCKED_VHE)
    for row in by_irqstate(rows, "locked"):
        booted.check(per_load(booted, row) >= LOCKED_VHE, "the lock was not taken on each load")


def test_x86(boot):
    booted = boot(WORDS + " vcpus=1,2 irqchip=full", "x86", cpus=2)
    rows = rows_of(booted, 4)
    check_acquisitions(booted, rows, 1)


def test_x86_has_no_external_irqchip(boot):
    booted = boot(WORDS + " vcpus=1 irqchip=external", "x86", cpus=1)
    booted.check("irqchip=external: not on x86" in booted.text, "no clear word")


def test_overcommit(boot, arch):
    """K VMs share the CPUs; vCPUs block and wake, and every message arrives."""
    booted = boot("bench=vcpu-load overcommit=2 vcpus=2 rounds=2 messages=100 irqchip=full", arch,
                  cpus=2)
    rows = rows_of(booted, 2)
    for row in rows:
        booted.check(row["sweep"]["overcommit"] == 2, "the sweep lacks overcommit")
        booted.check(row["counters"]["loads"] > 100, "hardly any loads: nothing blocked")


@pytest.mark.parametrize("words", ("vcpus=3", "vcpus=x", "rounds=1", "irqstate=none", "page=",
                                   "nosuch=1"))
def test_bad_words_are_refused_by_the_image_too(boot, words):
    booted = boot("bench=vcpu-load " + words, "arm64", cpus=2)
    booted.check(booted.result.ended == "exit" and booted.result.code, "should have failed")
    booted.check(not booted.records(), "rows in spite of a bad word")
    booted.says(words.partition("=")[0])


def test_lockstat_goes_on_beside_the_counted_rounds(boot):
    """What counts the descriptor lock for a row must not forget what was counted before it."""
    booted = boot(WORDS + " lockstat vcpus=1 irqchip=full", "arm64", cpus=1).well()
    locked = [row for row in rows_of(booted, 2) if row["variant"]["irqstate"] == "locked"][0]
    total = sum(int(n) for n in re.findall(r"core/irq\.c:\d+: acquired (\d+)", booted.text))
    timed = locked["counters"]["loads"] * LOCKED_VHE
    booted.check(total >= timed + locked["counters"]["lock_acquired"],
                 "lockstat says %d, the locked rounds alone took %d" % (total, timed))
    booted.check("run_queue" in booted.text or "rq->lock" in booted.text, "no scheduler lock")
