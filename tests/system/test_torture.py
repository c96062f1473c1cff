# SPDX-License-Identifier: GPL-2.0-only
"""Every torture for a few seconds in the image and on the host: nothing went wrong, and all that it is
there for happened. How long they should run to be worth something is another matter."""

import os
import subprocess

import pytest

from front import ROOT, torture

SECONDS = 8


def run(boot, arch, name, **fields):
    booted = boot("torture=%s seconds=%d" % (name, SECONDS), arch, timeout=SECONDS + torture.PATIENCE,
                  **fields)
    booted.all_ok(at_least=5)
    return booted.well()


@pytest.mark.parametrize("name", torture.names())
def test_it_raced_and_nothing_broke(boot, arch, name):
    run(boot, arch, name, cpus=4)


@pytest.mark.parametrize("name", torture.names())
def test_on_the_host(name):
    done = subprocess.run([os.path.join(ROOT, "cupel"), "torture", name, "--host", "--seconds", "4"],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=2 * torture.PATIENCE)
    assert done.returncode == 0, done.stdout[-4000:]
    assert "\nok 1 %s: " % name in done.stdout


def test_srcu_on_one_cpu(boot, arch):
    run(boot, arch, "srcu", cpus=1).never_says("handed_over happened")


def test_srcu_in_a_debug_build(boot, arch):
    run(boot, arch, "srcu", cpus=4, build="debug")


def test_a_name_that_there_is_not(boot, arch):
    booted = boot("torture=nothing", arch)
    booted.check(booted.result.code == 2, "the exit code is %s" % booted.result.code)
    booted.says("torture=nothing: no torture of that name; there are:", "  srcu - ", "  gpc - ")
