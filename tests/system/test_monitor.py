# SPDX-License-Identifier: GPL-2.0-only
"""The monitor, as somebody at a terminal meets it: QEMU's console is a pseudo terminal, keys go in as they
would come from one, and every run comes back to the prompt."""

import os
import pty
import re
import select
import subprocess
import time

import pytest

from archives import archive
from front import boards, console, machine, tied

PROMPT = "cupel> "
UP, LEFT, DELETE = "\033[A", "\033[D", "\033[3~"


class Terminal:
    """A machine and its console. What is typed is given to it a piece at a time."""

    def __init__(self, what, stdin=None):
        self.machine = what
        self.text = ""
        self.read = 0  # what of the text has been asked for
        self.ours, theirs = pty.openpty()
        self.child = subprocess.Popen(tied(what.argv()),
                                      stdin=theirs if stdin is None else stdin, stdout=theirs,
                                      stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(theirs)

    def close(self):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()
        os.close(self.ours)

    def more(self, seconds):
        """Reads what has come; False at the end."""
        if not select.select([self.ours], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.ours, 65536)
        except OSError:  # its other end is closed
            return False
        self.text += data.decode("utf-8", "replace")
        return bool(data)

    def wait(self, what, timeout=60):
        """The text up to `what`, beginning where the last answer ended."""
        end = time.monotonic() + timeout
        while what not in self.text[self.read:]:
            alive = time.monotonic() < end and self.more(1)
            if not alive and what not in self.text[self.read:]:
                pytest.fail("no %r from %s; the end of the console:\n%s"
                            % (what, self.machine.name(), console.tail(self.text)), pytrace=False)
        found = self.text.index(what, self.read) + len(what)
        answer = self.text[self.read:found]
        self.read = found
        return answer.replace("\r", "")

    def type(self, *pieces):
        for piece in pieces:
            data = piece if isinstance(piece, bytes) else piece.encode()
            while data:
                data = data[os.write(self.ours, data):]
            if len(pieces) > 1:
                time.sleep(0.05)

    def do(self, line, timeout=60):
        """Type a line at the prompt; what it says until the next one."""
        self.type(line + "\r")
        self.wait("\n", timeout)
        return self.wait(PROMPT, timeout)[:-len(PROMPT)]

    def ended(self, timeout=30):
        """The image's exit code, and all that it said."""
        end = time.monotonic() + timeout
        while self.more(0.2) and time.monotonic() < end and self.child.poll() is None:
            pass
        while self.more(0.2) and select.select([self.ours], [], [], 0)[0]:
            pass
        return self.machine.exit_code(self.child.wait(timeout))


@pytest.fixture
def terminal():
    started = []

    def start(arch, append="", stdin=None, what=None, **fields):
        fields.setdefault("cpus", 2)
        started.append(Terminal(what or machine.Machine(arch=arch, append=append, **fields), stdin))
        return started[-1]

    yield start
    for one in started:
        one.close()


def has(text, *parts):
    for part in parts:
        assert part in text, "%r is not in:\n%s" % (part, text)


# --- Commands -------------------------------------------------------------------------------------

def test_commands(terminal, arch):
    t = terminal(arch)
    has(t.wait(PROMPT), "2 of 2 CPUs online", "help")
    has(t.do("help"), *("  %s " % c for c in ("list", "run", "vm", "machine", "memory", "counters",
                                              "regs", "reboot", "poweroff")))
    has(t.do("list"), "vcpu-load - ", "reader - ", "VMs: hello smp ")
    has(t.do("list reader"), "reader - ", "rounds - ")
    has(t.do("list nosuch"), "nosuch: no experiment of that name", "vcpu-load - ", "VMs: hello smp ")
    assert console.build_id(t.do("mach"))
    has(t.do("machine"), "CPU 0-1: hardware id 0x0-0x1, online", " Hz by ")
    has(t.do("memory"), "archive", "image", "pages free")
    has(t.do("counters"), "CPU 1: ", "SRCU: waits ")
    has(t.do("regs"), "no VM has run")
    has(t.do("nonsense"), "no such command")
    has(t.do("re"), "no such command")
    assert t.do("") == "" and t.do("   ") == ""
    t.type("poweroff\r")
    assert t.ended() == 0


def test_vms_and_what_they_leave(terminal, arch):
    t = terminal(arch)
    t.wait(PROMPT)
    assert t.do("counters on") == ""
    said = t.do("vm hello+smp,hello timeout=30")
    has(said, "[hello]", "ended with code 0")
    document, = console.ktap(said)
    assert document.complete() and not document.failed() and len(document.tests) >= 5
    said = t.do("regs")
    has(said, "vm hello: exit 0", "vCPU 0: loads ", "  exits ", {"arm64": "ELR", "x86": "RIP"}[arch])
    assert said == t.do("regs 0")
    has(t.do("regs 1"), "vCPUs are 0 to 0")
    has(t.do("counters"), "core/sched.c:", ": acquired ", "vm hello: exit 0", "  exits ")
    t.do("counters off")
    t.do("counters clear")
    assert ": acquired" not in t.do("counters")
    has(t.do("counters up"), "up: on, off or clear")
    has(t.do("vm=hello"), "[hello]", "ended with code 0")
    has(t.do("vm no-such"), "no VM 'no-such'", "ended with code 2")
    has(t.do("regs"), "no VM has run")
    t.type("poweroff\r")
    assert t.ended() == 2


def test_reboot(terminal, arch):
    t = terminal(arch)
    t.wait(PROMPT)
    t.type("reboot\r")
    assert t.ended() == 0  # the emulator is told not to come back


# --- Experiments ----------------------------------------------------------------------------------

def essence(record):
    return [record[key] for key in ("bench", "arch", "machine", "build", "variant", "sweep", "unit", "n", "min",
                                    "p50")] + [sorted(record["counters"]), sorted(record)]


def test_rows_are_those_of_the_command_line(terminal, arch):
    """By the instruction: the same experiment says the same, twice from the prompt and once from boot."""
    what = machine.Machine(arch=arch, icount=True).for_bench()
    boot = machine.boot(what.with_words("bench=exits", "samples=50"), 200).records()
    t = terminal(arch, what.append, cpus=1, icount=True)
    t.wait(PROMPT)
    for _ in range(2):
        said = t.do("run exits samples=50", 200)
        has(said, "ended with code 0")
        assert len(boot) > 5
        assert [essence(r) for r in console.records(said)] == [essence(r) for r in boot]


def free_pages(t):
    return int(re.search(r"(\d+) of \d+ pages free", t.do("memory")).group(1))


def test_a_run_leaves_no_trace(terminal, arch):
    """What an experiment keeps for its next run, it keeps once; and what it prints of a run is of that run."""
    t = terminal(arch)
    t.wait(PROMPT)
    runs = ("run locks rounds=2", "run invalidate rounds=2 readers=1", "run vcpu-load rounds=2 vcpus=1", "run boot")
    once = [len(console.records(t.do(run, 200))) for run in runs]
    free = free_pages(t)
    assert [len(console.records(t.do(run, 200))) for run in runs] == once
    assert free_pages(t) == free


WRONG = [
    ("run nothing", 2, "no experiment of that name"),
    ("run", None, "run what? There are:"),
    ("run exits colour=red", 2, "bench exits: no such key: colour"),
    ("run exits samples=0", 2, "samples=0: expected a number"),
    ("run exits ops=timer-late,typo samples=9", 2, "no such op: typo; there are: "),
    ('run exits "samples', None, "unclosed quote: nothing is run"),
    ("run exits " + "a " * 70, None, "too many words: nothing is run"),
    ("run exits nr_cpus=1", 2, "nr_cpus: is read at boot only"),
    ("vm hello colour=red", 0, "unknown word on the command line: colour; a VM's own are in cupel.conf"),
    ("selftest=x", 2, "in the test image only"),
]


def test_wrong_words_are_a_line_each(terminal, arch):
    t = terminal(arch, "odd=1")
    has(t.wait(PROMPT), "unknown word on the command line: odd")
    for line, code, says in WRONG:
        said = t.do(line)
        has(said, says)
        assert code is None or "ended with code %d\n" % code in said, said
    said = t.do("run reader rounds=2")  # what boot did not know is not held against it
    has(said, "ended with code 0")
    assert "odd" not in said


# --- Keys -----------------------------------------------------------------------------------------

def test_keys(terminal, arch):
    """Sequences in pieces, every way to end a line, noise, and lines too long to run."""
    t = terminal(arch)
    t.wait(PROMPT)
    t.type("lst redr", "\033", "[", "D" + LEFT, "a\001", "\033[C", "\006" + LEFT, "i", "\005", "x" + LEFT, DELETE, "\r")
    has(t.wait(PROMPT), "reader - ")
    for piece in (UP + "\r\n", UP + "\n", b"\xff\x80\x00" + UP.encode() + b"\r"):
        t.type(piece)
        has(t.wait(PROMPT), "reader - ")
    t.type("machine" + "\b" * 20 + "wrong\027" + "lisx\bt exits\001\005\013\n")
    has(t.wait(PROMPT), "exits - ")
    t.type("x" * 200)
    t.wait("x" * 200)
    t.type("x" * 100 + "\r")
    has(t.wait(PROMPT), "nothing is run")
    t.type("x" * 200 + "\025list exits\r")
    has(t.wait(PROMPT), "exits - ")
    t.type("list \xff exits\r".encode("latin1"))
    has(t.wait(PROMPT), "nothing is run")
    t.type("poweroff\003")
    has(t.wait(PROMPT), "^C")
    t.type("poweroff\r")
    assert t.ended() == 0


def test_typed_ahead(terminal, arch):
    """Much at once, most of it while something else is printed."""
    t = terminal(arch)
    t.wait(PROMPT)
    t.type("help\r" * 10 + "vm hello\r" + "list reader\r" * 10 + "poweroff\r")
    assert t.ended(60) == 0
    assert t.text.count("list [EXPERIMENT]") == 10 and t.text.count("reader - what") == 10
    assert t.text.count("[hello]") == 1


@pytest.mark.parametrize("board", boards.BOARDS)
def test_every_uart(terminal, board):
    """Of the boards that QEMU models: keys come in, and lines come out whole."""
    t = terminal(None, what=machine.Machine.of_board(board))
    t.wait(PROMPT)
    t.type("lisx\bt" + LEFT + LEFT + "\005 exits\r")
    has(t.wait(PROMPT), "exits - ", "samples - ")
    has(t.do("machine"), "online")
    t.type("poweroff\r")
    assert t.ended() == 0


@pytest.mark.parametrize("script, code", [("machine\nvm hello", 0), ("vm hello\nrun nothing\n", 1)])
def test_input_that_is_no_terminal(arch, script, code):
    """A line at each prompt, the first one whole; its end is the machine's."""
    result = subprocess.run(["./cupel", "monitor", arch, "--cpus", "1"], input=script, text=True, timeout=120,
                            check=False, stdout=subprocess.PIPE, cwd=os.path.join(os.path.dirname(__file__), "../.."))
    assert result.returncode == code
    has(result.stdout, PROMPT + script.split("\n", maxsplit=1)[0], "[hello]", PROMPT + "poweroff")


# --- Ctrl-C ---------------------------------------------------------------------------------------

ENDLESS = "[vm endless]\nkernel = fault.elf\nmemory = 8M\nvcpus = 2\ncmdline = mode=spin ms=600000\n" \
          "[vm hello]\nkernel = hello.elf\nmemory = 8M\n"


def test_interrupt(terminal, arch, tmp_path):
    t = terminal(arch, archive=archive(tmp_path, arch, ENDLESS, ("fault", "hello")))
    t.wait(PROMPT)
    t.type("vm endless,hello timeout=500\r")
    t.wait("KTAP version 1")
    time.sleep(0.5)
    t.type("\003")
    said = t.wait(PROMPT)
    has(said, "# interrupted at the console", "not ok 1 endless: end", "ended with code 1")
    assert "[hello]" not in said
    has(t.do("regs 0"), "vm endless: interrupted at the console")
    for delay in (0, 0.01, 0.05):  # whenever it comes, however often
        t.type("vm endless timeout=500\r")
        time.sleep(delay)
        end = time.monotonic() + 30
        while PROMPT not in t.text[t.read:]:
            t.type("\003")
            assert t.more(0.3) and time.monotonic() < end
        t.type("\003list exits\r")
        t.wait("exits - ")
        t.wait(PROMPT)
    has(t.do("vm hello"), "[hello]", "ended with code 0")
    t.type("run reader rounds=200\r")
    t.wait("row 1/")
    t.type("\003")
    has(t.wait("ended with code 1"), "interrupted")
    t.wait(PROMPT)
    has(t.do("vm hello"), "[hello]", "ended with code 0")


def interrupted_run(t, name):
    """Free pages after it."""
    t.type("run %s rounds=200\r" % name)
    t.wait("row 1/")
    t.type("\003")
    has(t.wait(PROMPT), "interrupted\n", "ended with code 1\n")
    return free_pages(t)


def test_an_interrupted_experiment_leaves_no_trace(terminal, arch):
    """It gives back what it had, and every CPU still does what it is told."""
    t = terminal(arch)
    t.wait(PROMPT)
    for name in ("vcpu-load", "evtchn", "invalidate", "locks", "reader"):
        interrupted_run(t, name)
        assert interrupted_run(t, name) == interrupted_run(t, name)
    has(t.do("vm smp"), "ok 4 ", "ended with code 0")


# --- Nobody there ---------------------------------------------------------------------------------

def cpu_seconds(pid):
    with open("/proc/%d/stat" % pid, encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_waiting_is_not_hot(terminal, arch):
    """With nobody at the console, every CPU of the machine sleeps nearly always."""
    t = terminal(arch, stdin=subprocess.DEVNULL)
    t.wait(PROMPT)
    time.sleep(1)
    before = cpu_seconds(t.child.pid)
    time.sleep(4)
    assert cpu_seconds(t.child.pid) - before < 1.0
