# SPDX-License-Identifier: GPL-2.0-only
"""What can be wrong with an arm64 machine, its firmware or its loader before Cupel is up: each gets one line
that says what and why, and none a silent console. And what only looks wrong: memory with holes or above
4 GiB, reservations, device trees and images in awkward places. Broken trees as such: test_bad_machine.py."""

import os
import re

import pytest

import conftest
from bare import IMAGE, bare, device_tree
from front import machine
from refusals import one_line, refused

MIB = 1 << 20
UEFI = ("-bios", "/usr/share/qemu-efi-aarch64/QEMU_EFI.fd")
MEMORY = "reg = <0x00 0x40000000 0x00 0x40000000>;"
HELLO = "semihosting selftest=gic"


def without(node, name=""):
    """The tree's source without this node, or without one property of it."""
    def edit(text):
        old = re.search(r"^(\t*)%s(@[0-9a-f]+)? \{.*?^\1\};\n" % re.escape(node), text, re.M | re.S).group(0)
        if not name:
            return text.replace(old, "", 1)
        new = re.sub(r"^\t*%s( = .*)?;\n" % re.escape(name), "", old, flags=re.M)
        assert new != old, "no %s in %s" % (name, node)
        return text.replace(old, new, 1)
    return edit


def replaced(old, new):
    def edit(text):
        assert old in text, "the tree has no %r" % old
        return text.replace(old, new, 1)
    return edit


def memory(*ranges):
    """Other RAM than there is."""
    cells = " ".join("%#x %#x %#x %#x" % (base >> 32, base & 0xffffffff, size >> 32, size & 0xffffffff)
                     for base, size in ranges)
    return replaced(MEMORY, "reg = <%s>;" % cells)


def chosen(text):
    return replaced("chosen {", "chosen {\n" + text)


def reserved(nodes):
    """Before the other nodes at the root."""
    return replaced("\tchosen {", "\treserved-memory { #address-cells = <2>; #size-cells = <2>; ranges;\n"
                    "%s\n\t};\n\tchosen {" % nodes)


def start(tmp_path, edit=None, words=HELLO, timeout=40, cpus=1, until=None, **fields):
    tree = device_tree(str(tmp_path), words, edit, cpus)
    what = bare(str(tmp_path), tree=tree, cpus=cpus, **fields)
    return conftest.Booted("edited tree", machine.boot(what, timeout, until))


# --- What the machine lacks -------------------------------------------------------------------------

LACKS = {
    "memory": (without("memory"), ["device tree", "no RAM"]),
    "memory-of-any-use": (memory((0x40000000, 0x1000)), ["no RAM block"]),
    "memory-but-reserved": (reserved("all@40000000 { reg = <0 0x40000000 0 0x40000000>; };"),
                            ["device tree", "all RAM is reserved"]),
    "boot-cpu": (lambda text: re.sub(r"(cpu@0 \{.*?reg = )<0x00>", r"\1<0x77>", text, flags=re.S),
                 ["device tree", "boot CPU"]),
    "cpus": (without("cpus"), ["device tree", "/cpus"]),
    "interrupt-controller": (without("intc", "compatible"), ["interrupt controller", "firmware names no"]),
    "supported-interrupt-controller": (replaced('"arm,gic-v3"', '"arm,gic-v5"'),
                                       ["interrupt controller", "firmware names no"]),
    "redistributor": (replaced("0x80a0000 0x00 0xf60000", "0x80a0000 0x00 0x10000"),
                      ["interrupt controller", "no redistributor for the boot CPU"]),
    "redistributors": (replaced("0x80a0000 0x00 0xf60000", "0x8000000 0x00 0x10000"),
                       ["interrupt controller", "redistributor"]),
    "distributor": (replaced("0x8000000 0x00 0x10000", "0x9000000 0x00 0x1000"),
                    ["interrupt controller", "no GICv3 distributor"]),
    "redistributors-that-answer": (replaced("0x80a0000 0x00 0xf60000", "0x80c0000 0x00 0xf40000"),
                                   ["nothing answers at 0x80cffe8"]),
    "distributor-in-memory": (replaced("0x8000000 0x00 0x10000", "0x50000000 0x00 0x10000"),
                              ["interrupt controller", "no registers can be at 0x50000000"]),
    "distributor-at-an-odd-address": (replaced("0x8000000 0x00 0x10000", "0x8000001 0x00 0x10000"),
                                       ["interrupt controller", "no registers can be at 0x8000001"]),
    "redistributors-at-an-odd-address": (replaced("0x80a0000 0x00 0xf60000", "0x80a0004 0x00 0xf60000"),
                                          ["interrupt controller", "no registers can be at 0x80a0004"]),
    "timer": (without("timer"), ["timer", "firmware names no"]),
    "console-with-registers": (without("pl011", "reg"), ["device tree", "console without a reg"]),
}


