# SPDX-License-Identifier: GPL-2.0-only
"""The self-tests inside the image, on every kind of machine that is to be had."""

import pytest

ARM64 = [dict(cpu=cpu, gic=gic, cpus=cpus)
         for cpu in ("max", "cortex-a57", "neoverse-n1") for gic, cpus in (("3", 4), ("2", 4))]
X86 = [dict(machine=board, cpu=cpu, boot=entry, cpus=4)
       for board, cpu, entry in (("q35", "max", "multiboot"), ("q35", "max", "pvh"),
                                 ("pc", "max", "multiboot"), ("q35", "EPYC", "multiboot"),
                                 ("pc", "EPYC", "pvh"))]


def label(fields):
    return "-".join(str(v) for v in fields.values())


@pytest.mark.parametrize("fields", ARM64, ids=label)
def test_arm64(boot, fields):
    boot("selftest", "arm64", **fields).well().all_ok(at_least=10)


def test_arm64_nvhe_when_asked(boot):
    boot("selftest arm64.mode=nvhe", "arm64", cpus=2).well().all_ok(at_least=10)


@pytest.mark.parametrize("fields", X86, ids=label)
def test_x86(boot, fields):
    boot("selftest", "x86", **fields).well().all_ok(at_least=10)


def test_debug_build(boot, arch):
    boot("selftest", arch, cpus=4, build="debug").well().all_ok(at_least=10)


def cpus_up(booted, count):
    booted.well().says("%d of %d CPUs online" % (count, count))
    booted.all_ok(at_least=10)


def test_64_cpus(boot, arch):
    cpus_up(boot("selftest", arch, cpus=64, timeout=180), 64)


@pytest.mark.slow
def test_512_cpus_arm64(boot):
    cpus_up(boot("selftest", "arm64", cpus=512, memory=4096, timeout=600), 512)


@pytest.mark.slow
def test_288_cpus_x86(boot):
    cpus_up(boot("selftest", "x86", cpus=288, memory=4096, timeout=600), 288)
