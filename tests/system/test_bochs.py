# SPDX-License-Identifier: GPL-2.0-only
"""Bochs' i440FX: another maker's BIOS, tables, UART, APIC and SVM than QEMU's. Its UART cuts bytes to
the word length that was set, its SVM raises #GP for VM_CR, and its clock is HPET or the PM timer."""

import bochs


def test_selftests(tmp_path):
    booted = bochs.boot("self-tests on two CPUs", str(tmp_path), "selftest", cpus=2)
    booted.well().says("2 of 2 CPUs online").all_ok(at_least=40)


def test_guests(tmp_path):
    booted = bochs.boot("two VMs, three CPUs", str(tmp_path), "vm=hello,smp", cpus=3)
    booted.well().says("firmware multiboot", "3 of 3 CPUs online").all_ok(at_least=5)


def test_experiment(tmp_path):
    """The first experiment, to its rows: what an exit takes there, to the tick the same each time."""
    booted = bochs.boot("bench=exits", str(tmp_path), "bench=exits").well()
    rows = {row["variant"]["op"]: row for row in booted.records()}
    booted.check({"cpuid", "vmmcall", "lapic-read", "self-ipi"} <= set(rows), "rows %s" % sorted(rows))
    for row in rows.values():
        booted.check(row["machine"]["board"].startswith("BOCHS"), "board %r" % row["machine"]["board"])
        booted.check(row["n"] and row["min"] > 0, "an empty row: %s" % row["variant"])


def test_no_svm(tmp_path):
    """A model of an Intel CPU: the refusal, and the machine is off."""
    booted = bochs.boot("no SVM", str(tmp_path), "vm=hello", cpu="corei7_icelake_u").well()
    booted.says("cupel: cannot start: this CPU has no AMD SVM").never_says("online", "panic")
