# SPDX-License-Identifier: GPL-2.0-only
"""arm64 machines started without QEMU's own boot code: a shim of three instructions decides what is
in x0, and the exception level is that of reset."""

import os
import struct
import subprocess
from dataclasses import dataclass, replace

from front import machine

SHIM, IMAGE, TREE = 0x47f00000, 0x40200000, 0x48000000

# ldr x0, tree; ldr x1, image; br x1 (Arm ARM C6.2: LDR literal, BR)
CODE = struct.pack("<IIII", 0x58000080, 0x580000a1, 0xd61f0020, 0)


@dataclass(frozen=True)
class Bare(machine.Machine):
    tree: str = ""  # file with the device tree; "" = x0 is 0
    shim: str = ""
    el3: bool = False
    tree_at: int = TREE
    image_at: int = IMAGE
    backing: str = ""  # file that RAM is, so that it can be looked at afterwards

    def image_path(self):
        """The test image: the words are in the tree, where nobody sees that self-tests are asked for."""
        return self.directory() + "/cupel-test.bin"

    def argv(self):
        board = "virt,gic-version=3,virtualization=on" + (",secure=on" if self.el3 else "")
        if self.backing:
            board += ",memory-backend=ram"
        argv = ["qemu-system-aarch64", "-M", board, "-cpu", self.cpu or "max", "-smp", str(self.cpus),
                "-m", str(self.memory), "-display", "none",
                "-nic", "none", "-monitor", "none", "-no-reboot", "-semihosting",
                "-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console"]
        if self.backing:
            argv += ["-object", "memory-backend-file,id=ram,size=%dM,share=on,mem-path=%s"
                     % (self.memory, self.backing)]
        argv += [*self.loaded(self.image_path(), self.image_at),
                 "-device", "loader,file=%s,addr=%#x,cpu-num=0,force-raw=on" % (self.shim, SHIM)]
        if self.tree:
            argv += self.loaded(self.tree, self.tree_at)
        return argv + list(self.extra)

    @staticmethod
    def loaded(path, address):
        return ["-device", "loader,file=%s,addr=%#x,force-raw=on" % (path, address)]


def bare(directory, tree=None, el3=False, cpus=1, x0=None, **fields):
    """x0: something else than where the tree is."""
    shim = os.path.join(directory, "shim.bin")
    what = Bare("arm64", cpus, archive="", shim=shim, el3=el3, **fields)
    if tree:
        what = replace(what, tree=os.path.join(directory, "tree.dtb"))
        with open(what.tree, "wb") as file:
            file.write(tree)
    if x0 is None:
        x0 = what.tree_at if tree is not None else 0
    with open(shim, "wb") as file:
        file.write(CODE + struct.pack("<QQ", x0, what.image_at))
    return what


def assemble(directory, source, **macros):
    """A shim of a file beside this one, where it wants to be told by macros what is where."""
    out = os.path.join(directory, source)
    subprocess.run(["aarch64-linux-gnu-gcc", "-c", "-o", out + ".o",
                    os.path.join(os.path.dirname(__file__), source),
                    *("-D%s=%#x" % macro for macro in macros.items())], check=True)
    subprocess.run(["aarch64-linux-gnu-objcopy", "-O", "binary", out + ".o", out + ".bin"], check=True)
    return out + ".bin"


def device_tree(directory, words="", edit=None, cpus=1, memory=1024):
    """The tree QEMU would have given, with a command line of ours, as bytes; edit(source) may change it."""
    path = os.path.join(directory, "virt.dtb")
    subprocess.run(["qemu-system-aarch64", "-M", "virt,gic-version=3,virtualization=on,dumpdtb=" + path,
                    "-cpu", "max", "-smp", str(cpus), "-m", str(memory), "-display", "none"], check=True,
                   stderr=subprocess.DEVNULL)
    source = subprocess.run(["dtc", "-q", "-q", "-I", "dtb", "-O", "dts", path], check=True, text=True,
                            stdout=subprocess.PIPE).stdout
    source = source.replace("chosen {", 'chosen {\n\t\tbootargs = "%s";' % words, 1)
    source = edit(source) if edit else source
    return subprocess.run(["dtc", "-q", "-q", "-I", "dts", "-O", "dtb"], check=True,
                          input=source.encode(), stdout=subprocess.PIPE).stdout
