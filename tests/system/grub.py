# SPDX-License-Identifier: GPL-2.0-only
"""A disc with GRUB, the x86 image and an archive, for machines with a BIOS or with UEFI."""

import os
import shutil
import subprocess

import pytest

from front import machine

NEEDS = ("grub-mkrescue", "xorriso", "mformat")
PLATFORMS = {"bios": ("i386-pc", "biosdisk"), "uefi": ("x86_64-efi", "")}
MODULES = "normal multiboot multiboot2 linux iso9660 serial"
ARCHIVE = {"multiboot": "module", "multiboot2": "module2", "linux": "initrd"}

CONFIG = """\
serial --unit=0 --speed=115200
terminal_output serial
set timeout=0
menuentry cupel {
	%(command)s /boot/cupel %(words)s
	%(module)s /boot/guests.cpio
	boot
}
"""


def disc(directory, words, command="multiboot", image=None, firmware="bios",
         archive="guests.cpio"):
    """Path of an ISO image for that firmware: GRUB starts Cupel by `command`, one of ARCHIVE."""
    platform, modules = PLATFORMS[firmware]
    for name in NEEDS:
        if not shutil.which(name):
            pytest.skip("%s is not installed: ./cupel setup" % name)
    what = machine.Machine("x86", append=words, image=image, archive=archive)
    tree = os.path.join(directory, "disc")
    os.makedirs(os.path.join(tree, "boot/grub"))
    shutil.copy(what.image_path(), os.path.join(tree, "boot/cupel"))
    shutil.copy(what.archive_path(), os.path.join(tree, "boot/guests.cpio"))
    with open(os.path.join(tree, "boot/grub/grub.cfg"), "w", encoding="utf-8") as file:
        file.write(CONFIG % {"command": command, "module": ARCHIVE[command], "words": words})
    path = os.path.join(directory, "cupel.iso")
    subprocess.run(["grub-mkrescue", "-d", "/usr/lib/grub/" + platform, "--fonts=", "--themes=", "--locales=",
                    "--install-modules=%s %s" % (MODULES, modules), "-o", path, tree],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return path
