# SPDX-License-Identifier: GPL-2.0-only
"""What cupel.conf and the line may ask for: VMs that never end, and sections nobody can run."""

import pytest

from archives import archive

VM = "[vm %s]\nkernel = %s.elf\nmemory = 8M\nvcpus = 1\ncpus = %d\ncmdline = %s\n"
HELLO = VM % ("hello", "hello", 0, "")


def test_vm_that_never_ends_is_stopped(boot, arch, tmp_path):
    """It spins on another CPU and never leaves its guest: only a kick ends that."""
    conf = VM % ("endless", "fault", 1, "mode=spin ms=600000") + HELLO
    booted = boot("vm=endless,hello timeout=2", arch, cpus=2, timeout=60,
                  archive=archive(tmp_path, arch, conf, ("fault", "hello")))
    booted.check(booted.result.ended == "exit" and booted.result.code == 1,
                 "should have failed, and ended")
    booted.says("vm endless: stopped: no end after 2 seconds", "[hello]")


BAD = [
    ("no kernel", "[vm a]\nmemory = 8M\n", "kernel"),
    ("unknown key", HELLO + "colour = red\n", "line 7: unknown key"),
    ("no section", "kernel = hello.elf\n", "cupel.conf"),
    ("bad number", HELLO.replace("8M", "8Q"), "cupel.conf"),
    ("no vCPUs", HELLO.replace("vcpus = 1", "vcpus = 0"), "cupel.conf"),
    ("too large", HELLO.replace("8M", "64G"), "not started"),
    ("too small", HELLO.replace("8M", "1M"), "not started"),
    ("no such file", HELLO.replace("hello.elf", "other.elf"), "other.elf"),
    ("not a guest", HELLO.replace("hello.elf", "cupel.conf"), "hello"),
    ("no such CPU", HELLO.replace("cpus = 0", "cpus = 99"), "CPU that is not online"),
    ("binary", b"\xff\xfe\x00[vm", "cupel.conf"),
    ("empty", "", "cupel.conf"),
    ("missing", None, "cupel.conf"),
]


@pytest.mark.parametrize("conf,says", [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_bad_conf_is_a_clear_line(boot, tmp_path, conf, says):
    booted = boot("vm=hello", "arm64", cpus=2, timeout=30,
                  archive=archive(tmp_path, "arm64", conf, ("hello",)))
    code = 2 if conf == "" else 1  # without any VM, it is the word that names none
    booted.check(booted.result.ended == "exit" and booted.result.code == code, "should have failed, and ended")
    booted.says(says).never_says("panic")


UNREADABLE = [('vm="hello', "unclosed quote"), ("vm=hello " + "a " * 200, "too many words")]


@pytest.mark.parametrize("line,says", UNREADABLE, ids=("quote", "words"))
def test_a_line_that_cannot_be_read_runs_nothing(boot, arch, line, says):
    booted = boot(line, arch, cpus=1, timeout=30)
    booted.check(booted.result.ended == "exit" and booted.result.code == 2, "should have been refused")
    booted.says("command line: %s: nothing is run" % says)
    booted.check("KTAP" not in booted.text, "something was run")


def test_x86_has_no_more_vcpus_than_apic_ids(boot, tmp_path):
    conf = HELLO.replace("vcpus = 1", "vcpus = 256")
    booted = boot("vm=hello", "x86", cpus=1, timeout=30,
                  archive=archive(tmp_path, "x86", conf, ("hello",)))
    booted.check(booted.result.code == 1, "should have failed")
    booted.says("more vCPUs than 8-bit APIC ids")
