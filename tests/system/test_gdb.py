# SPDX-License-Identifier: GPL-2.0-only
"""gdb on a live machine: symbols before Cupel's own MMU is on, across the switch and after it, wherever the
image is, and every command of tools/gdb/cupel.py."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from front import ROOT, machine

# Where the MMU comes on: the last instruction with it off, and whether it is on.
SWITCH = {"arm64": ("mmu_switch", "$SCTLR_EL2 & 1"), "x86": ("long_mode_on", "$cr0 >> 31 & 1")}


def across(arch):
    """From the switch's first instruction to its last, one by one; the MMU comes on between."""
    function, on = SWITCH[arch]
    return """
tbreak %s
continue
echo == off\\n
print %s
info symbol $pc
python
import gdb
while not int(gdb.parse_and_eval("%s")):
    gdb.execute("stepi", to_string=True)
end
echo == on\\n
info symbol $pc
info line *$pc
tbreak cupel_main
continue
echo == after\\n
print %s
backtrace 1
""" % (function, on, on, on)


def gdb(what, tmp_path, script, timeout=100):
    """What gdb says, by the headings of the script; and the machine's console."""
    path = tmp_path / "commands.gdb"
    path.write_text("set width 0\n" + script)
    program = "import sys; from front import debugger, machine; " \
              "sys.exit(debugger.debug(%r, %r, on_line=lambda line: print('console:', line, file=sys.stderr), " \
              "timeout=%d))" % (what, str(path), timeout)
    program = program.replace("Machine(", "machine.Machine(", 1)
    result = subprocess.run([sys.executable, "-c", program], cwd=ROOT + "/tools", text=True, check=False,
                            timeout=timeout + 20, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)
    assert result.returncode == 0, result.stdout
    parts = re.split(r"^== (.*)\n", result.stdout, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2])), result.stdout


def check_switch(said, arch):
    function, _ = SWITCH[arch]
    assert "= 0\n" in said["off"] and function + " in section" in said["off"], said["off"]
    assert re.search(function + r"( \+ \d+)? in section", said["on"]), said["on"]
    assert re.search(r'"(\./)?arch/\w+/(entry|boot)\.S"', said["on"]), said["on"]
    assert "= 1\n" in said["after"] and "core/main.c" in said["after"], said["after"]


COMMANDS = """
tbreak %s
continue
echo == cpus\\n
cupel cpus
echo == vcpus\\n
cupel vcpus
echo == regs\\n
cupel regs smp.0
echo == control\\n
cupel %s
echo == slots\\n
cupel slots smp
echo == percpu\\n
cupel percpu cpu_number
echo == locks\\n
cupel locks
echo == wrong\\n
python
for words in ("percpu no_such_thing", "percpu platform", "vcpus none", "regs smp.99", "slots a b"):
    try:
        gdb.execute("cupel " + words)
    except gdb.error as error:
        print("error:", error)
end
"""
# A function that is called with a lock held while VM smp runs, and what that lock is called.
INSIDE = {"arm64": "gicv3_set_state", "x86": "svm_heavy_exit"}


def check_commands(said, arch):
    assert re.search(r"CPU 0 \(thread 1\): .*\n(.*\n)*CPU 1 \(thread 2\): ", said["cpus"]), said["cpus"]
    assert INSIDE[arch] in said["cpus"] and "smp." in said["cpus"], said["cpus"]
    assert len(re.findall(r"^smp\.[0-3]: \w+, queue of CPU -?\d+, .*requests .*exits$", said["vcpus"], re.M)) == 4
    assert "running" in said["vcpus"], said["vcpus"]
    assert re.search(r"(x0|rax) +[0-9a-f]{16}", said["regs"]), said["regs"]
    assert re.search(r"generation \d+\n(.*\n)*  0x\w+ \+ 0x800000 at 0x\w+", said["slots"]), said["slots"]
    assert "CPU 0: 0\n" in said["percpu"] and "CPU 1: 1\n" in said["percpu"], said["percpu"]
    assert re.search(r"^\d+ of \d{3,} locks are held$", said["locks"], re.M), said["locks"]
    assert len(re.findall("^error: ", said["wrong"], re.M)) == 5, said["wrong"]


def test_arm64(tmp_path):
    what = machine.Machine("arm64", cpus=2, append="vm=smp")
    said, _ = gdb(what, tmp_path, across("arm64") + COMMANDS % (INSIDE["arm64"], "lrs"))
    check_switch(said, "arm64")
    check_commands(said, "arm64")
    assert re.search(r"smp\.0: list registers in use: 0x\w+ of 4", said["control"]), said["control"]
    assert "LR0 0x" in said["control"], said["control"]


def test_x86(tmp_path):
    what = machine.Machine("x86", cpus=2, append="vm=smp")
    said, _ = gdb(what, tmp_path, across("x86") + COMMANDS % (INSIDE["x86"], "vmcb smp.0"))
    check_switch(said, "x86")
    check_commands(said, "x86")
    for part in ("smp.0: VMCB at 0x", "np_control=0x1", "exit_code=", "ncr3=", "rip="):
        assert part in said["control"], said["control"]


