# SPDX-License-Identifier: GPL-2.0-only
"""./cupel archive: the same bytes from the same files, what it packs boots, and what could not boot is
refused before it is carried to a machine."""

import os
import shutil
import subprocess

import pytest

from front import ROOT, Failure, archive, machine

CONF = "[vm hello]\nkernel = hello.elf\nmemory = 8M\n"


def guest(arch, name="hello"):
    return os.path.join(machine.Machine(arch).directory(), "archive", name + ".elf")


def packed(tmp_path, conf, *files):
    (tmp_path / "cupel.conf").write_text(conf)
    out = str(tmp_path / "out.cpio")
    archive.make(out, archive.files_of([str(tmp_path / "cupel.conf"), *files]))
    return out


def test_of_this_tree(tmp_path, arch):
    """Byte for byte what the build packs."""
    out = str(tmp_path / "out.cpio")
    subprocess.run([ROOT + "/cupel", "archive", out, os.path.dirname(guest(arch))], check=True)
    with open(out, "rb") as ours, open(machine.Machine(arch).archive_path(), "rb") as built:
        assert ours.read() == built.read()


def test_times_and_modes_leave_no_trace(tmp_path, arch):
    first = open(packed(tmp_path, CONF, guest(arch)), "rb").read()
    copy = str(tmp_path / "hello.elf")
    shutil.copyfile(guest(arch), copy)
    os.chmod(copy, 0o400)
    os.utime(copy, (1, 1))
    assert open(packed(tmp_path, CONF, copy), "rb").read() == first


def test_boots(boot, arch, tmp_path):
    boot("vm=hello", arch, archive=packed(tmp_path, CONF, guest(arch))).well().all_ok()


@pytest.mark.parametrize("conf,says", [
    (CONF.replace("hello.elf", "other.elf"), "vm hello: no file other.elf"),
    (CONF + "colour = red\n", "line 4: unknown key"),
    (CONF.replace("hello.elf", "cut.elf"), "cut.elf: "),
    (CONF.replace("hello.elf", "empty"), "empty: "),
], ids=("no such guest", "unknown key", "a guest cut short", "an empty guest"))
def test_refused(tmp_path, conf, says):
    with open(guest("arm64"), "rb") as file:
        (tmp_path / "cut.elf").write_bytes(file.read()[:100])
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(Failure, match=says):
        packed(tmp_path, conf, guest("arm64"), str(tmp_path / "cut.elf"), str(tmp_path / "empty"))
    assert not [name for name in os.listdir(tmp_path) if name.startswith("out.cpio")]


def test_two_files_of_one_name(tmp_path):
    (tmp_path / "cupel.conf").write_text(CONF)
    with pytest.raises(Failure, match="two files are called hello.elf"):
        archive.files_of([str(tmp_path), guest("arm64"), guest("x86")])


def test_no_conf():
    with pytest.raises(Failure, match="no cupel.conf"):
        archive.files_of([guest("arm64")])
