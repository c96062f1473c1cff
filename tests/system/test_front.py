# SPDX-License-Identifier: GPL-2.0-only
"""The front door: wrong words, exit codes, and nothing left behind."""

import os
import signal
import subprocess
import time

import pytest

from front import ROOT, bench, machine, tied

CUPEL = os.path.join(ROOT, "cupel")


def cupel(*words, timeout=60, **more):
    return subprocess.run([CUPEL, *words], text=True, timeout=timeout, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


@pytest.mark.parametrize("words", [
    ("fly",), ("run", "sparc"), ("run", "arm64", "x86"), ("run", "--fast"), ("run", "--gdb-batch"),
    ("run", "--cpus", "4"), ("run", "--board"),
    ("run", "--gdb-batch", "no-such-file"), ("bench",),
    ("bench", "no-such"), ("bench", "vcpu-load", "no-such=1"), ("bench", "vcpu-load", "vcpus"),
    ("bench", "vcpu-load", "--cpus"), ("bench", "vcpu-load", "--cpus", "many"),
    ("bench", "vcpu-load", "--fly"), ("bench", "vcpu-load", "x86", "--gic", "2"),
    ("bench", "vcpu-load", "--gic", "4"), ("bench", "vcpu-load", "--machine", "pc"),
    ("bench", "vcpu-load", "--build", "quick"), ("check", "fast"), ("check", "--only"),
    ("check", "--only", "no-such"), ("check", "--fast", "--slow"), ("mutants", "no-such"),
    ("mutants", "--fly"), ("symbolize", "a", "b"), ("setup", "now"), ("archive",), ("archive", "out.cpio"),
    ("monitor", "sparc"), ("monitor", "x86", "rounds=1"), ("monitor", "--host"), ("monitor", "--timeout", "5"),
    ("check", "--fresh", "--debian", "sid"), ("check", "--fresh", "--in"),
    ("disk",), ("disk", "out.img", "a b"), ("disk", "out.img", "--size"), ("disk", "out.img", "--size", "many"),
    ("bench", "boot", "x86", "--firmware", "u-boot"),
], ids=" ".join)
def test_wrong_word(words):
    """One clear line, and exit 2."""
    result = cupel(*words)
    assert result.returncode == 2, result.stderr
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1, result.stderr


@pytest.mark.parametrize("words", [("help",), (), ("--help",)] + [
    (name, "--help") for name in ("run", "bench", "monitor", "check", "mutants", "symbolize", "setup", "report",
                                  "archive", "disk")
], ids=lambda words: " ".join(words) or "nothing")
def test_help(words):
    result = cupel(*words)
    assert result.returncode == 0, result.stderr
    assert len(result.stdout.splitlines()) > 2


def row(irqstate, acquired):
    return '@@{"bench":"vcpu-load","machine":{"cpus":1},"variant":{"irqstate":"%s"},' \
           '"counters":{"lock_acquired":%d}}@@' % (irqstate, acquired)


@pytest.mark.parametrize("state,acquired,says", [("percpu", 0, False), ("percpu", 9, True), ("locked", 9, False)])
def test_a_chip_that_does_not_allow_it_is_told_of(capsys, state, acquired, says):
    printer = bench.Printer(None)
    printer.line(row(state, acquired))
    printer.line(row("locked", 9))
    printer.close()
    assert ("does not allow it" in capsys.readouterr().out) == says
    assert printer.cpus == 1 and printer.rows == 2


def test_a_machine_is_called_by_the_cpus_it_gets():
    assert machine.Machine.of_board("npcm845-evb").name() == "npcm845-evb x1"
    assert "4" in machine.Machine.of_board("npcm845-evb").argv()


def test_run_says_where_the_options_are():
    assert "bench vcpu-load" in cupel("run", "--cpus", "4").stderr


def test_help_is_of_the_front_door():
    assert "./cupel models" in cupel("models", "--help").stdout
    assert "--host" not in cupel("monitor", "--help").stdout


def test_help_lists_every_experiment():
    text = cupel("bench", "--help").stdout
    for name in ("vcpu-load: ", "exits: "):
        assert name in text, text


def test_setup_is_quick_when_nothing_is_missing():
    started = time.monotonic()
    result = cupel("setup")
    assert result.returncode == 0, result.stderr
    assert "nothing is missing" in result.stdout
    assert time.monotonic() - started < 1.5


def emulators_of(group):
    """Processes whose parent was in the given session: ours, and nobody else's."""
    listing = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], text=True, check=True,
                             stdout=subprocess.PIPE).stdout
    rows = [line.split(None, 2) for line in listing.splitlines()]
    wanted, changed = {str(group)}, True
    while changed:
        more = {pid for pid, parent, _ in rows if parent in wanted} - wanted
        wanted |= more
        changed = bool(more)
    return [(int(pid), args) for pid, _, args in rows if pid in wanted 
            and "qemu-system" in args and " -kernel " in args]


def wait_for(condition, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.1)
    return None


def alive(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("how", (signal.SIGINT, signal.SIGTERM, signal.SIGKILL),
                         ids=lambda s: s.name)
def test_interrupt_leaves_no_emulator(how):
    child = subprocess.Popen([CUPEL, "bench", "vcpu-load", "--gdb-wait"], start_new_session=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    try:
        found = wait_for(lambda: emulators_of(child.pid), 60)
        assert found, "no emulator was started"
        os.killpg(child.pid, how)
        child.wait(10)
        gone = wait_for(lambda: not any(alive(pid) for pid, _ in found), 5)
        assert gone, "still there: %r" % found
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def test_what_is_tied_to_nobody_never_begins(tmp_path):
    """Whoever was killed before the kernel knew whose end to wait for: here, because it is another's child."""
    (ours, others) = (str(tmp_path / name) for name in ("ours", "others"))
    assert not subprocess.run(tied(["touch", ours]), check=False).returncode and os.path.exists(ours)
    status = subprocess.run(["sh", "-c", '"$@"; exit $?', "sh", *tied(["touch", others])], check=False).returncode
    assert status and not os.path.exists(others)


def test_exit_codes_are_told_apart():
    arm64, x86 = machine.Machine("arm64"), machine.Machine("x86")
    assert [arm64.exit_code(n) for n in (0, 1, 3)] == [0, 1, 3]
    assert [x86.exit_code(n) for n in (1, 3, 7)] == [0, 1, 3]


def test_missing_image_is_one_clear_line(tmp_path):
    with pytest.raises(Exception, match="make ARCH=x86"):
        machine.boot(machine.Machine("x86", image=str(tmp_path / "none")))


def test_fresh_needs_root(tmp_path):
    """Without it nothing is begun, and the line says so."""
    argv = [CUPEL, "check", "--fresh", "--in", str(tmp_path / "debian")]
    if not os.geteuid():
        argv = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--", *argv]
    result = subprocess.run(argv, text=True, check=False, timeout=60, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert result.returncode == 1 and "needs root" in result.stderr, result.stderr
    assert not os.listdir(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="root only")
def test_fresh_touches_nothing_that_is_there(tmp_path):
    (tmp_path / "file").write_text("mine")
    result = cupel("check", "--fresh", "--in", str(tmp_path))
    assert result.returncode == 1 and "is there already" in result.stderr, result.stderr
    assert os.listdir(tmp_path) == ["file"]
