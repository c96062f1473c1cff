# SPDX-License-Identifier: GPL-2.0-only
"""./cupel disk: one image, started by the firmware of every machine it is for, each to the end of a short
experiment with the same rows."""

import os
import shutil
import subprocess
from dataclasses import dataclass

import pytest

import conftest
from front import ROOT, Failure, Usage, disk, machine

WORDS = ("semihosting", "debug-exit", "bench=exits", "samples=20")
VARS = {"arm64": "/usr/share/AAVMF/AAVMF_VARS.fd", "x86": "/usr/share/OVMF/OVMF_VARS_4M.fd"}
CODE = {"arm64": "/usr/share/AAVMF/AAVMF_CODE.fd", "x86": "/usr/share/OVMF/OVMF_CODE_4M.fd"}


@dataclass(frozen=True)
class FromDisk(machine.Machine):
    """A machine that has firmware and the disk, and nothing else."""

    disk: str = ""
    vars: str = ""  # of UEFI; "" = other firmware
    firmware: tuple = ()
    acpi: bool = True

    def name(self):
        return "%s from a disk" % self.arch

    def argv(self):
        argv = ["-smp", str(self.cpus), "-m", str(self.memory), "-display", "none", "-nic", "none",
                "-monitor", "none", "-no-reboot", "-chardev", "stdio,id=console,signal=off",
                "-serial", "chardev:console", *self.firmware]
        if self.vars:
            pflash = "if=pflash,format=raw,readonly=%s,file=%s"
            argv += ["-drive", pflash % ("on", CODE[self.arch]), "-drive", pflash % ("off", self.vars)]
        drive = "format=raw,snapshot=on,file=" + self.disk
        if self.arch == "x86":
            return ["qemu-system-x86_64", "-accel", "tcg", "-M", self.machine or "q35", "-cpu", "max", "-device",
                    "isa-debug-exit,iobase=0xf4,iosize=4", *argv, "-drive", drive]
        board = "virt,virtualization=on,gic-version=3" + ("" if self.acpi else ",acpi=off")
        return ["qemu-system-aarch64", "-M", board, "-cpu", "max", "-semihosting-config",
                "enable=on,target=native", *argv, "-drive", "if=virtio," + drive]


def written(path, words, **options):
    argv = [ROOT + "/cupel", "disk", str(path), *words]
    for option, value in options.items():
        argv += ["--" + option, value]
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    return str(path)


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    return written(tmp_path_factory.mktemp("disk") / "stick.img", WORDS)


UBOOT = ("-bios", "/usr/lib/u-boot/qemu_arm64/u-boot.bin")
# What started it, and what the image then says of that. U-Boot since 2023.07 looks for an EFI application first.
WAYS = {
    "aavmf": (("efi+acpi",), dict(arch="arm64")),
    "aavmf-no-acpi": (("efi+fdt",), dict(arch="arm64", acpi=False)),
    "u-boot": (("fdt", "efi+fdt"), dict(arch="arm64", firmware=UBOOT)),
    "ovmf": (("efi+acpi",), dict(arch="x86")),
    "bios": (("multiboot2",), dict(arch="x86")),
    "bios-pc": (("multiboot2",), dict(arch="x86", machine="pc")),
}


def rows(booted):
    return sorted((row["bench"], row["variant"]["op"], row["unit"], row["n"], sorted(row))
                  for row in booted.records())


def start(name, image, tmp_path, **more):
    fields = {**WAYS[name][1], **more}
    if name.startswith(("aavmf", "ovmf")):
        fields["vars"] = shutil.copy(VARS[fields["arch"]], tmp_path)
    what = FromDisk(cpus=2, archive="", disk=image, **fields)
    return conftest.Booted(name, machine.boot(what, 240))


@pytest.fixture(scope="module")
def direct():
    """What comes out when QEMU itself loads the image."""
    found = {}
    for arch in ("arm64", "x86"):
        what = machine.Machine(arch, cpus=2, append="bench=exits samples=20")
        found[arch] = rows(conftest.Booted("direct", machine.boot(what, 120)).well())
        assert found[arch]
    return found


@pytest.mark.parametrize("name", WAYS)
def test_one_disk_for_all(name, image, tmp_path, direct):
    booted = start(name, image, tmp_path).well().says("2 of 2 CPUs online").never_says("unknown word")
    booted.check(rows(booted) == direct[WAYS[name][1]["arch"]], "other rows than without a disk")
    booted.check(booted.records()[0]["machine"]["firmware"] in WAYS[name][0], "by another way")


