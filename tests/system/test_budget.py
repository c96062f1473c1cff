# SPDX-License-Identifier: GPL-2.0-only
"""What may not grow: the image, and the way from its first instruction to a guest's."""

import os
import re

from front import machine

IMAGE_LIMIT = 256 * 1024
BOOT_LIMIT = 10_000_000


def test_image_size(arch):
    path = machine.Machine(arch).image_path()
    assert os.path.getsize(path) < IMAGE_LIMIT


def test_boot_budget(boot, arch):
    """Under icount one instruction is one nanosecond: the image says how long it took."""
    booted = boot("vm=hello icount", arch, cpus=1, icount=True).well()
    match = re.search(r"first guest instruction after (\d+) ns", booted.text)
    booted.check(match, "the console does not say when the guest started")
    booted.check(int(match.group(1)) < BOOT_LIMIT, "%s instructions to the guest, limit %d"
                 % (match.group(1), BOOT_LIMIT))
