# SPDX-License-Identifier: GPL-2.0-only
"""Every torture for a few seconds in the image: nothing went wrong, and all that it is there for happened."""

import pytest

from front import torture

SECONDS = 8


@pytest.mark.parametrize("name", torture.names())
def test_it_raced_and_nothing_broke(boot, arch, name):
    booted = boot("torture=%s seconds=%d" % (name, SECONDS), arch, timeout=SECONDS + torture.PATIENCE,
                  cpus=4)
    booted.all_ok(at_least=5)
    booted.well()
