# SPDX-License-Identifier: GPL-2.0-only
"""./cupel archive: guests and their cupel.conf as the one file that an image takes beside itself."""

import os
import shutil
import subprocess
import tempfile

from . import ARCHES, ROOT, Failure, Usage, build, output

HELP = """\
./cupel archive OUT FILE|DIRECTORY …
./cupel archive OUT arm64|x86

Pack guests and cupel.conf into OUT: a cpio (newc) archive whose bytes depend on the files' names and
contents only. A directory stands for the files in it; an architecture for the test guests of this tree.
The archive is then read as the image will read it, and what is wrong with it is said here."""

CONF = "cupel.conf"
CPIO = ("cpio", "-o", "-0", "-H", "newc", "-R", "0:0", "--reproducible", "--quiet")


def files_in(directory):
    """Their paths. There are no directories in an archive, and what is left out is told of."""
    try:
        paths = [os.path.join(directory, name) for name in sorted(os.listdir(directory))]
    except OSError as error:
        raise Failure("%s: %s" % (directory, error.strerror)) from error
    for path in paths:
        if not os.path.isfile(path):
            print("%s is left out: %s" % (path, "a directory" if os.path.isdir(path) else "no file"))
    return [path for path in paths if os.path.isfile(path)]


def files_of(words):
    """{name in the archive: path}."""
    found = {}
    for word in words:
        for path in files_in(word) if os.path.isdir(word) else [word]:
            name = os.path.basename(path)
            if name in found and not os.path.samefile(found[name], path):
                raise Failure("two files are called %s: %s and %s" % (name, found[name], path))
            if not os.path.isfile(path) or not os.access(path, os.R_OK):
                raise Failure("%s is no file that can be read" % path)
            found[name] = path
    if CONF not in found:
        raise Failure("no %s among the files: it says which VMs there are" % CONF)
    return found


def pack(out, files):
    """Times and modes are set, so that the archive depends on nothing but its files."""
    with tempfile.TemporaryDirectory(prefix="cupel-archive-") as place:
        for name, path in files.items():
            copy = shutil.copyfile(path, os.path.join(place, name))
            os.chmod(copy, 0o644)
            os.utime(copy, (0, 0))
        names = b"".join(os.fsencode(name) + b"\0" for name in sorted(files))
        with open(out, "wb") as file:
            packed = subprocess.run(CPIO, cwd=place, input=names, check=False, stdout=file, stderr=subprocess.PIPE)
    if packed.returncode:
        raise Failure("cpio: %s" % packed.stderr.decode("utf-8", "replace").strip())


def check(path, *of):
    """What core/ says of it, on a machine of that architecture that is to run those VMs, if they are given;
    the number of VMs in words."""
    build.make("archive-check", "SAN=release")
    result = subprocess.run([os.path.join(ROOT, "build/host-release/archive-check"), path, *of], text=True,
                            errors="replace", check=False, stdout=subprocess.PIPE)
    said = result.stdout.strip()
    if result.returncode:
        raise Failure("%s: %s" % (path, said or "the check of it failed"))
    return said


def make(out, files):
    """Pack, check; a bad archive does not stay."""
    with output.replaced(out) as unchecked:
        pack(unchecked, files)
        return check(unchecked)


def main(words):
    if not words:
        raise Usage("archive to which file?")
    if len(words) < 2:
        raise Usage("which files are to go into %s?" % words[0])
    out, *inputs = words
    output.check(out)
    build.setup()
    if inputs[0] in ARCHES and len(inputs) == 1:
        build.image(inputs[0])
        inputs = [os.path.join(build.directory(inputs[0]), "archive")]
    files = files_of(inputs)
    said = make(out, files)
    print("%s: %d files, %s, %d KiB" % (out, len(files), said, os.path.getsize(out) // 1024))
