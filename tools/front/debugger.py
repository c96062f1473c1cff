# SPDX-License-Identifier: GPL-2.0-only
"""A machine under gdb: QEMU waits before its first instruction, and gdb gets symbols that are right from
there on, and the commands of tools/gdb/cupel.py. Both end together."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace

from . import ROOT, Failure, machine, tied

GDB = "gdb-multiarch"
SCRIPT = os.path.join(ROOT, "tools/gdb/cupel.py")
# Where RAM begins: an image that firmware has put somewhere is looked for from there on. QEMU's own boot code
# is at the beginning of a board's RAM, and so is the CPU then.
VIRT_RAM, AT_PC = "0x40000000", "pc"


def symbols_of(what):
    return os.path.splitext(what.image_path())[0] + ".sym.elf"


def debugged(what, place):
    """The machine with its debugger's socket and, where the image may be anywhere, its memory as a file."""
    ram = ()
    if what.arch == "arm64":
        ram = ("-object", "memory-backend-file,id=ram,share=on,size=%dM,mem-path=%s/ram" % (what.memory, place),
               "-machine", "memory-backend=ram", "-pidfile", place + "/pid")
    return replace(what, gdb=place + "/gdb", extra=(*what.extra, *ram))


def quoted(word):
    """One word of gdb's command line."""
    return re.sub(r"([\s'\"\\])", r"\\\1", word)


def attach(what, place):
    words = [symbols_of(what), what.image_path(), place + "/gdb"]
    if what.arch == "arm64":
        words += [place + "/ram", AT_PC if what.board else VIRT_RAM, place + "/pid"]
    return "cupel attach " + " ".join(map(quoted, words))


def wait_for(path, thread):
    while not os.path.exists(path):
        if not thread.is_alive():
            raise Failure("the emulator ended before it could be debugged")
        time.sleep(0.02)


def gdb_argv(what, place, script):
    argv = [GDB, "-nx", "-q", *(["-batch"] if script else [])]
    argv += ["-iex", "set confirm off", "-x", SCRIPT, "-ex", attach(what, place)]
    return argv + (["-x", script] if script else [])


def place_for():
    """A directory in memory, if there is a place for one: the machine's RAM is in it. Those of runs that were
    killed go first."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()
    for name in os.listdir(memory):
        found = re.match(r"cupel-gdb-(\d+)-", name)
        if found and not os.path.exists("/proc/" + found.group(1)):
            shutil.rmtree(os.path.join(memory, name), ignore_errors=True)
    return tempfile.TemporaryDirectory(prefix="cupel-gdb-%d-" % os.getpid(), dir=memory)


def wait(what, on_line=print):
    """Start a machine that waits for a debugger of the user's own, and say how ours would attach."""
    with place_for() as place:
        print("waiting for a debugger:\n  " + machine.shell(gdb_argv(what, place, None)), flush=True)
        return machine.execute(debugged(what, place), timeout=None, on_line=on_line)


def debug(what, script=None, on_line=print, timeout=None):
    """Run gdb on a machine that waits: at the terminal, or with a file of commands. Its exit status."""
    if not shutil.which(GDB):
        raise Failure("%s is not installed: ./cupel setup" % GDB)
    with place_for() as place:
        under = debugged(what, place)
        stop, errors = threading.Event(), []
        emulator = threading.Thread(target=run, args=(under, stop, on_line, errors), daemon=True)
        emulator.start()
        try:
            wait_for(place + "/gdb", emulator)
            return run_gdb(gdb_argv(what, place, script), script, timeout)
        finally:
            stop.set()
            emulator.join()
            sys.stderr.write("".join(errors))


def run(what, stop, on_line, errors):
    """What the emulator has to say of a machine that it can't make is for whoever sees gdb fail."""
    result = machine.execute(what, timeout=None, on_line=on_line, stop=stop)
    if result.ended == "exit" and result.code:
        errors.append(result.stderr)


def run_gdb(argv, script, timeout):
    """Ctrl-C at the terminal is gdb's; it stops the machine, not us."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN) if not script else None
    sys.stdout.flush()
    try:
        return subprocess.run(tied(argv), check=False, timeout=timeout,
                              stdin=subprocess.DEVNULL if script else None,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)).returncode
    except subprocess.TimeoutExpired as error:
        raise Failure("gdb was not done after %d seconds" % timeout) from error
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)
