# SPDX-License-Identifier: GPL-2.0-only
"""Where an emulated machine's memory, kept in a file, has Cupel's arm64 image: at whatever page firmware has
put it, with its build id. As a program it waits until the image is where it was not before, says where,
and stops the emulator for as long as it takes to interrupt the debugger:

  ram_search.py RAM-FILE RAM-BASE IMAGE EMULATOR-PID DEBUGGER-PID [ADDRESS …]"""

import mmap
import os
import re
import signal
import sys
import time

PAGE = 4096
POLL = 0.003
NOTE = re.compile(rb"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0")
# Linux, Documentation/arch/arm64/booting.rst
MAGIC_OFFSET, MAGIC = 0x38, int.from_bytes(b"ARM\x64", "little")


class Search:
    """One machine's memory, and what the image in it looks like."""

    def __init__(self, path, base, image):
        self.base = base
        with open(image, "rb") as file:
            data = file.read()
        self.note_at = NOTE.search(data).start()
        self.note = data[self.note_at:self.note_at + 36]
        self.file = os.open(path, os.O_RDONLY)
        self.memory = mmap.mmap(self.file, 0, prot=mmap.PROT_READ)
        self.words = memoryview(self.memory).cast("I")

    def extents(self):
        """[start, end) of all that was ever written: a look elsewhere would make memory of it."""
        size, at = os.fstat(self.file).st_size, 0
        while at < size:
            try:
                at = os.lseek(self.file, at, os.SEEK_DATA)
            except OSError:
                return  # nothing but holes from here on
            end = os.lseek(self.file, at, os.SEEK_HOLE)
            yield at - at % PAGE, end - end % PAGE
            at = end

    def find(self):
        """Addresses, lowest first."""
        return [self.base + at for start, end in self.extents() for at in self.images(start, end)]

    def images(self, start, end):
        magics = self.words[(start + MAGIC_OFFSET) // 4:end // 4:PAGE // 4].tolist()
        if MAGIC not in magics:
            return []
        pages = [start + PAGE * n for n, word in enumerate(magics) if word == MAGIC]
        return [at for at in pages if os.pread(self.file, len(self.note), at + self.note_at) == self.note]


def main(path, base, image, emulator, debugger, *known):
    search = Search(path, int(base, 16), image)
    known = {int(address, 16) for address in known}
    while not set(search.find()) - known:
        time.sleep(POLL)
    os.kill(int(emulator), signal.SIGSTOP)
    try:
        print(" ".join("%#x" % address for address in search.find()), flush=True)
        os.kill(int(debugger), signal.SIGINT)
        time.sleep(0.2)  # until its request waits at the emulator
    finally:
        os.kill(int(emulator), signal.SIGCONT)


if __name__ == "__main__":
    main(*sys.argv[1:])