@pytest.mark.parametrize("what", LACKS)
def test_lacks(tmp_path, what):
    edit, parts = LACKS[what]
    refused(start(tmp_path, edit), *parts)


def test_no_console_is_named(tmp_path):
    """Where it is not said, a PL011 that is there is found."""
    start(tmp_path, without("chosen", "stdout-path")).well().all_ok()
    refused(start(tmp_path, lambda text: without("memory")(without("chosen", "stdout-path")(text))), "no RAM")


def test_console_alias_of_itself(tmp_path):
    """A tree that leads nowhere is said to, instead of being followed for ever."""
    edit = replaced('stdout-path = "/pl011@9000000"', 'stdout-path = "self"')
    booted = start(tmp_path, lambda text: replaced("\taliases {", '\taliases { self = "self";')(edit(text))).well()
    one_line(booted, "stdout-path names no node", prefix="firmware's console: ")


UART = "reg = <0x00 0x9000000 0x00 0x1000>;"


def uart_at(address):
    return replaced(UART, "reg = <0x00 %#x 0x00 0x1000>;" % address)


@pytest.mark.parametrize("address,why", ((0x48000000, "memory"), (IMAGE, "memory"), (0xb000000, "no device"),
                                         (0x9000002, "no device"), (0, "no device")),
                         ids=lambda v: v if isinstance(v, str) else hex(v))
def test_console_is_not_where_the_tree_says(tmp_path, address, why):
    """The PL011 that is found tells of it."""
    booted = start(tmp_path, uart_at(address)).well()
    one_line(booted, why, prefix="firmware's console: ")


def test_wrong_level_and_console_in_memory(tmp_path):
    tree = device_tree(str(tmp_path), HELLO, uart_at(0x48000000))
    what = bare(str(tmp_path), tree=tree, el3=True)
    one_line(conftest.Booted("EL3", machine.boot(what, 60, "halted")), "EL3", prefix="Cupel: entered")


def test_memory_over_the_console(tmp_path):
    edit = replaced("\tchosen {", "\tmemory@1 { device_type = \"memory\"; reg = <0 0 0 0x40000000>; };\n\tchosen {")
    refused(start(tmp_path, edit), "can't map console at 0x9000000", "RAM is there")


def test_console_words_that_are_wrong(tmp_path):
    """Nothing there, odd registers, RAM that is free, reserved or behind the first byte: a line each and no more."""
    wrong = {"pl011:0xb000000": "no device", "pl011:0x9000001": "no device",
             "mmio32:0x9000002": "no device", "mmio:0x8fffff8": "no device",
             "mmio:0x3fffffc0": "memory is there", "mini:0xb000000": "no device", "sbsa:0": "no device",
             "pl011:0x50000000": "memory is there", "imx:%#x" % IMAGE: "memory is there",
             "mmio:0x60000000": "memory is there"}
    words = " ".join("console=" + word for word in wrong)
    edit = reserved("kept@60000000 { reg = <0 0x60000000 0 0x100000>; };")
    booted = start(tmp_path, edit, "%s %s" % (HELLO, words)).well()
    for word, why in wrong.items():
        one_line(booted, why, prefix="console=%s: " % word)


def test_console_words_where_memory_is_not_known(tmp_path):
    """Then only what is seen to be a PL011 is written to."""
    booted = refused(start(tmp_path, without("memory"), HELLO + " console=mmio:0x50000000"), "no RAM")
    one_line(booted, "memory is there", prefix="console=mmio:0x50000000: ")


def test_more_consoles_than_there_can_be(tmp_path):
    """Those of one kind are consoles beside each other; the same twice is one."""
    words = " ".join("console=mmio:%#x" % a for a in (0x9030000, 0x9030000, 0x9030100, 0x9030200))
    booted = start(tmp_path, words=HELLO + " " + words).well()
    one_line(booted, "one too many", prefix="console=mmio:0x9030200: ")