def test_grub_on_uefi(image, tmp_path, direct):
    """GRUB is on the disk for UEFI as well, for whoever wants its menu: chosen here by its place."""
    path, grub = shutil.copy(image, str(tmp_path / "grub.img")), str(tmp_path / "grubx64.efi")
    volume = "%s@@1M" % path
    subprocess.run(["mcopy", "-i", volume, "::/EFI/grub/grubx64.efi", grub], check=True)
    subprocess.run(["mcopy", "-o", "-i", volume, grub, "::/EFI/BOOT/BOOTX64.EFI"], check=True)
    booted = start("ovmf", path, tmp_path).well()
    booted.check(booted.records()[0]["machine"]["firmware"] == "multiboot2", "not by GRUB")
    booted.check(rows(booted) == direct["x86"], "other rows than without a disk")


def test_no_words_give_the_monitor(tmp_path):
    what = written(tmp_path / "plain.img", ())
    fields = dict(WAYS["u-boot"][1], disk=what)
    result = machine.boot(FromDisk(cpus=1, archive="", **fields), 100, until="help")
    booted = conftest.Booted("no words", result)
    booted.never_says("EXTLINUX FAILED", "Error parsing").check(result.ended == "pattern", "no word of a monitor")


@pytest.mark.parametrize("line", ("", "vm=hello timeout=30"))
def test_no_line_ends_in_a_blank(line):
    """Nor in the word that announces a command line when there is none."""
    for file in (disk.extlinux(line), disk.grub(line)):
        assert not [said for said in file.splitlines() if said != said.rstrip() or said.strip() == "append"]
        assert not line or line in file


def test_same_bytes(image, tmp_path):
    with open(image, "rb") as first, open(written(tmp_path / "again.img", WORDS), "rb") as second:
        assert first.read() == second.read()


def test_a_fat_that_others_read(image):
    """Not only mtools: the boot sector's own figures agree with the partition's."""
    with open(image, "rb") as file:
        table = file.read(512)
        first, sectors = (int.from_bytes(table[at:at + 4], "little") for at in (454, 458))
        file.seek(first * 512)
        boot = file.read(512)
    assert table[450] == 0x0c and table[510:] == b"\x55\xaa"
    assert (first + sectors) * 512 == os.path.getsize(image)
    assert boot[82:90] == b"FAT32   "
    assert int.from_bytes(boot[32:36], "little") == sectors and int.from_bytes(boot[28:32], "little") == first


@pytest.mark.parametrize("options,says", [
    ({"arm64": "/nonexistent"}, "is no file"), ({"x86": __file__}, "archive"), ({"size": "1"}, "MiB from"),
    ({"fly": "1"}, "unknown option"),
], ids=("no archive", "not an archive", "too small", "unknown option"))
def test_refused(tmp_path, options, says):
    """One line, and no half a disk."""
    out = tmp_path / "stick.img"
    with pytest.raises(subprocess.CalledProcessError) as error:
        subprocess.run([ROOT + "/cupel", "disk", str(out), *sum((["--" + o, v] for o, v in options.items()), [])],
                       check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert says in error.value.stderr and len(error.value.stderr.splitlines()) == 1, error.value.stderr
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("words", [("no-such=1",), ("bench=no-such",), ("bench=exits", "kind=atomic"), ("selftest",),
                                   ("rounds=5",)], ids=" ".join)
def test_words_that_the_image_would_refuse(words):
    with pytest.raises(Usage):
        disk.check_words(words)


def test_vms_that_no_archive_has():
    archives = {arch: machine.Machine(arch).archive_path() for arch in ("arm64", "x86")}
    disk.check_archives(archives, "hello,lapic")  # x86 has it
    disk.check_archives(archives, "")
    with pytest.raises(Failure, match="no vm other"):
        disk.check_archives(archives, "hello+other")


def test_words_that_it_knows():
    disk.check_words(("arm64.mode=nvhe", "x86.apic=xapic", "bench=exits", "ops=hvc", "samples=20", "vm=a,b"))
    disk.check_words(())


def test_more_than_fits(tmp_path):
    large = tmp_path / "large"
    large.write_bytes(bytes(60 << 20))
    with pytest.raises(Failure, match="--size"):
        disk.check_room({"large": str(large)}, 64)


def test_names_that_mtools_would_read_as_theirs(tmp_path, monkeypatch):
    """A letter and a colon is a drive to them, and @@ begins an offset."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a@@b").mkdir()
    (tmp_path / "x:y").write_bytes(b"as it is")
    disk.make_disk(str(tmp_path / "a@@b" / "made"), 48, {"some/where/file": "x:y"}, str(tmp_path))
    os.rename("a@@b/made", "made")
    said = subprocess.run(["mtype", "-i", "made@@1M", "::/some/where/file"], check=True, stdout=subprocess.PIPE)
    assert said.stdout == b"as it is"
