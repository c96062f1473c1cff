# SPDX-License-Identifier: GPL-2.0-only
"""What can be wrong with an x86 machine, its firmware or its loader before Cupel is up: each gets one
line that says what and why, and none a silent console. Faults that QEMU has no option for are put
into the registers and the memory of the machine when it is about to start."""

import os

import pytest

import archives
import conftest
import inject
import ways_x86
from front import machine
from refusals import LINE, one_line, refused

RSD_PTR = b"RSD PTR "
OVMF = "/usr/share/ovmf/OVMF.fd"


@pytest.mark.parametrize("cpu,parts", [
    ("max,-lm", ["long mode", "CPUID"]),
    ("max,-nx", ["no-execute", "CPUID"]),
    ("486", ["long mode"]),
    ("max,-apic", ["no local APIC", "CPUID"]),
    ("max,-svm", ["no AMD SVM"]),
    ("max,-npt", ["no nested paging"]),
], ids=lambda v: v if isinstance(v, str) else "")
@pytest.mark.parametrize("way", ("multiboot", "pvh", "linux"))
def test_cpu_lacks(boot, way, cpu, parts):
    refused(boot("vm=hello", "x86", cpu=cpu, timeout=40, **way_in(way)), *parts)


def way_in(way):
    """What a machine needs for it."""
    efi = os.path.join(machine.Machine("x86").directory(), "cupel.efi")
    if way == "linux":
        return {"image": efi}
    if way == "uefi":
        return {"image": efi, "extra": ("-bios", OVMF)}
    return {"boot": way}


@pytest.mark.parametrize("cpu,parts", [("max,-svm", ["no AMD SVM"]), ("max,-npt", ["no nested paging"])],
                         ids=lambda v: v if isinstance(v, str) else "")
def test_cpu_lacks_under_uefi(boot, cpu, parts):
    """Said on firmware's console: often the only one. The application gives the machine back."""
    booted = boot("vm=hello", "x86", cpu=cpu, timeout=180, until="cannot start: .", **way_in("uefi"))
    one_line(booted, *parts, prefix="Cupel: cannot start: ")


# --- What the loader says ---------------------------------------------------------------------------

MB_FLAGS, MB_MODS_COUNT, MB_MODS_ADDR, MB_MMAP_LEN, MB_MMAP_ADDR = 0, 20, 24, 44, 48


def at_entry(change, entry="x86_multiboot_entry"):
    """A fault that is there when the loader jumps to the image: change(cpu, address of its information)."""
    def fault(cpu):
        cpu.run_to(inject.symbols("x86")[entry])
        change(cpu, cpu.reg("rbx"))
    return fault


def start(change, seconds=40, words="vm=hello", until=None, **fields):
    what = machine.Machine("x86", append=words, **fields)
    return inject.boot(change.__name__, what, at_entry(change), seconds, until)


def test_control():
    """Stopped, looked at, and let go: it boots."""
    def nothing(cpu, info):
        assert cpu.reg("rax") == 0x2badb002
        assert cpu.read32(info + MB_FLAGS) & 0x40
    start(nothing).well()


def test_wrong_magic():
    def magic(cpu, info):
        cpu.set_reg("rax", 0x12345678)
    one_line(start(magic, until="halted"), "Multiboot", "0x2badb002")


def information_far(cpu, info):
    cpu.set_reg("rbx", 0xfffffff0)


def no_memory(cpu, info):
    cpu.write32(info + MB_FLAGS, cpu.read32(info + MB_FLAGS) & ~0x41)


def empty_map(cpu, info):
    cpu.write32(info + MB_MMAP_LEN, 0)


def map_out_of_reach(cpu, info):
    cpu.write32(info + MB_MMAP_LEN, 0x7fffffff)


def map_entry_of_no_size(cpu, info):
    cpu.write32(cpu.read32(info + MB_MMAP_ADDR), 0)


def module_list_far(cpu, info):
    cpu.write32(info + MB_MODS_ADDR, 0)


def module_far(cpu, info):
    at = cpu.read32(info + MB_MODS_ADDR)
    cpu.write32(at, 0xfffff000)
    cpu.write32(at + 4, 0xffffffff)