# --- CPUs that don't start --------------------------------------------------------------------------

@pytest.mark.parametrize("edit", (without("psci"), replaced('method = "smc"', 'method = "hvc"')),
                         ids=("no-psci", "hypervisor-call"))
def test_no_way_to_start_cpus(tmp_path, edit):
    booted = start(tmp_path, edit, cpus=3).well()
    for cpu in (1, 2):
        one_line(booted, "did not start", "no way", prefix="CPU %d (" % cpu)
    booted.says("1 of 3 CPUs online").all_ok()


@pytest.mark.parametrize("where", (IMAGE + 0x30000, 0x48800ff8, 0x1000000000000, 0xb000000, 0x3000000000),
                         ids=("image", "archive", "far", "nothing", "no-memory"))
def test_a_cpu_that_waits_where_it_can_not(tmp_path, where):
    """The others come, by the way that works, and what is there is not written to."""
    spin = 'enable-method = "spin-table"; cpu-release-addr = <%#x %#x>' % (where >> 32, where & 0xffffffff)
    edit = lambda text: re.sub(r'(cpu@1 \{.*?)enable-method = "psci"', r"\1" + spin, text, flags=re.S)
    archive = chosen("linux,initrd-start = <0x48800800>; linux,initrd-end = <0x48801000>;")
    booted = start(tmp_path, lambda text: archive(edit(text)), cpus=3).well()
    one_line(booted, "did not start", "can't wait where firmware says", prefix="CPU 1 (")
    booted.says("2 of 3 CPUs online")


# --- What the loader brings -------------------------------------------------------------------------

def initrd(start, end):
    return chosen("linux,initrd-start = <%#x>; linux,initrd-end = <%#x>;" % (start, end))


LOADS = {
    "archive-outside-memory": (initrd(0x90000000, 0x90001000), ["initrd", "not in RAM"]),
    "archive-half-outside-memory": (initrd(0x7ffff000, 0x80001000), ["initrd", "not in RAM"]),
    "archive-that-ends-first": (initrd(0x50001000, 0x50000000), ["initrd", "ends before it starts"]),
    "archive-out-of-reach": (lambda text: memory((0x40000000, 1024 * MIB), (1 << 48, 1024 * MIB))(text).replace(
        "chosen {", "chosen { linux,initrd-start = <0x10000 0>; linux,initrd-end = <0x10000 0x1000>;", 1),
        ["archive is out of reach"]),
    "archive-over-the-image": (initrd(IMAGE + 0x1000, IMAGE + 0x2000), ["archive overlaps the image"]),
}


@pytest.mark.parametrize("what", LOADS)
def test_loads(tmp_path, what):
    edit, parts = LOADS[what]
    refused(start(tmp_path, edit), *parts)


@pytest.mark.parametrize("where,why", ((1, "header cut short"), (112, "name cut short"), (2000, "data cut short"),
                                       ("TRAILER", "name cut short")), ids=lambda v: str(v).replace(" ", "-"))
def test_archive_truncated(boot, tmp_path, where, why):
    """At the first file, or after the last: what is there of it is not used."""
    with open(machine.Machine("arm64").archive_path(), "rb") as file:
        data = file.read()
    path = tmp_path / "cut.cpio"
    path.write_bytes(data[:data.index(where.encode()) if isinstance(where, str) else where])
    booted = boot("vm=hello", "arm64", archive=str(path))
    one_line(booted, why, "going on without it", prefix="archive: ")
    booted.check(booted.result.ended == "exit" and booted.result.code == 1, "should end with code 1")


def test_command_line_too_long(tmp_path):
    one_line(start(tmp_path, words=HELLO + " x" * 1024, until="cannot start"), "command line is too long")


def test_too_many_words(tmp_path):
    booted = start(tmp_path, words="semihosting " + "nr_cpus=1 " * 80)
    one_line(booted, "too many words", "nothing is run", prefix="command line: ")


@pytest.mark.parametrize("place", (0, 0x40000, 0xff000), ids=hex)
def test_tree_over_the_image(tmp_path, place):
    """Where only zeroed memory of the image is, or at its first instruction, which is there nevertheless."""
    size = os.path.getsize(machine.Machine("arm64").directory() + "/cupel-test.bin")
    x0 = IMAGE + (place + size + 7 & ~7 if place else 0)
    what = bare(str(tmp_path), tree=device_tree(str(tmp_path), HELLO), x0=x0)
    booted = conftest.Booted("x0 in the image", machine.boot(what, 20, "overlaps"))
    one_line(booted, "device tree", "overlaps the image")


