# SPDX-License-Identifier: GPL-2.0-only
"""Ways into the x86 image beside QEMU's -kernel of the ELF: GRUB and UEFI, on media made for the boot."""

import os
import shutil
from dataclasses import dataclass, replace

import grub
import pytest
from front import machine

OVMF = "/usr/share/OVMF/OVMF_%s_4M.fd"


@dataclass(frozen=True)
class Way(machine.Machine):
    """`media`: "" = -kernel, "disc" = GRUB's, "disk" = a FAT disk with the application as its boot
    file, "shell" = one with a script for UEFI's shell, whose lines are `script` and then the application."""

    media: str = ""
    command: str = ""  # GRUB's
    script: str = ""
    firmware: str = "bios"  # or "uefi"
    directory_of_media: str = ""

    def name(self):
        return "x86 %s %s %s %s" % (self.machine, self.firmware, self.media or "-kernel",
                                    " ".join([self.command, os.path.basename(self.image)]).strip())

    def words(self):
        return ("debug-exit " + self.append).strip()

    def argv(self):
        argv = ["qemu-system-x86_64", "-accel", self.accel(), "-M", self.machine, "-cpu", self.cpu or "max",
                "-smp", str(self.cpus), "-m", str(self.memory), "-display", "none", "-nic", "none",
                "-monitor", "none", "-no-reboot", "-device", "isa-debug-exit,iobase=0xf4,iosize=4",
                "-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console"]
        if self.firmware == "uefi":
            drive = "if=pflash,format=raw,readonly=%s,file=%s"
            argv += ["-drive", drive % ("on", OVMF % "CODE"), "-drive", drive % ("off", self.vars())]
        if self.media == "disc":
            argv += ["-cdrom", grub.disc(self.directory_of_media, self.words(), self.command, self.image,
                                         self.firmware, self.archive)]
        elif self.media:
            fill = self.disk if self.media == "disk" else self.shell
            argv += ["-drive", "format=raw,file=fat:rw:" + fill()]
        else:
            argv += ["-kernel", self.image_path(), "-append", self.words()]
            argv += ["-initrd", self.archive_path()] if self.archive else []
        return argv + list(self.extra)

    def vars(self):
        if not os.path.exists(OVMF % "VARS"):
            pytest.skip("ovmf is not installed: ./cupel setup")
        return shutil.copy(OVMF % "VARS", self.directory_of_media)

    def tree(self, directory, name):
        root = os.path.join(self.directory_of_media, "disk")
        place = os.path.join(root, directory)
        os.makedirs(place)
        shutil.copy(self.image_path(), os.path.join(place, name))
        if self.archive:
            shutil.copy(self.archive_path(), os.path.join(place, "guests.cpio"))
        return root, place

    def shell(self):
        root, _ = self.tree("cupel", "cupel.efi")
        with open(os.path.join(root, "startup.nsh"), "w", encoding="ascii") as file:
            file.write("fs0:\r\ncd cupel\r\n%scupel.efi %s\r\nreset -s\r\n" % (self.script, self.words()))
        return root

    def disk(self):
        """A system partition as UEFI looks for it; the command line is in a file beside the application."""
        root, place = self.tree("EFI/BOOT", "BOOTX64.EFI")
        with open(os.path.join(place, "cupel.cmdline"), "w", encoding="ascii") as file:
            file.write(self.words())
        return root


def way(directory, image, append, machine_type="q35", **fields):
    what = Way("x86", append=append, machine=machine_type, cpus=2, directory_of_media=str(directory),
               **fields)
    return replace(what, image=os.path.join(what.directory(), image))