def module_ends_before_it_starts(cpu, info):
    at = cpu.read32(info + MB_MODS_ADDR)
    cpu.write32(at + 4, cpu.read32(at) - 1)


def module_on_the_image(cpu, info):
    at = cpu.read32(info + MB_MODS_ADDR)
    end = inject.symbols("x86")["__image_end"]
    cpu.write32(at, end - 4)
    cpu.write32(at + 4, end + 4)


LOW, LIST, MARK = 0x10000, 0x8000, b"of another module"


def archive_low_and_one_behind_the_image(cpu, info):
    """The archive where other CPUs start, so that it has to go, and a module where it would go to."""
    at = cpu.read32(info + MB_MODS_ADDR)
    start, end = cpu.read32(at), cpu.read32(at + 4)
    symbols = inject.symbols("x86")
    other = (symbols["__image_end"] + 4095) & ~4095
    for done in range(0, end - start, 1024):
        cpu.write(LOW + done, cpu.read(start + done, min(1024, end - start - done)))
    for n, value in enumerate((LOW, LOW + end - start, 0, 0, other, other + 4096, 0, 0)):
        cpu.write32(LIST + 4 * n, value)
    cpu.write32(info + MB_MODS_COUNT, 2)
    cpu.write32(info + MB_MODS_ADDR, LIST)
    cpu.write(other, MARK)
    cpu.run_to(symbols["page_alloc_init"])
    if cpu.read(other, len(MARK)) != MARK:
        raise ValueError("the archive has gone over another module")


def test_archive_goes_beside_other_modules(tmp_path):
    small = archives.archive(tmp_path, "x86", "[vm hello]\nkernel = hello.elf\n", ["hello"])
    start(archive_low_and_one_behind_the_image, archive=small).well().all_ok()


def image_not_in_memory(cpu, info):
    """RAM begins at 2 MiB for whoever believes the map."""
    at = cpu.read32(info + MB_MMAP_ADDR)
    while cpu.read32(at + 4) != 0x100000:
        at += cpu.read32(at) + 4
    cpu.write32(at + 4, 0x200000)


@pytest.mark.parametrize("change,parts", [
    (no_memory, ["without memory"]),
    (empty_map, ["without memory"]),
    (map_out_of_reach, ["memory map", "out of reach"]),
    (map_entry_of_no_size, ["memory map", "size"]),
    (module_list_far, ["module list", "out of reach"]),
    (module_ends_before_it_starts, ["module", "empty"]),
    (module_far, ["module", "not in RAM"]),
    (module_on_the_image, ["module", "overlaps the image"]),
    (image_not_in_memory, ["image", "not", "RAM"]),
], ids=lambda v: getattr(v, "__name__", ""))
def test_loader(change, parts):
    refused(start(change), *parts)


def test_console_where_memory_is_not_known():
    """Anything may be there: nothing is written to it."""
    booted = refused(start(no_memory, words="vm=hello console=mmio:0x200000"), "without memory")
    one_line(booted, "0x200000", "not a device address", "COM1", prefix="console: ")


def test_information_out_of_reach():
    """It runs past 4 GiB, and a CPU without 1 GiB pages begins with a map of 4 GiB. The command line was
    not read: nothing ends the emulator."""
    one_line(start(information_far, until=LINE, cpu="max,-pdpe1gb"), "information", "out of reach")


# --- A refusal before the loader's information was looked at ------------------------------------------

MB2_LOADED = 0x36d76289


def no_command_line(cpu, info):
    """A pointer that is not to be looked at; behind it is the word that would end the emulator."""
    cpu.write32(info + MB_FLAGS, cpu.read32(info + MB_FLAGS) & ~4)


def tags(*words):
    """Information of Multiboot 2 with these words."""
    def change(cpu, info):
        cpu.set_reg("rax", MB2_LOADED)
        cpu.write(info, b"".join(word.to_bytes(4, "little") for word in words))
    return change