@pytest.mark.parametrize("x0,why", ((0x48000004, "not an address"), (0x1000000000000, "not an address"),
                                    (0x50000000, "no device tree")), ids=("unaligned", "far", "empty"))
def test_x0_is_no_tree(tmp_path, x0, why):
    what = bare(str(tmp_path), tree=device_tree(str(tmp_path), HELLO), x0=x0)
    one_line(conftest.Booted("x0", machine.boot(what, 20, "device tree: ")), "device tree", why)


def test_x0_is_where_nothing_is(tmp_path):
    what = bare(str(tmp_path), tree=device_tree(str(tmp_path), HELLO), x0=0x3000000000)
    booted = conftest.Booted("x0", machine.boot(what, 20, "halted"))
    booted.says("exception", "address 0x000000300000000")


# --- Every console ------------------------------------------------------------------------------------

@pytest.mark.parametrize("edit,line", ((without("memory"), "no RAM"), (without("timer"), "timer")),
                         ids=("memory", "timer"))
def test_every_console(tmp_path, edit, line):
    """QEMU's machine has a second PL011 for a second -serial."""
    other = tmp_path / "second.txt"
    booted = start(tmp_path, edit, HELLO + " console=pl011:0x09040000", extra=("-serial", "file:%s" % other))
    refused(booted, line)
    assert line in other.read_text()


def test_wrong_level_is_told_where_the_tree_says():
    """A ZynqMP whose firmware keeps EL2 to itself: no PL011 anywhere, but its tree names a Cadence UART."""
    what = machine.Machine.of_board("xlnx-zcu102", extra=("-machine", "virtualization=off"))
    booted = conftest.Booted("EL1", machine.boot(what, 60, "halted"))
    one_line(booted, "EL1", "needs EL2", "enable virtualization", prefix="Cupel: entered")


def test_wrong_level_is_told_on_every_console(tmp_path):
    other = tmp_path / "second.txt"
    what = machine.Machine("arm64", el2=False, append="vm console=pl011:0x09040000",
                           extra=("-serial", "file:%s" % other))
    one_line(conftest.Booted("EL1", machine.boot(what, 60, "halted")), "EL1", prefix="Cupel: entered")
    assert "Cupel: entered at EL1" in other.read_text()


def test_wrong_level_by_uefi(boot):
    """Said on UEFI's own console, and given back to UEFI."""
    boot("vm", "arm64", el2=False, extra=UEFI, until="needs EL2").says("entered at EL1, but it needs EL2")


def test_wrong_level_and_no_tree(tmp_path):
    what = bare(str(tmp_path), el3=True)
    one_line(conftest.Booted("EL3", machine.boot(what, 60, "halted")), "EL3", "EL2", prefix="Cupel: entered")


def test_wrong_level_and_nothing_works(tmp_path):
    """The address in x0 can't be read: a fault on the way to say so does not make it silent."""
    what = bare(str(tmp_path), el3=True, x0=0x3000000000)
    one_line(conftest.Booted("EL3", machine.boot(what, 60, "halted")), "EL3", "EL2", prefix="Cupel: entered")


# --- Memory that is unlike the usual ------------------------------------------------------------------

RESERVED = reserved("""
    one@50000000 { reg = <0 0x50000000 0 0x100000>; no-map; };
    two@7ff00000 { reg = <0 0x7ff00000 0 0x100000>, <0 0x60001000 0 0x1000>; };""")


def test_reserved_memory_stays_as_it_is(tmp_path):
    """RAM is a file: what is reserved in it is the same afterwards, although all memory is given out."""
    places = ((0x50000000, 0x100000), (0x7ff00000, 0x100000), (0x60001000, 0x1000), (0x70000000, 0x3000))
    path = tmp_path / "ram"
    with open(path, "wb") as file:
        file.truncate(1024 * MIB)
        for base, size in places:
            file.seek(base - 0x40000000)
            file.write(b"\x5a" * size)
    edit = lambda text: RESERVED(text).replace("/dts-v1/;", "/dts-v1/;\n/memreserve/ 0x70000000 0x3000;", 1)
    start(tmp_path, edit, "semihosting selftest", timeout=120, backing=str(path)).well().all_ok(at_least=10)
    with open(path, "rb") as file:
        for base, size in places:
            file.seek(base - 0x40000000)
            assert file.read(size) == b"\x5a" * size, "0x%x was written to" % base


