# SPDX-License-Identifier: GPL-2.0-only
"""A Raspberry Pi 3, which has no GIC: interrupts by its local controller, guests with the CPU interface in
software, and the host's timer masked where other machines make it active. Its UARTs and the way it starts
are in test_boards.py."""

import re

import pytest

import conftest
import inject
from archives import archive
from front import machine


@pytest.fixture
def pi3(request):
    def start(append, timeout=120, **fields):
        result = machine.boot(machine.Machine.of_board("raspi3b", append=append, **fields), timeout)
        return conftest.Booted(request.node.name, result)

    return start


def test_all_of_it_is_found(pi3):
    pi3("vm=hello").well().says("Raspberry Pi 3", "4 of 4 CPUs online",
                                "irqchip=external, since this machine can't do irqchip=full")


@pytest.mark.parametrize("vm", ("smp", "smp-crowded", "pingpong", "nudge", "tick", "tick-poll", "tick-leave",
                                "tick-smp", "tick-roam", "tick-a+idle-b", "keep+spin-long",
                                "abandon,tick-poll", "migrate", "fp", "poke", "shinfo-targeted",
                                "memory-crowded", "hostile+pingpong"))
def test_guest(pi3, vm):
    pi3("vm=" + vm).well().all_ok(at_least=2)


def test_one_cpu(pi3):
    pi3("nr_cpus=1 vm=smp,tick,pingpong").well().says("1 of 4 CPUs online").all_ok(at_least=13)


def test_selftests(pi3):
    pi3("selftest").well().all_ok(at_least=40)


def rows_of(booted):
    rows = [row for row in booted.well().records() if row["bench"] == "vcpu-load"]
    booted.check(len(rows) == 4, "%d rows, expected 4" % len(rows))
    return rows


def test_vcpu_load_masks_the_timer(pi3):
    """At the load, and again when the level is low after the exit: with the descriptor lock, or without."""
    booted = pi3("bench=vcpu-load rounds=2 loads=200 vcpus=1,2")
    for row in rows_of(booted):
        variant, counters = row["variant"], row["counters"]
        booted.check(variant["state"] == "masked" and variant["irqchip"] == "external",
                     "not what this machine does: %r" % variant)
        booted.check(counters["active_writes"] == 2 * counters["loads"], "writes are not two a load")
        booted.check(counters["counted_loads"] > 0, "no loads were counted")
        locks = 2 * counters["counted_loads"] if variant["irqstate"] == "locked" else 0
        booted.check(counters["lock_acquired"] == locks, "%d acquired, expected %d"
                     % (counters["lock_acquired"], locks))
    booted.says("external, masked: before", "no active state on this machine")


def test_other_machines_set_the_active_state(boot):
    booted = boot("bench=vcpu-load rounds=2 loads=20 vcpus=1", "arm64", cpus=1)
    for row in rows_of(booted):
        booted.check(row["variant"]["state"] == "active", "not the active state: %r" % row["variant"])
    booted.never_says("masked")


@pytest.mark.parametrize("words", ("", "overcommit=2 "), ids=("alone", "overcommit"))
def test_no_list_registers(pi3, words):
    booted = pi3("bench=vcpu-load %sirqchip=full" % words)
    booted.check(booted.result.code == 2, "should have been refused")
    booted.says("irqchip=full: not on this machine, which has no list registers")


VM = "[vm a]\nkernel = hello.elf\nmemory = 8M\nvcpus = %d\n%s"
REFUSED = [(VM % (1, "irqchip = full\n"), "this machine has not what its irqchip= needs"),
           (VM % (9, ""), "at most 8 vCPUs")]


@pytest.mark.parametrize("conf,says", REFUSED, ids=("irqchip=full", "nine vCPUs"))
def test_refused(pi3, tmp_path, conf, says):
    booted = pi3("vm=a", archive=archive(tmp_path, "arm64", conf, ("hello",)))
    booted.check(booted.result.code == 1, "should have failed, and ended")
    booted.says("vm a: not started: ", says)


def test_a_masked_tick_does_not_come_again(pi3):
    """The host takes each tick of a guest that spins once at most."""
    booted = pi3("vm=tick-poll", timeout=60).well()
    irqs, ticks = map(int, re.search(r"(\d+) host interrupts, (\d+) ticks", booted.text).groups())
    booted.check(0 < irqs <= ticks + 20, "%d host interrupts for %d ticks" % (irqs, ticks))


def test_exits_of_a_gicv2_guest(pi3):
    """With the CPU interface in software; the same guest as elsewhere."""
    booted = pi3("bench=exits samples=50").well()
    ops = {row["variant"]["op"] for row in booted.records()}
    booted.check({"hvc", "sgi-self", "timer-late", "wfi-late"} <= ops, "rows of %s" % sorted(ops))


# Of the BCM2835 behind the local controller: enables of its first 32 interrupts, and its system timer's
# second compare register, which raises the second of them.
ENABLE_IRQS_1, SYSTEM_TIMER_C1 = 0x3f00b210, 0x3f003010


def leave_timer_on(cpu):
    cpu.ask("Qqemu.PhyMemMode:1")  # devices too
    cpu.write32(ENABLE_IRQS_1, 2)
    cpu.write32(SYSTEM_TIMER_C1, 100000)  # microseconds


def test_firmware_leaves_a_gpu_interrupt_on():
    what = machine.Machine.of_board("raspi3b", append="vm=smp,tick-poll,memory-alone")
    booted = inject.boot("a GPU interrupt", what, leave_timer_on)
    booted.check(booted.result.ended == "exit" and booted.result.code, "should have ended with a panic")
    booted.says("interrupt controller: firmware left the GPU's interrupts on (0x100)")
