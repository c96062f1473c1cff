# SPDX-License-Identifier: GPL-2.0-only
"""A CPU that takes long over its first instructions, as on a host that has put its thread aside."""

import inject
from front import machine

HESITATION = 1.0  # seconds; far beyond the 50 ms after which a CPU is asked once more


def test_slow_x86_cpu_is_not_reset():
    """It has taken the mailbox and is not online yet: another INIT would come when it is counted as
    online, and send it back to where it began. So the first CPU is held just before it sends one."""
    def hesitate(cpu):
        at = inject.symbols("x86")
        cpu.run_to(at["x86_ap_start"])
        cpu.run_only("1", HESITATION, until=at["lapic_send"])
        cpu.run_only("2", HESITATION)

    what = machine.Machine("x86", cpus=2, append="vm=smp")
    booted = inject.boot("slow CPU", what, hesitate).well()
    booted.says("2 of 2 CPUs online")
    booted.all_ok()