@pytest.mark.parametrize("ranges", (
    [(0x40000000, 64 * MIB), (0x48000000, 16 * MIB), (0x100000000, 64 * MIB)],
    [(0x48000000, 2 * MIB), (0x100000000, 1024 * MIB)],
    [(0x40000000 + i * 16 * MIB, 4 * MIB) for i in range(60)],
    [(0x40001000, 0xfffe000), (0x60000800, 0x1ffff000)],
), ids=("above-4-gib-and-a-hole", "all-but-above-4-gib", "sixty-pieces", "odd-edges"))
def test_memory_with_holes(tmp_path, ranges):
    start(tmp_path, memory(*ranges), "semihosting selftest", timeout=120, memory=4096).well().all_ok(10)


def test_memory_in_too_many_pieces(tmp_path):
    """The smallest are left out. A reservation where no memory can be is none."""
    edit = lambda text: text.replace("/dts-v1/;", "/dts-v1/;\n/memreserve/ 0xfffffffffffff000 0xfff;\n" + "".join(
        "/memreserve/ %#x 0x1000;\n" % (0x50000000 + i * 0x4000) for i in range(200)))
    booted = start(tmp_path, edit).well()
    booted.all_ok()
    left_out = int(re.search(r"^(\d+) KiB of RAM in more than 128 pieces are left out", booted.text, re.M)[1])
    assert 72 * 12 <= left_out <= 80 * 12


def test_memory_out_of_reach(tmp_path):
    """Of 44 bits of physical address, and of an address space that has other uses for its end."""
    ranges = (0x40000000, 1024 * MIB), (1 << 44, 2048 * MIB), (0xfffff00000000000, 1 << 40)
    booted = start(tmp_path, memory(*ranges), cpu="cortex-a57")
    booted.well().says("1050624 MiB of RAM beyond 16384 GiB are left out").all_ok()


@pytest.mark.parametrize("size", (32, 6144), ids=("32-mib", "6-gib"))
def test_size_of_memory(boot, size):
    boot("vm=hello", "arm64", memory=size).well().all_ok()


# --- Awkward places -----------------------------------------------------------------------------------

@pytest.mark.parametrize("place", ("end-of-memory", "across-2-mib", "before-the-image", "above-4-gib"))
def test_place_of_the_tree(tmp_path, place):
    tree = device_tree(str(tmp_path), HELLO, memory(((0x40000000, 6144 * MIB))))
    at = {"end-of-memory": 0x1c0000000 - (len(tree) + 7 & ~7), "across-2-mib": 0x481fff08,
          "before-the-image": 0x40100008, "above-4-gib": 0x123456788}[place]
    what = bare(str(tmp_path), tree=tree, tree_at=at, memory=6144)
    conftest.Booted(place, machine.boot(what, 40)).well().all_ok()


@pytest.mark.parametrize("at", (0x40400000, 0x46a00000, 0x7fc00000, 0x1be000000), ids=hex)
def test_place_of_the_image(tmp_path, at):
    """At any multiple of 2 MiB."""
    tree = device_tree(str(tmp_path), "semihosting selftest", memory(((0x40000000, 6144 * MIB))))
    what = bare(str(tmp_path), tree=tree, image_at=at, memory=6144)
    conftest.Booted("image at %#x" % at, machine.boot(what, 120)).well().all_ok(10)


# --- ACPI or device tree ------------------------------------------------------------------------------


@pytest.mark.parametrize("words,firmware", (("", "efi+acpi"), ("acpi=force", "efi+acpi")))
def test_machine_without_a_tree(boot, words, firmware):
    boot("vm=smp " + words, "arm64", cpus=3, extra=UEFI).well().says("firmware " + firmware, "3 of 3 CPUs")


def test_acpi_off_where_nothing_else_is(boot):
    booted = boot("vm=hello acpi=off", "arm64", extra=UEFI)
    booted.says("cannot start: device tree: there is none, and acpi=off")
    booted.check(booted.result.ended == "exit" and booted.result.code == 1, "should end with code 1")


def test_acpi_force_where_there_is_none(boot):
    boot("vm=hello acpi=force", "arm64").well().says("acpi=force: there is none", "firmware fdt")
