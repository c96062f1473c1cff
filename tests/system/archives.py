# SPDX-License-Identifier: GPL-2.0-only
"""Archives of a test's own: guests of the build, and a cupel.conf that says what the test wants."""

import os
import shutil
import subprocess

from front import machine


def archive(directory, arch, conf, guests):
    """Path of a cpio archive with these guests (names without .elf) and this cupel.conf."""
    source = os.path.join(machine.Machine(arch).directory(), "archive")
    names = ["cupel.conf"] if conf is not None else []
    if conf is not None:
        with open(os.path.join(directory, "cupel.conf"), "wb") as file:
            file.write(conf.encode() if isinstance(conf, str) else conf)
    for guest in guests:
        shutil.copy(os.path.join(source, guest + ".elf"), directory)
        names.append(guest + ".elf")
    packed = subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=directory, check=True,
                            input="\n".join(names).encode(), stdout=subprocess.PIPE).stdout
    path = os.path.join(directory, "test.cpio")
    with open(path, "wb") as file:
        file.write(packed)
    return path
