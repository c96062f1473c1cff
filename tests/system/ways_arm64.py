# SPDX-License-Identifier: GPL-2.0-only
"""Ways into the arm64 image through firmware: UEFI (AAVMF) and U-Boot, by QEMU's -kernel or from a FAT disk
made for the boot. Each layout of a disk is a function that fills an empty directory."""

import os
import shutil
import struct
import subprocess
import zlib
from dataclasses import dataclass

import pytest
from front import machine

AAVMF = "/usr/share/AAVMF/AAVMF_%s.fd"
U_BOOT = "/usr/lib/u-boot/qemu_arm64/u-boot.bin"


def copy(source, *where):
    os.makedirs(os.path.join(*where[:-1]), exist_ok=True)
    shutil.copy(source, os.path.join(*where))


def write(data, *where):
    os.makedirs(os.path.join(*where[:-1]), exist_ok=True)
    with open(os.path.join(*where), "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def system_partition(way, root):
    """Where UEFI looks on removable media; words and archive beside the application."""
    copy(way.image_path(), root, "EFI", "BOOT", "BOOTAA64.EFI")
    if way.archive:
        copy(way.archive_path(), root, "EFI", "BOOT", "guests.cpio")
    write(way.words() + "\n", root, "EFI", "BOOT", "cupel.cmdline")


def shell(way, root):
    """The UEFI shell's: the image's name is the first word, the archive is named."""
    copy(way.image_path(), root, "cupel.efi")
    copy(way.archive_path(), root, "files", "g.cpio")
    write("FS0:\r\ncupel.efi %s initrd=files/g.cpio\r\n" % way.words(), root, "startup.nsh")


def extlinux(way, root):
    copy(way.image_path(), root, "cupel.bin")
    copy(way.archive_path(), root, "guests.cpio")
    write("default cupel\ntimeout 1\nlabel cupel\n  kernel /cupel.bin\n  initrd /guests.cpio\n  append %s\n"
          % way.words(), root, "extlinux", "extlinux.conf")


def script(lines):
    """What mkimage -T script makes (U-Boot, include/image.h): a header with two checksums, then the text."""
    text = "\n".join(lines + [""]).encode()
    body = struct.pack(">II", len(text), 0) + text
    fields = [0x27051956, 0, 0, len(body), 0, 0, zlib.crc32(body), 5, 22, 6, 0, b"cupel"]
    fields[1] = zlib.crc32(struct.pack(">7I4B32s", *fields))
    return struct.pack(">7I4B32s", *fields) + body


LOAD = "load ${devtype} ${devnum}:${distro_bootpart} "


def booti(way, root):
    copy(way.image_path(), root, "cupel.bin")
    copy(way.archive_path(), root, "guests.cpio")
    write(script(["setenv bootargs " + way.words(), LOAD + "%s cupel.bin" % way.load_address,
                  LOAD + "${ramdisk_addr_r} guests.cpio",
                  "booti %s ${ramdisk_addr_r}:${filesize} ${fdt_addr}" % way.load_address]), root, "boot.scr")


FIT = """/dts-v1/;
/ {
	description = "Cupel";
	timestamp = <0>;
	#address-cells = <1>;
	images {
		cupel {
			description = "Cupel"; type = "kernel"; arch = "arm64"; os = "linux"; compression = "none";
			data = /incbin/("%s"); load = <0x40400000>; entry = <0x40400000>;
		};
		guests {
			description = "guests"; type = "ramdisk"; arch = "arm64"; os = "linux"; compression = "none";
			data = /incbin/("%s");
		};
	};
	configurations {
		cupel { description = "Cupel"; kernel = "cupel"; ramdisk = "guests"; };
	};
};
"""


def fit(way, root):
    subprocess.run(["dtc", "-q", "-I", "dts", "-O", "dtb", "-o", os.path.join(root, "cupel.itb"), "-"],
                   input=FIT % (way.image_path(), way.archive_path()), text=True, check=True)
    at = "${ramdisk_addr_r}#cupel"
    write(script(["setenv bootargs " + way.words(), LOAD + "${ramdisk_addr_r} cupel.itb",
                  "bootm %s %s ${fdt_addr}" % (at, at)]), root, "boot.scr")


@dataclass(frozen=True)
class Way(machine.Machine):
    firmware: str = "aavmf"  # or "u-boot"
    disk: object = None  # one of the above; None: by -kernel
    acpi: bool = True
    load_address: str = "${kernel_addr_r}"
    scratch: str = ""

    def name(self):
        return "arm64 %s %s %s gic%s%s" % (self.firmware, self.disk.__name__ if self.disk else "-kernel",
                                           self.cpu or "max", self.gic, "" if self.acpi else " acpi=off")

    def words(self):
        return ("semihosting " + self.append).strip()

    def argv(self):
        board = "virt,gic-version=%s%s%s" % (self.gic, ",virtualization=on" if self.el2 else "",
                                             "" if self.acpi else ",acpi=off")
        argv = ["qemu-system-aarch64", "-M", board, "-cpu", self.cpu or "max", "-smp", str(self.cpus),
                "-m", str(self.memory), "-display", "none", "-nic", "none", "-monitor", "none", "-no-reboot",
                "-semihosting-config", "enable=on,target=native",
                "-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console"]
        if self.firmware == "aavmf":
            drive = "if=pflash,format=raw,readonly=%s,file=%s"
            argv += ["-drive", drive % ("on", AAVMF % "CODE"), "-drive", drive % ("off", self.vars())]
        else:
            argv += ["-bios", U_BOOT]
        if self.disk:
            root = os.path.join(self.scratch, "disk")
            os.makedirs(root, exist_ok=True)
            self.disk(self, root)
            return argv + ["-drive", "format=raw,if=virtio,file=fat:rw:" + root] + list(self.extra)
        argv += ["-kernel", self.image_path(), "-append", self.words()]
        return argv + (["-initrd", self.archive_path()] if self.archive else []) + list(self.extra)

    def vars(self):
        return shutil.copy(AAVMF % "VARS", self.scratch)


def way(scratch, append, **fields):
    for path in (AAVMF % "CODE", U_BOOT):
        if not os.path.exists(path):
            pytest.skip("%s is not there: ./cupel setup" % path)
    return Way("arm64", cpus=2, append=append, scratch=str(scratch), **fields)