@pytest.mark.parametrize("change", [
    no_command_line,
    tags(0x1000, 0, 9, 0), # a tag of no size
    tags(0x1000, 0, 9, 7),
    tags(0x1000, 0, 9, 0xffffffff),
    tags(0x1000, 0, 9, 0xfffffff8, 9, 8),
    tags(24, 0, 9, 8, 9, 8, 9, 0), # no tag that ends it
    tags(0x1000, 0, 0, 8, 1, 19, *(int.from_bytes(b"debug-exit\0\0"[at:at + 4], "little") for at in (0, 4, 8))),
])
def test_no_word_to_find(change):
    """It comes to its halt all the same: from there it is made to say another line."""
    def fault(cpu):
        at_entry(change)(cpu)
        symbols = inject.symbols("x86")
        cpu.run_to(symbols["halt"])
        cpu.set_reg("rsi", symbols["msg_magic"])
        cpu.set_reg("rip", symbols["die"])
    what = machine.Machine("x86", append="vm=hello", cpu="max,-lm")
    inject.boot("no word", what, fault, 20, "0x2badb002").says("no long mode", "0x2badb002")


def test_word_found_behind_other_tags():
    change = tags(0x1000, 0, 9, 9, 0, 0, 1, 19,
                  *(int.from_bytes(b"debug-exit\0\0"[at:at + 4], "little") for at in (0, 4, 8)))
    what = machine.Machine("x86", append="vm=hello", cpu="max,-lm")
    refused(inject.boot("a word", what, at_entry(change), 40), "long mode")


# --- PVH --------------------------------------------------------------------------------------------

PVH_VERSION, PVH_NR_MODULES, PVH_MODULES, PVH_MEMMAP, PVH_NR_MEMMAP = 4, 12, 16, 40, 48


def pvh_magic(cpu, info):
    cpu.write32(info, 0)


def pvh_old(cpu, info):
    cpu.write32(info + PVH_VERSION, 0)


def pvh_no_memory(cpu, info):
    cpu.write32(info + PVH_NR_MEMMAP, 0)


def pvh_map_far(cpu, info):
    cpu.write32(info + PVH_NR_MEMMAP, 100000)


def pvh_module_list_far(cpu, info):
    cpu.write32(info + PVH_MODULES + 4, 0x8000)


def pvh_module_far(cpu, info):
    cpu.write32(cpu.read32(info + PVH_MODULES) + 4, 1)


@pytest.mark.parametrize("change,parts", [
    (pvh_old, ["version 0", "no memory map"]),
    (pvh_no_memory, ["without memory"]),
    (pvh_map_far, ["memory map", "out of reach"]),
    (pvh_module_list_far, ["module list", "out of reach"]),
    (pvh_module_far, ["module", "not in RAM"]),
], ids=lambda v: getattr(v, "__name__", ""))
def test_pvh_loader(change, parts):
    what = machine.Machine("x86", append="vm=hello", boot="pvh")
    refused(inject.boot(change.__name__, what, at_entry(change, "x86_pvh_entry"), 40), *parts)


def test_wrong_pvh_magic():
    what = machine.Machine("x86", append="vm=hello", boot="pvh")
    booted = inject.boot("no magic", what, at_entry(pvh_magic, "x86_pvh_entry"), 40, "halted")
    one_line(booted, "PVH", "hvm_start_info")


# --- Multiboot 2 and Linux's protocol ---------------------------------------------------------------

MB2_MODULE, MB2_MEMORY, MB2_MEMMAP, MB2_END = 3, 4, 6, 0


def tag(cpu, info, kind):
    """Where the first tag of a kind is."""
    at = info + 8
    while cpu.read32(at) != kind:
        assert cpu.read32(at) != MB2_END
        at += (cpu.read32(at + 4) + 7) & ~7
    return at


def mb2_size(cpu, info):
    cpu.write32(info, 0xffffffff)


def mb2_tag_of_no_size(cpu, info):
    """Would be read for ever."""
    cpu.write32(info + 12, 0)


def mb2_no_end(cpu, info):
    cpu.write32(tag(cpu, info, MB2_END), 0x1234)


def mb2_no_memory(cpu, info):
    cpu.write32(tag(cpu, info, MB2_MEMORY), 0x1234)
    cpu.write32(tag(cpu, info, MB2_MEMMAP), 0x1234)


