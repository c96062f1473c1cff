# SPDX-License-Identifier: GPL-2.0-only
"""./cupel archive: the same bytes from the same files, what it packs boots, and what could not boot is
refused before it is carried to a machine."""

import os
import shutil
import subprocess

import pytest

from front import ROOT, Failure, archive, machine, output

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
    (CONF.replace("hello.elf", "cupel.conf"), "cupel.conf: a text, no guest"),
    ("# nothing\n", "cupel.conf: no VM in it"),
], ids=("no such guest", "unknown key", "a guest cut short", "an empty guest", "a text", "no VM"))
def test_refused(tmp_path, conf, says):
    with open(guest("arm64"), "rb") as file:
        (tmp_path / "cut.elf").write_bytes(file.read()[:100])
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(Failure, match=says):
        packed(tmp_path, conf, guest("arm64"), str(tmp_path / "cut.elf"), str(tmp_path / "empty"))
    assert not [name for name in os.listdir(tmp_path) if name.startswith("out.cpio")]


def test_for_a_machine(tmp_path):
    """It is of one architecture, and has the VMs that are asked for."""
    out = packed(tmp_path, CONF, guest("arm64"))
    assert archive.check(out, "arm64", "hello,hello+hello") == "1 VMs"
    with pytest.raises(Failure, match="hello.elf: a guest for another architecture"):
        archive.check(out, "x86")
    with pytest.raises(Failure, match="no vm other"):
        archive.check(out, "arm64", "hello+other")


def test_two_files_of_one_name(tmp_path):
    (tmp_path / "cupel.conf").write_text(CONF)
    with pytest.raises(Failure, match="two files are called hello.elf"):
        archive.files_of([str(tmp_path), guest("arm64"), guest("x86")])


def test_no_conf():
    with pytest.raises(Failure, match="no cupel.conf"):
        archive.files_of([guest("arm64")])


def test_names_are_bytes(tmp_path):
    """Whatever is a name on this machine is one in the archive."""
    for name in (b"cupel.conf", b"a\nb", b"\xff \xe9", b"-d"):
        with open(os.path.join(os.fsencode(tmp_path), name), "wb") as file:
            file.write(b"contents")
    out = str(tmp_path / "out.cpio")
    archive.pack(out, archive.files_of([str(tmp_path)]))
    with open(out, "rb") as file:
        data = file.read()
    assert all(name + b"\0" in data for name in (b"a\nb", b"\xff \xe9", b"-d"))


def test_what_is_left_out_is_told_of(tmp_path, capsys):
    (tmp_path / "cupel.conf").write_text(CONF)
    (tmp_path / "more").mkdir()
    (tmp_path / "gone.elf").symlink_to("nowhere")
    assert list(archive.files_of([str(tmp_path)])) == ["cupel.conf"]
    assert capsys.readouterr().out == "%s/gone.elf is left out: no file\n%s/more is left out: a directory\n" % (
        (str(tmp_path),) * 2)


# --- What is written, and where: the same for ./cupel disk -----------------------------------------
@pytest.mark.parametrize("command", (("archive", "%s", "arm64"), ("disk", "%s")), ids=lambda words: words[0])
@pytest.mark.parametrize("kind", ("fifo", "directory"))
def test_only_a_file_is_written(tmp_path, kind, command):
    """A device is no place for it, nor is what a link to one names."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "directory").mkdir()
    (tmp_path / "link").symlink_to(kind)
    for name in (kind, "link"):
        result = subprocess.run([ROOT + "/cupel", *(word.replace("%s", str(tmp_path / name)) for word in command)],
                                text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert result.returncode == 1 and "is no file: " in result.stderr, result.stderr
        assert len(result.stderr.splitlines()) == 1, result.stderr
    assert (tmp_path / "fifo").is_fifo() and (tmp_path / "directory").is_dir() and (tmp_path / "link").is_symlink()


def test_a_link_stays_and_so_does_what_is_not_ours(tmp_path):
    for name in ("out.unfinished", "out.unchecked"):
        (tmp_path / name).write_text("mine")
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").write_text("old")
    (tmp_path / "there" / "file").chmod(0o640)
    (tmp_path / "out").symlink_to("there/file")
    before = sorted(os.listdir(tmp_path))
    with output.replaced(str(tmp_path / "out")) as path, open(path, "w", encoding="utf-8") as file:
        file.write("new")
    assert (tmp_path / "there" / "file").read_text() == "new"
    assert (tmp_path / "there" / "file").stat().st_mode & 0o777 == 0o640
    with pytest.raises(Failure, match="out: no room"), output.replaced(str(tmp_path / "out")) as path:
        raise Failure(path + ": no room")
    assert (tmp_path / "out").read_text() == "new" and (tmp_path / "out").is_symlink()
    assert sorted(os.listdir(tmp_path)) == before and os.listdir(tmp_path / "there") == ["file"]


def test_a_new_file_is_as_the_umask_says(tmp_path):
    before = os.umask(0o026)
    try:
        with output.replaced(str(tmp_path / "out")):
            pass
    finally:
        os.umask(before)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o640
