# SPDX-License-Identifier: GPL-2.0-only
"""Instructions per exit, measured from inside the guest on an emulator that counts them: compared
with tests/golden/, which no change may raise by more than 2 %. `./cupel check --bless` writes the
golden files anew."""

import json
import os

import pytest

import conftest
from front import machine

GOLDEN = os.path.join(conftest.HERE, "../golden")
ALLOWED = 1.02

OPS = {
    "arm64": ("hvc", "sysreg", "gicd-read", "gicd-enable", "uart-read", "sgi-self", "timer-late",
              "wfi-late"),
    "x86": ("cpuid", "vmmcall", "rdmsr", "lapic-read", "self-ipi", "timer-late"),
}


# What each may cost at most, whatever was measured before: by design, not by habit.
TARGETS = {
    "hvc": 135, "sysreg": 135, "gicd-read": 195, "gicd-enable": 225, "uart-read": 210,
    "sgi-self": 330, "timer-late": 340, "wfi-late": 1000,
    "cpuid": 350, "vmmcall": 350, "rdmsr": 350, "pic-in": 350, "uart-in": 400, "lapic-read": 600,
    "self-ipi": 1500,
}
NATIVE_WFI_TARGET = 350


def measure(arch, bench, words="", **fields):
    what = machine.Machine(arch=arch, icount=True, **fields).for_bench("bench=" + bench, words)
    return conftest.Booted("bench %s, icount" % bench, machine.boot(what, 240))


def medians(booted):
    return {row["variant"]["op"]: row["p50"] for row in booted.well().records()}


def compare(booted, name, got):
    path = os.path.join(GOLDEN, name + ".json")
    if conftest.BLESS:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(got, file, indent=1, sort_keys=True)
            file.write("\n")
        return
    with open(path, encoding="utf-8") as file:
        golden = json.load(file)
    booted.check(set(got) == set(golden), "ops %s, golden %s" % (sorted(got), sorted(golden)))
    worse = ["%s: %d, golden %d" % (op, got[op], golden[op]) for op in sorted(got)
             if got[op] > golden[op] * ALLOWED]
    booted.check(not worse, "more instructions than before: " + "; ".join(worse))


@pytest.mark.parametrize("arch,name,words,fields", [
    ("arm64", "exits-arm64", "", {}),
    ("arm64", "exits-arm64-native-wfi", "wfi=native", {}),
    ("arm64", "exits-arm64-nvhe", "arm64.mode=nvhe", {}),
    ("x86", "exits-x86", "", {}),
], ids=lambda v: v if isinstance(v, str) and v.startswith("exits") else "")
def test_no_exit_got_dearer(arch, name, words, fields):
    booted = measure(arch, "exits", words, **fields)
    got = medians(booted)
    missing = sorted(set(OPS[arch]) - set(got))
    booted.check(not missing, "no row for " + ", ".join(missing))
    booted.check({row["unit"] for row in booted.records()} == {"instructions"},
                 "the unit is not instructions")
    targets = dict(TARGETS)
    if arch == "x86":
        del targets["timer-late"]
    if words == "wfi=native":
        targets["wfi-late"] = NATIVE_WFI_TARGET
    for op in sorted(set(targets) & set(got)):
        booted.check(got[op] <= targets[op], "%s: %d, target %d" % (op, got[op], targets[op]))
    compare(booted, name, got)


def test_exits_of_a_gicv2_guest(boot):
    """With list registers: not golden, but of the same kinds."""
    got = medians(boot("bench=exits samples=50", "arm64", gic="2"))
    assert set(got) == set(OPS["arm64"]) and all(got.values())


# One EVTCHNOP_send to another vCPU, hypercall in and out, by the cheapest way that is also the default.
SEND_TARGET = {"arm64": 400, "x86": 700}


def test_no_send_got_dearer(arch):
    booted = measure(arch, "evtchn-send")
    got = {"%s-%s" % (row["variant"]["gpc"], row["variant"]["op"]): row["p50"]
           for row in booted.well().records()}
    booted.check(len(got) == 24, "six kinds and four ops make 24 rows, not %d" % len(got))
    for kind in ("expedited", "atomic", "atomic-fast", "targeted"):
        send = got[kind + "-send"]
        booted.check(send <= SEND_TARGET[arch], "%s: a send takes %d instructions, target %d"
                     % (kind, send, SEND_TARGET[arch]))
    compare(booted, "evtchn-send-" + arch, got)


@pytest.mark.parametrize("arch,words", [("arm64", ""), ("arm64", "arm64.mode=nvhe"), ("x86", "")],
                         ids=("arm64", "nvhe", "x86"))
def test_no_load_got_dearer(arch, words):
    """A load-run-put round of each variant, on one CPU: to the digit the same in every round."""
    booted = measure(arch, "vcpu-load", ("rounds=2 " + words).strip())
    rows = [row for row in booted.well().records() if row["bench"] == "vcpu-load"]
    got = {"-".join(row["variant"][k] for k in ("irqchip", "page", "irqstate")): row["p50"]
           for row in rows}
    for row in rows:
        booted.check(row["n"] == 2 * 1000, "n is %d" % row["n"])
        booted.check(row["p99"] - row["min"] < 20, "a count should repeat: %d to %d"
                     % (row["min"], row["p99"]))
    compare(booted, "-".join(["vcpu-load", arch] + words.split("=")[1:]), got)
