# SPDX-License-Identifier: GPL-2.0-only
"""./cupel disk: an image for a stick or an SD card that every machine's firmware finds its way into. Made by
mtools and GRUB's own tools in a plain file: no root, no loop device."""

import os
import re
import shutil
import struct
import subprocess
import tempfile

from . import ARCHES, Failure, Usage, archive, build, experiments, output

HELP = """\
./cupel disk OUT [word …] [--arm64 ARCHIVE] [--x86 ARCHIVE] [--size MIB]

Write OUT: a disk with one FAT partition, for `dd` to a stick or an SD card. UEFI starts it on both
architectures (EFI/BOOT), U-Boot by extlinux/extlinux.conf, a PC's BIOS by GRUB, and a Raspberry Pi by
config.txt once its firmware has been copied there. docs/booting.md says what is where.

  word            goes to Cupel's command line, whatever starts it; without any: the monitor
  --arm64, --x86  an archive of `./cupel archive` in place of this tree's test guests
  --size          of the disk, in MiB (default 64)"""

SECTOR = 512
START = 2048  # sector at which the partition begins: 1 MiB, as partitioning tools have it
FAT32_LBA = 0x0c  # partition type; a Raspberry Pi's ROM takes it too, which an ESP's 0xef it does not
MIN_SIZE, MAX_SIZE = 48, 65536  # FAT32 begins at 32 MiB
SPARE_MIB = 8  # what comes before the partition, the file system's own tables, ends of files
# Nothing of the time or the machine it is made at is in it.
ENV = {"SOURCE_DATE_EPOCH": "315532800", "TZ": "UTC", "MTOOLS_SKIP_CHECK": "1", "LC_ALL": "C.UTF-8"}
SERIAL = "43757065"
# Read by U-Boot, GRUB and Cupel, each with quoting of its own: words that mean the same to all.
WORD = re.compile(r"[\w=,.:+/@-]+")

EXTLINUX = """\
default cupel
timeout 10
label cupel
	kernel /EFI/BOOT/BOOTAA64.EFI
	initrd /EFI/BOOT/guests-arm64.cpio
"""

GRUB = """\
serial --unit=0 --speed=115200
terminal_input console serial
terminal_output console serial
set timeout=3
menuentry "Cupel" {
	multiboot2 %s
	module2 /EFI/BOOT/guests-x86.cpio guests.cpio
}
"""

CONFIG_TXT = """\
arm_64bit=1
enable_uart=1
kernel=EFI/BOOT/BOOTAA64.EFI
initramfs EFI/BOOT/guests-arm64.cpio followkernel
"""

GRUB_DIR = "/usr/lib/grub/"
GRUB_MODULES = ("part_msdos", "part_gpt", "fat", "normal", "configfile", "multiboot2", "echo", "serial",
                "terminal", "test", "search")


def run(*argv, **more):
    result = subprocess.run(argv, text=True, errors="replace", check=False, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **ENV}, **more)
    if result.returncode:
        raise Failure("%s: %s" % (argv[0], result.stdout.strip() or "failed"))


def image_of(arch, name):
    return os.path.join(build.directory(arch), name)


def has_grub(form):
    """Debian has GRUB for PCs on PCs only: a disk that is made elsewhere goes without."""
    return os.path.isdir(GRUB_DIR + form)


def grub_image(form, out, *modules):
    """Looks for its configuration on the first partition of the disk that it was started from."""
    run("grub-mkimage", "-O", form, "-o", out, "-p", "(,msdos1)/boot/grub", *GRUB_MODULES, *modules)
    return out