def mb2_module_far(cpu, info):
    at = tag(cpu, info, MB2_MODULE)
    cpu.write32(at + 8, 0xfffff000)
    cpu.write32(at + 12, 0xffffffff)


@pytest.mark.parametrize("change,parts", [
    (mb2_size, ["out of reach"]),
    (mb2_tag_of_no_size, ["tag", "size"]),
    (mb2_no_end, ["without an end"]),
    (mb2_no_memory, ["without memory"]),
    (mb2_module_far, ["module", "not in RAM"]),
], ids=lambda v: getattr(v, "__name__", ""))
def test_multiboot2_loader(tmp_path, change, parts):
    """GRUB's, changed. Where its command line was not reached, nothing ends the emulator."""
    what = ways_x86.way(tmp_path, "cupel.elf", "vm=hello", media="disc", command="multiboot2")
    one_line(inject.boot(change.__name__, what, at_entry(change), 90, LINE), *parts)


E820_COUNT, RAMDISK = 0x1e8, 0x218


def linux_no_memory(cpu, info):
    """A BIOS that knows nothing of int 15h, E820h."""
    cpu.write(info + E820_COUNT, b"\0")


def linux_initrd_far(cpu, info):
    cpu.write32(info + RAMDISK, 0xfff00000)


@pytest.mark.parametrize("change,parts", [
    (linux_no_memory, ["boot_params", "without memory"]),
    (linux_initrd_far, ["module", "not in RAM"]),
], ids=lambda v: getattr(v, "__name__", ""))
def test_linux_loader(change, parts):
    what = machine.Machine("x86", append="vm=hello", **way_in("linux"))
    refused(inject.boot(change.__name__, what, at_entry(change, "x86_linux_entry"), 60), *parts)


# --- SVM switched off by firmware -------------------------------------------------------------------

MSR_VM_CR, SVMDIS, LOCK = 0xc0010114, 0x10, 0x08
RDMSR = b"\x0f\x32"


def vm_cr(value, cpus_before=0):
    """QEMU's VM_CR reads as 0 and can't be written: what RDMSR gives is changed, on the first CPU that
    asks or on a later one."""
    def fault(cpu):
        for _ in range(cpus_before):
            cpu.run_to(inject.symbols("x86")["x86_virt_cpu_init"])
            cpu.step()
        cpu.run_to(inject.symbols("x86")["x86_virt_cpu_init"])
        while cpu.read(cpu.reg("rip"), 2) != RDMSR or cpu.reg("rcx") != MSR_VM_CR:
            cpu.step()
        cpu.step()
        cpu.set_reg("rax", value)
    return fault


def boot_vm_cr(value, cpus=1, cpus_before=0):
    what = machine.Machine("x86", append="vm=hello", cpus=cpus)
    return inject.boot("VM_CR is %#x" % value, what, vm_cr(value, cpus_before), 60)


def test_svm_locked():
    refused(boot_vm_cr(SVMDIS | LOCK), "firmware", "SVM", "locked")


def test_svm_disabled_but_not_locked():
    """Then it is Cupel that switches it on."""
    boot_vm_cr(SVMDIS).well().never_says(LINE)


def test_svm_locked_on_another_cpu():
    """That CPU says why, and the machine goes on without it."""
    booted = boot_vm_cr(SVMDIS | LOCK, cpus=2, cpus_before=1).well()
    one_line(booted, "firmware", "locked", prefix="CPU 1: ")
    one_line(booted, "hardware id 0x1", "did not start", "stopped", prefix="CPU 1 (")
    booted.says("1 of 2 CPUs online")


# --- ACPI tables ------------------------------------------------------------------------------------

HEADER = 36
RSDP_RSDT = 16
MADT_ENTRIES, MADT_LAPIC, MADT_IOAPIC = 44, 0, 1


