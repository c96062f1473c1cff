# SPDX-License-Identifier: GPL-2.0-only
"""A disc with GRUB, the x86 image and an archive, for machines that start by a BIOS or from one."""

import os
import shutil
import subprocess

import pytest

from front import machine

NEEDS = ("grub-mkrescue", "xorriso")
MODULES = "normal multiboot multiboot2 iso9660 biosdisk serial"

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


def disc(directory, words, command="multiboot", image=None):
    """Path of an ISO image for a BIOS: GRUB starts Cupel by `command`, multiboot or multiboot2."""
    for name in NEEDS:
        if not shutil.which(name):
            pytest.skip("%s is not installed: ./cupel setup" % name)
    what = machine.Machine("x86", append=words, image=image)
    tree = os.path.join(directory, "disc")
    os.makedirs(os.path.join(tree, "boot/grub"))
    shutil.copy(what.image_path(), os.path.join(tree, "boot/cupel"))
    shutil.copy(what.archive_path(), os.path.join(tree, "boot/guests.cpio"))
    with open(os.path.join(tree, "boot/grub/grub.cfg"), "w", encoding="utf-8") as file:
        file.write(CONFIG % {"command": command, "module": command.replace("multiboot", "module"),
                             "words": words})
    path = os.path.join(directory, "cupel.iso")
    subprocess.run(["grub-mkrescue", "-d", "/usr/lib/grub/i386-pc", "--fonts=", "--themes=", "--locales=",
                    "--install-modules=" + MODULES, "-o", path, tree],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return path