def test_list_registers_are_the_hardwares(tmp_path):
    """What the CPU has in its list registers is what the hypervisor then reads from them."""
    script = """
tbreak vgic_lr_sync if v->arch.vgic.lr_used
continue
echo == lrs\\n
cupel lrs
info registers pc
echo == same\\n
tbreak fold_lr
continue
print/x lr
print/x val
info symbol $pc
"""
    said, _ = gdb(machine.Machine("arm64", append="vm=tick-poll"), tmp_path, script)
    number, value = re.findall(r"= (0x\w+)", said["same"])[:2]
    assert "LR%d %#018x" % (int(number, 16), int(value, 16)) in said["lrs"], said
    assert "vgic_lr_sync" in said["lrs"], "the CPU is not where it was: " + said["lrs"]


def test_list_registers_in_a_prologue(tmp_path):
    """At a breakpoint that stays, on an instruction that makes a frame; and gdb finds its way up from there
    through a function that ends in a tail call."""
    script = """
break vcpu_run
continue
backtrace -30
echo == before\\n
info registers pc x0 x29 sp cpsr
echo == lrs\\n
cupel lrs
echo == after\\n
info registers pc x0 x29 sp cpsr
echo == settings\\n
show scheduler-locking
show backtrace limit
echo == on\\n
continue
"""
    said, text = gdb(machine.Machine("arm64", cpus=2, append="bench=exits ops=hvc"), tmp_path, script, timeout=40)
    assert re.search(r"exits_run .*\n.* run_bench .*\n(.*\n)*.* cupel_main ", text), text
    assert "LR3 0x" in said["lrs"], text
    assert said["before"] == said["after"], text
    assert "replay" in said["settings"] and "unlimited" in said["settings"], text
    assert "hit Breakpoint 1, vcpu_run" in said["on"], text


def test_a_held_lock(tmp_path):
    script = "tbreak gicv3_set_state\ncontinue\necho == locks\\n\ncupel locks\n"
    said, _ = gdb(machine.Machine("arm64", append="vm=tick-locked"), tmp_path, script)
    assert re.search(r"^irq_descs\[\d+\]\.lock: held, 0 waiting$", said["locks"], re.M), said["locks"]
    assert re.search(r"^[1-9]\d* of \d+ locks", said["locks"], re.M), said["locks"]


def test_who_holds_a_lock(tmp_path):
    """Debug builds know."""
    what = machine.Machine("arm64", append="vm=smp", build="debug")
    if not os.path.exists(what.image_path()):
        pytest.skip("needs make ARCH=arm64 BUILD=debug")
    said, _ = gdb(what, tmp_path, "tbreak enqueue\ncontinue\ntbreak append\ncontinue\necho == locks\\n\ncupel locks\n")
    assert re.search(r"CPU 0 run_queue\.lock: held, 0 waiting by CPU 0, taken at core/sched\.c:\d+", said["locks"])


@pytest.mark.parametrize("firmware", ("u-boot", "uefi"))
def test_firmware_puts_it_where_it_likes(tmp_path, firmware):
    """`cupel wait` finds the image at an address that nobody has named, before its own MMU comes on."""
    what = machine.Machine("arm64", append="vm=hello", firmware=firmware)
    script = "cupel wait\n" + across("arm64").replace("tbreak mmu_switch\ncontinue\n", "")
    said, text = gdb(what, tmp_path, script + "echo == again\\n\ncupel load\n")
    check_switch(said, "arm64")
    found = re.findall(r"the image is at (0x\w+)", text)
    assert len(set(found)) == 1 and len(found) == 2 and found[0] != "0x40200000", text


@pytest.mark.parametrize("board", ("raspi4b", "sbsa-ref"))
def test_boards(tmp_path, board):
    """RAM, and with it the image, is elsewhere on each."""
    said, _ = gdb(machine.Machine.of_board(board, append="vm=hello"), tmp_path, across("arm64"))
    check_switch(said, "arm64")


def test_x86_from_uefi(tmp_path):
    """Firmware has used the MMU before: it goes off and on again at the image's own addresses."""
    said, _ = gdb(machine.Machine("x86", append="vm=hello", firmware="uefi"), tmp_path, across("x86"))
    check_switch(said, "x86")


@pytest.mark.parametrize("arch", ("arm64", "x86"))
def test_a_path_with_a_blank(tmp_path, arch):
    """Of image, symbols and commands."""
    place = tmp_path / "a 'b\\ c"
    place.mkdir()
    built = machine.Machine(arch).image_path()
    image = shutil.copy(built, place)
    shutil.copy(os.path.splitext(built)[0] + ".sym.elf", place)
    said, _ = gdb(machine.Machine(arch, image=image, archive=""), place, "tbreak cupel_main\ncontinue\n"
                  "echo == at\\n\nbacktrace 1\n")
    assert "cupel_main" in said["at"] and "core/main.c" in said["at"], said["at"]


def test_an_error_is_the_exit_status(tmp_path):
    script = tmp_path / "wrong.gdb"
    script.write_text("no-such-command\n")
    result = subprocess.run([ROOT + "/cupel", "bench", "boot", "--gdb-batch", str(script)], text=True, check=False,
                            timeout=60, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert result.returncode == 1 and "gdb ended with status" in result.stderr, result.stderr