class Tables:
    """The tables that the BIOS has made, changed in place; their checksums stay right unless asked."""

    def __init__(self, cpu):
        self.cpu = cpu
        rom = b"".join(cpu.read(at, 0x400) for at in range(0xe0000, 0x100000, 0x400))
        self.rsdp = 0xe0000 + rom.index(RSD_PTR)
        self.rsdt = cpu.read32(self.rsdp + RSDP_RSDT)
        self.at = {b"RSDT": self.rsdt}
        for entry in range(HEADER, cpu.read32(self.rsdt + 4), 4):
            table = cpu.read32(self.rsdt + entry)
            self.at[cpu.read(table, 4)] = table

    def spoil(self, name):
        """A checksum that is wrong."""
        at = self.at[name] + 9
        self.cpu.write(at, bytes([self.cpu.read(at, 1)[0] ^ 0xff]))

    def write(self, name, offset, data):
        base = self.at[name]
        self.cpu.write(base + offset, data)
        table = self.cpu.read(base, self.cpu.read32(base + 4))
        self.cpu.write(base + 9, bytes([(table[9] - sum(table)) & 0xff]))

    def madt(self, kind):
        """Offsets of its entries of a kind."""
        table = self.cpu.read(self.at[b"APIC"], self.cpu.read32(self.at[b"APIC"] + 4))
        at = MADT_ENTRIES
        while at < len(table):
            if table[at] == kind:
                yield at
            at += table[at + 1]


def no_rsdp(cpu, info):
    cpu.write(Tables(cpu).rsdp, b"XXXX")


def rsdp_checksum(cpu, info):
    cpu.write(Tables(cpu).rsdp + 8, b"\xa5")


def root_checksum(cpu, info):
    Tables(cpu).spoil(b"RSDT")


def root_too_long(cpu, info):
    cpu.write32(Tables(cpu).rsdt + 4, 0x7fffffff)


def madt_checksum(cpu, info):
    Tables(cpu).spoil(b"APIC")


def madt_entry_of_no_size(cpu, info):
    tables = Tables(cpu)
    tables.write(b"APIC", next(tables.madt(MADT_LAPIC)) + 1, b"\0")


def madt_without_cpus(cpu, info):
    tables = Tables(cpu)
    for at in list(tables.madt(MADT_LAPIC)):
        tables.write(b"APIC", at + 4, bytes(4))


@pytest.mark.parametrize("change,parts", [
    (no_rsdp, ["no RSDP"]),
    (rsdp_checksum, ["no RSDP"]),
    (root_checksum, ["RSDT"]),
    (root_too_long, ["RSDT"]),
], ids=lambda v: getattr(v, "__name__", ""))
def test_no_tables(change, parts):
    """Then there is no clock either: QEMU's CPUs have none of their own."""
    booted = refused(start(change, cpus=2), "no clock", "HPET", "PM timer")
    one_line(booted, *parts, prefix="ACPI: ")


@pytest.mark.parametrize("change,parts", [
    (madt_checksum, ["no good MADT"]),
    (madt_entry_of_no_size, ["MADT entry"]),
    (madt_without_cpus, ["MADT lists no CPU"]),
], ids=lambda v: getattr(v, "__name__", ""))
def test_broken_tables(change, parts):
    """One line, and a guest on the one CPU that is certainly there."""
    booted = start(change, cpus=2).well()
    one_line(booted, *parts, prefix="ACPI: ")
    booted.says("1 of 1 CPUs online").all_ok(at_least=2)


def bad_fadt(cpu, info):
    Tables(cpu).spoil(b"FACP")


def bad_hpet(cpu, info):
    Tables(cpu).spoil(b"HPET")


@pytest.mark.parametrize("change", (bad_fadt, bad_hpet), ids=lambda f: f.__name__)
def test_optional_tables(change):
    """What is wrong counts as absent: the other one has a clock."""
    start(change, cpus=2).well().says("2 of 2 CPUs online").all_ok(at_least=2)


def hpet_in_ram(cpu, info):
    Tables(cpu).write(b"HPET", 44, (0x200000).to_bytes(8, "little"))


def hpet_nowhere(cpu, info):
    Tables(cpu).write(b"HPET", 44, (0xe8000000).to_bytes(8, "little"))


@pytest.mark.parametrize("change", (hpet_in_ram, hpet_nowhere), ids=lambda f: f.__name__)
def test_hpet_that_is_none(change):
    start(change, cpus=2).well().says("2 of 2 CPUs online").all_ok(at_least=2)


