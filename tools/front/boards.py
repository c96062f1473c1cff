# SPDX-License-Identifier: GPL-2.0-only
"""Boards that QEMU models, one row each: what `--board NAME` starts, and what tests/system/test_boards.py
boots. docs/boards.md says what the real ones need."""

import os
import subprocess
from dataclasses import dataclass

from . import ROOT, Failure

# Device trees of Debian's kernel package, put there by tools/setup; ours are in tools/boards.
DEBIAN_TREES = os.path.join(ROOT, "build/deps/dtb")
OUR_TREES = os.path.join(ROOT, "tools/boards")


@dataclass(frozen=True)
class Board:
    """The machine without image, archive and command line."""

    machine: str  # -M
    cpus: int
    memory: int  # MiB
    most_cpus: int = 0  # 0: just that many
    cpu: str = None  # None: the one it has
    tree: str = ""  # file name without suffix; "": the emulator makes one
    console: int = 0  # which of the serial lines
    words: tuple = ()  # of Cupel's command line
    extra: tuple = ()
    online: int = 0  # how many of them Cupel gets; 0: all

    def tree_path(self):
        source = os.path.join(OUR_TREES, self.tree + ".dts")
        if not os.path.exists(source):
            return os.path.join(DEBIAN_TREES, self.tree + ".dtb")
        path = os.path.join(ROOT, "build/boards", self.tree + ".dtb")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        # Under a name of its own first: another boot may be reading it.
        part = "%s.%d" % (path, os.getpid())
        made = subprocess.run(["dtc", "-q", "-I", "dts", "-O", "dtb", "-o", part, source], check=False)
        if made.returncode:
            raise Failure("dtc did not take tools/boards/%s.dts" % self.tree)
        os.replace(part, path)
        return path

    def argv(self):
        argv = ["-M", self.machine, *self.extra]
        if self.cpu:
            argv += ["-cpu", self.cpu]
        return argv + (["-dtb", self.tree_path()] if self.tree else [])


BOARDS = {
    "virt-gicv2": Board("virt,gic-version=2,virtualization=on", 4, 1024, 8, "cortex-a57"),
    "virt-gicv3": Board("virt,gic-version=3,virtualization=on", 4, 1024, 512, "neoverse-n2"),
    "virt-gicv4": Board("virt,gic-version=4,virtualization=on", 4, 1024, 317, "max"),
    "sbsa-ref": Board("sbsa-ref", 1, 1024, cpu="neoverse-n2", tree="sbsa-ref"),
    "raspi3b": Board("raspi3b", 4, 1024, tree="bcm2837-rpi-3-b", console=1),
    "raspi4b": Board("raspi4b", 4, 2048, tree="bcm2711-rpi-4-b", console=1),
    "xlnx-zcu102": Board("xlnx-zcu102,virtualization=on,audiodev=none", 4, 2048, tree="zynqmp-zcu102-rev1.0",
                         extra=("-audiodev", "none,id=none")),
    # Two of its four are Cortex-R5s, which never start.
    "xlnx-versal-virt": Board("xlnx-versal-virt", 4, 2048, online=2),
    # Its list registers reach no CPU before QEMU 10.2.
    "imx8mp-evk": Board("imx8mp-evk", 4, 2048, tree="imx8mp-evk", console=1, words=("arm64.no-lrs",)),
    # The others never start: its firmware would start them.
    "npcm845-evb": Board("npcm845-evb", 4, 1024, tree="npcm845-evb", online=1),
}