def text(place, name, contents):
    path = os.path.join(place, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(contents)
    return path


def extlinux(line):
    """U-Boot takes no file in which `append` has nothing behind it."""
    return EXTLINUX + ("\tappend %s\n" % line if line else "")


def grub(line):
    return GRUB % " ".join(("/cupel/cupel.elf", line)).rstrip()


def contents(place, words, archives):
    """{path on the disk: file}."""
    line = " ".join(words)
    files = {
        "EFI/BOOT/BOOTAA64.EFI": image_of("arm64", "cupel.bin"),
        "EFI/BOOT/BOOTX64.EFI": image_of("x86", "cupel.efi"),
        "EFI/BOOT/guests-arm64.cpio": archives["arm64"],
        "EFI/BOOT/guests-x86.cpio": archives["x86"],
        "EFI/BOOT/cupel.cmdline": text(place, "cupel.cmdline", line + "\n"),
        "boot/grub/grub.cfg": text(place, "grub.cfg", grub(line)),
        "cupel/cupel.elf": image_of("x86", "cupel.elf"),
        "extlinux/extlinux.conf": text(place, "extlinux.conf", extlinux(line)),
        "config.txt": text(place, "config.txt", CONFIG_TXT),
        "cmdline.txt": text(place, "cmdline.txt", line + "\n"),
    }
    if has_grub("x86_64-efi"):
        files["EFI/grub/grubx64.efi"] = grub_image("x86_64-efi", place + "/grubx64.efi", "chain")
    return files


# --- The file ---------------------------------------------------------------------------------------
def partition_entry(sectors):
    """Active, by logical block (the geometry of old says nothing)."""
    return struct.pack("<B3sB3sII", 0x80, b"\xfe\xff\xff", FAT32_LBA, b"\xfe\xff\xff", START, sectors)


def embed_grub(disk, place):
    """GRUB for BIOS, as its own setup puts it there: boot.img in the first sector, core.img behind it. The
    list of blocks at the end of core.img's first sector (boot/i386/pc/boot.h) says where the rest is."""
    core_path = grub_image("i386-pc", place + "/core.img", "biosdisk")
    with open(GRUB_DIR + "i386-pc/boot.img", "rb") as file:
        boot = file.read(SECTOR)
    with open(core_path, "rb") as file:
        core = bytearray(file.read())
    core += bytes(-len(core) % SECTOR)
    sectors = len(core) // SECTOR
    if sectors >= START:
        raise Failure("GRUB does not fit before the partition")
    struct.pack_into("<QHH", core, SECTOR - 12, 2, sectors - 1, 0x820)
    disk.seek(0)
    disk.write(boot[:440])
    disk.seek(SECTOR)
    disk.write(core)


def make_disk(path, size, files, place):
    with open(path, "wb") as disk:
        disk.truncate(size << 20)
        if has_grub("i386-pc"):
            embed_grub(disk, place)
        disk.seek(440)
        disk.write(struct.pack("<IH", int(SERIAL, 16), 0))
        disk.write(partition_entry((size << 20) // SECTOR - START).ljust(64, b"\0") + b"\x55\xaa")
    # mtools take what is behind the first @@ for the offset, and one letter and a colon for a drive.
    directory, name = os.path.split(path)
    volume = ("-i", "%s@@%d" % (name, START * SECTOR))
    run("mformat", *volume, "-F", "-c", "1", "-N", SERIAL, "-v", "CUPEL", "-H", str(START),
        "-T", str((size << 20) // SECTOR - START), "-h", "255", "-s", "63", "::", cwd=directory)
    made = set()
    for target, source in sorted(files.items()):
        parts = target.split("/")[:-1]
        for n in range(len(parts)):
            above = "/".join(parts[:n + 1])
            if above not in made:
                run("mmd", *volume, "::/" + above, cwd=directory)
                made.add(above)
        run("mcopy", *volume, os.path.abspath(source), "::/" + target, cwd=directory)


def check_room(files, size):
    needed = sum(os.path.getsize(path) for path in files.values())
    if needed > (size - SPARE_MIB) << 20:
        raise Failure("%d MiB are to go onto a disk of %d: --size" % ((needed >> 20) + 1, size))


def values(words):
    return dict(word.partition("=")[::2] for word in words)


def check_words(words):
    """They are read on a machine that is far away."""
    given = values(words)
    known = experiments.words_of_the_image()
    if {"selftest", "torture"} & set(given):
        raise Usage("selftests and tortures are not in the images that go onto a disk")
    if "bench" in given:
        there = experiments.all_experiments()
        if given["bench"] not in there:
            raise Usage("there is no experiment '%s'; there are: %s" % (given["bench"], ", ".join(sorted(there))))
        known |= set(there[given["bench"]].keys)
    for key in given:
        if key not in known and not key.startswith(tuple(arch + "." for arch in ARCHES)):
            raise Usage("no word of the command line: '%s'" % key)


def check_archives(archives, vms):
    """Each is for its architecture, and one at least has the VMs that are asked for."""
    for arch, path in archives.items():
        archive.check(path, arch)
    wrong = []
    for arch, path in archives.items():
        try:
            archive.check(path, arch, vms)
        except Failure as error:
            wrong.append(error)
    if len(wrong) == len(archives):
        raise wrong[0]


def write(out, words, archives, size):
    check_archives(archives, values(words).get("vm", ""))
    with tempfile.TemporaryDirectory(prefix="cupel-disk-") as place, output.replaced(out) as unfinished:
        files = contents(place, words, archives)
        check_room(files, size)
        make_disk(unfinished, size, files, place)


# --- The command ------------------------------------------------------------------------------------
def parse(words):
    options = {"--arm64": None, "--x86": None, "--size": "64"}
    plain, rest = [], list(words)
    while rest:
        word = rest.pop(0)
        if word in options:
            if not rest:
                raise Usage("%s needs a value" % word)
            options[word] = rest.pop(0)
        elif word.startswith("--"):
            raise Usage("unknown option '%s'" % word)
        elif plain and not WORD.fullmatch(word):
            raise Usage("'%s': quotes, blanks and what GRUB would read as its own can't be on a disk" % word)
        else:
            plain.append(word)
    if not plain:
        raise Usage("disk into which file?")
    if not re.fullmatch(r"\d{1,6}", options["--size"]) or not MIN_SIZE <= int(options["--size"]) <= MAX_SIZE:
        raise Usage("--size is a number of MiB from %d to %d" % (MIN_SIZE, MAX_SIZE))
    return plain[0], plain[1:], options


def main(words):
    out, line, options = parse(words)
    check_words(line)
    output.check(out)
    build.setup()
    if not shutil.which("mformat"):
        raise Failure("mtools are not installed: ./cupel setup")
    for arch in ARCHES:
        build.image(arch)
    archives = {arch: options["--" + arch] or image_of(arch, "guests.cpio") for arch in ARCHES}
    for path in archives.values():
        if not os.path.isfile(path):
            raise Failure("%s is no file" % path)
    write(out, line, archives, int(options["--size"]))
    if not has_grub("i386-pc"):
        print("without GRUB, which is not here: a PC starts it by UEFI only")
    print("%s: %s MiB; command line: %s" % (out, options["--size"], " ".join(line) or "(none: the monitor)"))