def ioapic_at(address):
    def ioapic(cpu, info):
        tables = Tables(cpu)
        tables.write(b"APIC", next(tables.madt(MADT_IOAPIC)) + 4, address.to_bytes(4, "little"))
    return ioapic


@pytest.mark.parametrize("address", (0x200000, 0xe8000000), ids=("in-ram", "nowhere"))
def test_ioapic_that_is_none(address):
    """A line, and what needs no device's interrupt runs."""
    booted = start(ioapic_at(address), cpus=2).well()
    one_line(booted, "%#x" % address, prefix="IOAPIC").says("2 of 2 CPUs online").all_ok(at_least=2)


def clocks_that_stand_still(cpu, info):
    """A PM timer at a port where nothing is, and no HPET."""
    tables = Tables(cpu)
    tables.spoil(b"HPET")
    tables.write(b"FACP", 76, (0x5008).to_bytes(4, "little"))


def test_clock_stands_still():
    refused(start(clocks_that_stand_still, 60), "no clock", "stand still")


def another_cpu(cpu, info):
    """The second entry of the MADT names a CPU that is not there."""
    tables = Tables(cpu)
    tables.write(b"APIC", list(tables.madt(MADT_LAPIC))[1] + 3, b"\x37")


def test_cpu_never_comes():
    booted = start(another_cpu, cpus=2).well()
    one_line(booted, "hardware id 0x37", "did not start", "does not answer", prefix="CPU 1 ")
    booted.says("1 of 2 CPUs online").all_ok(at_least=2)


def no_low_memory(cpu, info):
    """The map's first entry, below 640 KiB: where a CPU's first instructions would have to be."""
    at = cpu.read32(info + MB_MMAP_ADDR)
    assert cpu.read32(at + 4) == 0
    cpu.write32(at + 20, 2)


def test_no_page_for_other_cpus():
    booted = start(no_low_memory, cpus=2).well()
    one_line(booted, "did not start", "no memory", prefix="CPU 1 ")


# --- Too little memory ------------------------------------------------------------------------------

def ends_after(pages):
    """RAM from 1 MiB on ends that many pages after the image."""
    def short_of_memory(cpu, info):
        at = cpu.read32(info + MB_MMAP_ADDR)
        end = at + cpu.read32(info + MB_MMAP_LEN)
        size = inject.symbols("x86")["__image_end"] - 0x100000 + pages * 4096
        while at < end:
            if cpu.read32(at + 4) == 0x100000:
                cpu.write(at + 12, size.to_bytes(8, "little"))
            elif cpu.read32(at + 4) > 0x100000:
                cpu.write32(at + 20, 2)
            at += cpu.read32(at) + 4
    return short_of_memory


@pytest.mark.parametrize("pages", (0, 3, 12, 24, 40))
def test_little_memory(pages):
    """Whatever it is that there is no memory for: a line that says so."""
    booted = start(ends_after(pages), archive="", cpus=2)
    booted.check(booted.result.ended == "exit" and booted.result.code == 1, "should end with code 1")
    booted.check("no memory" in booted.text or "no archive" in booted.text,
                 "a line about memory, or about what else is missing")
    booted.never_says("panic", "backtrace", "exception")


@pytest.mark.parametrize("way", ("multiboot", "pvh"))
def test_memory_ends_in_the_image(boot, way):
    """The loader's information may be where nothing is, too: nothing ends the emulator then."""
    one_line(boot("vm=hello", "x86", memory=2, timeout=30, until="; halted", **way_in(way)),
             "no memory for the image")


def test_little_memory_for_guests(boot):
    booted = boot("vm=hello", "x86", memory=3, timeout=30)
    booted.check(booted.result.ended == "exit" and booted.result.code == 1, "should end with code 1")
    one_line(booted, "no memory", prefix="no VMs: ")


# --- The command line -------------------------------------------------------------------------------

def test_command_line_too_long(boot):
    refused(boot("vm=hello " + "x" * 3000, "x86", timeout=40), "command line too long")


