# SPDX-License-Identifier: GPL-2.0-only
"""Every board of docs/boards.md that QEMU models: to the end of an experiment, with all its CPUs, by what is
typed at its UART; and what a board does that has less than it says."""

import os
import subprocess
from dataclasses import replace

import pytest

import conftest
from bare import IMAGE, SHIM, TREE, assemble, bare, device_tree
from front import ROOT, boards, machine
from test_monitor import PROMPT, Terminal

BOARDS = list(boards.BOARDS)
# CPUs that run where that is not all.
ONLINE = {name: board.online or board.cpus for name, board in boards.BOARDS.items()
          if (board.online or board.cpus) < 4}


def start(name, words, timeout=180, cpus=0, **fields):
    what = machine.Machine.of_board(name, cpus, append=words, **fields)
    return conftest.Booted("%s: %s" % (name, words), machine.boot(what, timeout))


@pytest.mark.parametrize("name", BOARDS)
def test_first_experiment(name):
    what = machine.Machine.of_board(name).for_bench("bench=vcpu-load", "vcpus=1", "rounds=2", "page=own")
    booted = conftest.Booted(name, machine.boot(what, 180)).well()
    rows = booted.records()
    booted.check(rows, "no rows")
    for row in rows:
        booted.check(name in row["machine"]["board"], "a row of another board: %s" % row["machine"])
        booted.check(row["n"] > 0 and row["p50"] > 0, "a row of nothing")


@pytest.mark.parametrize("name", [n for n in BOARDS if n not in ONLINE or ONLINE[n] > 1])
def test_every_cpu_and_its_interrupts(name):
    booted = start(name, "vm=smp").well()
    booted.all_ok(at_least=5)
    cpus = ONLINE.get(name, boards.BOARDS[name].cpus)
    booted.says("%d of %d CPUs online" % (cpus, cpus))


@pytest.mark.parametrize("name", ONLINE)
def test_ticks_on_few_cpus(name):
    start(name, "vm=tick").well().all_ok(at_least=5)


@pytest.mark.parametrize("name", BOARDS)
def test_selftests(name):
    start(name, "selftest").well().all_ok(at_least=40)


@pytest.mark.parametrize("name", [n for n in BOARDS if not n.startswith("virt-gicv4")])
def test_what_is_typed_arrives(name):
    terminal = Terminal(machine.Machine.of_board(name))
    try:
        terminal.wait(PROMPT, 90)
        # Together more than these UARTs' FIFOs hold, but not more at a time: the i.MX's loses what is too much.
        for _ in range(4):
            terminal.type("x" * 16)
            terminal.wait("x" * 16)
        assert "no such command" in terminal.do("")
        assert "rounds - " in terminal.do("list reader")
    finally:
        terminal.close()


class OtherLine(machine.Machine):
    """The board with the console of its first serial line on standard output."""

    def argv(self):
        argv = super().argv()
        at = argv.index("null")
        return argv[:at - 1] + argv[at + 1:]


@pytest.mark.parametrize("name,console", (("raspi3b", "pl011:0x3f201000"), ("raspi4b", "pl011:0xfe201000")))
def test_a_second_console(name, console):
    """The tree names the mini-UART; the PL011 joins it, and both go on."""
    what = OtherLine.of_board(name, append="vm=hello console=" + console)
    booted = conftest.Booted(name, machine.boot(what, 90)).well()
    booted.all_ok()


def test_no_interface_for_guests():
    """QEMU's npcm845 has a GICv2 without GICH and GICV: what needs them says so, all else goes without."""
    booted = start("npcm845-evb", "bench=vcpu-load irqchip=full rounds=2 vcpus=1")
    booted.check(booted.result.ended == "exit" and booted.result.code, "should have been refused")
    booted.says("irqchip=full: not on this machine, which has no list registers")


@pytest.mark.slow
@pytest.mark.parametrize("name,cpus", (("virt-gicv2", 8), ("virt-gicv3", 512), ("virt-gicv4", 317)))
def test_as_many_cpus_as_there_can_be(name, cpus):
    booted = start(name, "vm=smp", 400, cpus)
    booted.well().all_ok()
    booted.says("%d of %d CPUs online" % (cpus, cpus))


@pytest.mark.parametrize("name", ("virt-gicv2", "virt-gicv3", "virt-gicv4"))
def test_one_cpu(name):
    start(name, "vm=tick", cpus=1).well().says("1 of 1 CPUs online").all_ok()


