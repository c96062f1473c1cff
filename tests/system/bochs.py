# SPDX-License-Identifier: GPL-2.0-only
"""Bochs' PC, an i440FX with a PIIX3: started by its own BIOS from a disc with GRUB. It has no exit port
and one exit status for all ends: a boot that has ended well is one that switched the machine off."""

import os
import re
import shutil
import subprocess
import time

import conftest
import grub
import pytest
from front import machine, tied

PROGRAM = "bochs-bin"
BIOS = "/usr/share/bochs/BIOS-bochs-latest"
VGA_BIOS = "/usr/share/vgabios/vgabios.bin"
OFF = "ACPI control: soft power off"

# The text display: of the graphical ones some wait for a client and others for an X server.
CONFIG = """\
config_interface: textconfig
display_library: term
plugin_ctrl: unmapped=1, biosdev=1, extfpuirq=1, serial=1, iodebug=1%(plugins)s
megs: %(memory)d
cpu: model=%(cpu)s, count=%(cpus)d, ips=50000000, reset_on_triple_fault=0, ignore_bad_msrs=0
romimage: file=%(bios)s, options=fastboot
vgaromimage: file=%(vga)s
ata0-master: type=cdrom, path="%(disc)s", status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=%(serial)s
log: %(log)s
panic: action=fatal
error: action=report
info: action=report
debug: action=ignore
clock: sync=none, time0=utc
mouse: enabled=0
private_colormap: enabled=0
"""


def version():
    out = subprocess.run([PROGRAM, "--help"], check=False, text=True, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    found = re.search(r"Bochs x86 Emulator (\d+)", out)
    return int(found.group(1)) if found else 0


def needs_bochs():
    for path in (shutil.which(PROGRAM), BIOS, VGA_BIOS):
        if not path or not os.path.exists(path):
            pytest.skip("Bochs or its BIOS is not installed: ./cupel setup")


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8", "replace").replace("\r", "")
    except OSError:
        return ""


def boot(step, directory, words, cpu="ryzen", cpus=1, memory=128, timeout=300):
    """Boot to the end; the console is what COM1 got."""
    needs_bochs()
    path = {name: os.path.join(directory, name) for name in ("bochsrc", "go", "serial", "log")}
    # The debugger is compiled in: before 3.0 it stops at the first instruction and has to be told.
    plugins = ", speaker=0, parallel=0, voodoo=0" if version() < 3 else ""
    with open(path["bochsrc"], "w", encoding="utf-8") as file:
        file.write(CONFIG % {"memory": memory, "cpu": cpu, "cpus": cpus, "bios": BIOS, "vga": VGA_BIOS,
                             "disc": grub.disc(directory, words), "plugins": plugins, **path})
    with open(path["go"], "w", encoding="utf-8") as file:
        file.write("c\n")
    command = tied([PROGRAM, "-q", "-f", path["bochsrc"], "-rc", path["go"]])
    result = machine.Boot(machine.Machine("x86", cpus=cpus, machine="bochs", cpu=cpu), command=command)
    started = time.monotonic()
    try:
        subprocess.run(command, check=False, timeout=timeout, cwd=directory, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                       env=dict(os.environ, TERM="xterm"))
    except subprocess.TimeoutExpired:
        result.ended = "timeout"
    result.seconds = time.monotonic() - started
    result.text = read(path["serial"])
    log = read(path["log"])
    result.stderr = "\n".join(line for line in log.splitlines() if "PANIC" in line)
    result.code = 0 if OFF in log else 1
    return conftest.Booted(step, result)