@pytest.mark.parametrize("words,parts", [
    ("vm=hello" + " x" * 80, ["command line: too many words", "nothing is run"]),
    ("bench=nope", ["bench=nope: no experiment of that name"]),
    ("vm=nope", ["no VM 'nope'"]),
], ids=("words", "bench", "vm"))
def test_wrong_line(boot, words, parts):
    booted = boot(words, "x86", timeout=40)
    booted.check(booted.result.ended == "exit" and booted.result.code in (1, 2), "should end with a failure")
    booted.says(*parts)


@pytest.mark.parametrize("word,parts", [
    ("nr_cpus=many", ["nr_cpus=many", "using all"]),
    ("timeout=soon", ["timeout=soon", "taking"]),
    ("x86.apic=pic", ["x86.apic=pic", "xapic or x2apic"]),
    ("console=tty0", ["console=tty0", "com1"]),
    ("console=mmio:0x200000", ["0x200000 is not a device", "COM1"]),
    ("console=mmio:0xfffffffffffff000", ["is not a device", "COM1"]),
])
def test_word_that_makes_no_sense(boot, word, parts):
    """A line that says what is done instead, and it is done."""
    boot("vm=hello " + word, "x86", timeout=60).well().says(*parts).all_ok(at_least=2)


# --- Consoles ---------------------------------------------------------------------------------------

def second_port(tmp_path):
    return tmp_path / "com2", ("-serial", "file:%s" % (tmp_path / "com2"))


def test_refusal_on_both_consoles(boot, tmp_path):
    path, extra = second_port(tmp_path)
    refused(boot("vm=hello console=com2", "x86", cpu="max,-svm", extra=extra, timeout=40), "no AMD SVM")
    assert LINE + "this CPU has no AMD SVM" in path.read_text()


def test_early_refusal_on_both_consoles(tmp_path):
    """The loader's tables are wrong, but the command line was read."""
    path, extra = second_port(tmp_path)
    refused(start(module_list_far, words="vm=hello console=com2", extra=extra), "module list")
    assert "module list out of reach" in path.read_text()


def test_console_moves(boot, tmp_path):
    """All else is on the one that was asked for."""
    path, extra = second_port(tmp_path)
    booted = boot("vm=hello console=com2", "x86", extra=extra, timeout=60).well()
    booted.says("console: goes on at port 0x2f8").never_says("CPUs online")
    assert "CPUs online" in path.read_text()


def test_tables_are_told_of_where_it_goes_on(tmp_path):
    """What is wrong with ACPI is no refusal, but it belongs where all else is."""
    path, extra = second_port(tmp_path)

    def spoiled(cpu, info):
        Tables(cpu).spoil(b"APIC")
    start(spoiled, words="vm=hello console=com2", extra=extra)
    assert "going on with what is known" in path.read_text()


def test_console_where_nothing_is(boot):
    """Registers that swallow everything: a refusal is still seen on COM1."""
    refused(boot("vm=hello console=mmio32:0xe8000000", "x86", cpu="max,-svm", timeout=40), "no AMD SVM")


class NoPorts(machine.Machine):
    def argv(self):
        return ["none" if word == "chardev:console" else word for word in super().argv()]


def test_no_console():
    """Ports where nothing is: it runs all the same."""
    booted = conftest.Booted("no COM1", machine.boot(NoPorts("x86", append="vm=hello"), 60))
    booted.check(booted.result.ended == "exit" and booted.result.code == 0, "should end with code 0")


@pytest.mark.parametrize("cpu", ("max,-lm", "max,-svm"))
def test_stuck_console(tmp_path, cpu):
    """A line status that never says "ready": the machine still comes to its end."""
    stuck = ("-chardev", "file,id=stuck,path=%s" % (tmp_path / "status"),
             "-device", "isa-debugcon,iobase=0x3fd,readback=0,chardev=stuck")
    what = NoPorts("x86", append="vm=hello", cpu=cpu, extra=stuck)
    booted = conftest.Booted("COM1 is stuck", machine.boot(what, 60))
    booted.check(booted.result.ended == "exit" and booted.result.code == 1, "should end with code 1")