@pytest.mark.parametrize("words,says", (
    (("--board", "nosuch"), "it knows: virt-gicv2"),
    (("--board", "raspi4b", "--gic", "2"), "a CPU and an interrupt controller of its own"),
    (("x86", "--board", "raspi4b"), "is arm64"),
    (("--board", "raspi4b", "--cpus", "8"), "just 4 CPUs"),
    (("--board", "virt-gicv2", "--cpus", "9"), "1 to 8 CPUs"),
), ids=lambda v: "-".join(v) if isinstance(v, tuple) else "")
def test_words_that_fit_no_board(words, says):
    done = subprocess.run([os.path.join(ROOT, "cupel"), "bench", "vcpu-load", *words], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 2 and says in done.stdout


# --- A tree that names no console -----------------------------------------------------------------

@pytest.mark.parametrize("name,word", (
    ("xlnx-zcu102", "console=cadence:0xff000000"),  # RAM is where QEMU's virt has its UART
    ("imx8mp-evk", "console=imx:0x30890000"),  # nothing is there, and looking aborts
    ("npcm845-evb", "console=mmio32:0xf0000000"),
    ("raspi3b", "console=mini:0x3f215040"),
    ("xlnx-versal-virt", ""),  # a PL011 that is found
    ("sbsa-ref", ""),
))
def test_no_console_in_the_tree(name, word, tmp_path, monkeypatch):
    if boards.BOARDS[name].tree:
        path = boards.BOARDS[name].tree_path()
    else:
        path = str(tmp_path / "dumped.dtb")
        subprocess.run(["qemu-system-aarch64", "-M", "%s,dumpdtb=%s" % (boards.BOARDS[name].machine, path),
                        "-smp", "4", "-m", "2048", "-display", "none"], check=True, stderr=subprocess.DEVNULL)
    source = subprocess.run(["dtc", "-q", "-q", "-I", "dtb", "-O", "dts", path], check=True, text=True,
                            stdout=subprocess.PIPE).stdout
    assert "stdout-path" in source
    path = str(tmp_path / "silent.dtb")
    subprocess.run(["dtc", "-q", "-q", "-I", "dts", "-O", "dtb", "-o", path], check=True, text=True,
                   input=source.replace("stdout-path", "no-stdout-path"))
    monkeypatch.setattr(boards.Board, "tree_path", lambda board: path)
    monkeypatch.setitem(boards.BOARDS, name, replace(boards.BOARDS[name], tree="edited"))
    start(name, "vm=hello " + word, 90).well().all_ok()


# --- CPUs that never come -------------------------------------------------------------------------

def start_bare(tmp_path, edit):
    """Two CPUs, and QEMU's tree as edit(source) leaves it."""
    tree = device_tree(str(tmp_path), "semihosting selftest=gic", edit, cpus=2)
    return conftest.Booted("edited tree", machine.boot(bare(str(tmp_path), tree=tree, cpus=2), 60)).well()


def second_cpu(old, new):
    """Replace something in the node of CPU 1."""
    def edit(text):
        at = text.index("cpu@1 {")
        assert old in text[at:]
        return text[:at] + text[at:].replace(old, new, 1)
    return edit


def test_a_cpu_that_is_not_there(tmp_path):
    start_bare(tmp_path, second_cpu("reg = <0x01>", "reg = <0x101>")).says(
        "CPU 1 (hardware id 0x101) did not start", "1 of 2 CPUs online")


def test_a_spin_table_nobody_reads(tmp_path):
    booted = start_bare(tmp_path, second_cpu(
        'enable-method = "psci"', 'enable-method = "spin-table"; cpu-release-addr = <0 0x7ffff000>'))
    booted.says("CPU 1 (hardware id 0x1) did not start", "1 of 2 CPUs online")


def test_a_cpu_without_a_method(tmp_path):
    start_bare(tmp_path, second_cpu('enable-method = "psci";', "")).says("1 of 2 CPUs online")


def test_a_cpu_that_comes_late(tmp_path):
    """It finds that nobody waits, and does not take the place of the one that is waited for meanwhile."""
    shim = assemble(str(tmp_path), "spin.S", TREE=TREE, IMAGE=IMAGE)

    def edit(text):
        first, *others = text.split('enable-method = "psci";')
        return first + others[0] + "".join(
            'enable-method = "spin-table"; cpu-release-addr = <0 %#x>;' % (SHIM + 0xff0 + 8 * i) + other
            for i, other in enumerate(others[1:]))

    tree = device_tree(str(tmp_path), "semihosting selftest=gic", edit, cpus=3)
    what = replace(bare(str(tmp_path), tree=tree, cpus=3), shim=shim)
    booted = conftest.Booted("late", machine.boot(what, 120)).well()
    booted.says("CPU 1 (hardware id 0x1) did not start", "CPU 2 (hardware id 0x2) did not start",
                "1 of 3 CPUs online")
