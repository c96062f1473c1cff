# SPDX-License-Identifier: GPL-2.0-only
"""./cupel bench and ./cupel run: one experiment on one machine, its output as it comes."""

import json
import os
import re
import sys
import time

from . import ARCHES, Failure, Usage, boards, build, debugger, experiments, host, machine

KEY_VALUE = re.compile(r"^([a-z][\w.-]*)=(\S*)$")
# What the image ends with when a word of its command line is wrong (core/core.h).
IMAGE_REFUSED = 2
GICS = ("2", "3")
MACHINES = {"arm64": ("virt",), "x86": ("q35", "pc")}

# What `./cupel run` boots: the table of the project's README, in under two minutes on two cores. No
# more CPUs than the host has: a ticket lock goes to whoever is next, and a waiter whose thread the host
# has put aside keeps all others waiting, which says nothing about the lock.
RUN_CPUS = max(2, min(8, os.cpu_count() or 2))
RUN_WORDS = ("rounds=20",)
RUN_TIMEOUT = 300

# Options of whatever boots or runs: those of a machine that the host program is not are refused there.
OPTIONS = ("  --json FILE      append each row as one JSON object a line ('-': standard output)",
           "  --cpus N         CPUs of the machine (default 4, with --icount 1; --host: the host's)",
           "  --cpu MODEL      QEMU's CPU model (default max)",
           "  --gic 2|3        arm64: interrupt controller (default 3)",
           "  --machine NAME   x86: q35 (default) or pc",
           "  --board NAME     arm64: one of docs/boards.md (%s)" % ", ".join(boards.BOARDS),
           "  --memory MIB     (default 1024)",
           "  --firmware NAME  uefi, or u-boot (arm64), in place of QEMU's own loader",
           "  --build KIND     release (default), debug or ubsan; --host: release, debug, asan, tsan",
           "  --icount         one instruction is one tick of time: exact, but slow and no contention",
           "  --gdb            in gdb, stopped before the first instruction; `help cupel` there",
           "  --gdb-batch FILE the same with gdb's commands from a file",
           "  --gdb-wait       wait for a debugger of your own before the first instruction",
           "  --timeout S      give up after S seconds (default 1800)")
# What needs no guest that has code of its own.
ON_HOST = ("evtchn", "invalidate", "locks", "reader")
EMULATOR_ONLY = ("cpu", "gic", "machine", "board", "firmware", "icount", "gdb", "gdb-batch", "gdb-wait")
DEBUGGED = ("gdb", "gdb-batch", "gdb-wait")


def usage():
    lines = ["./cupel bench EXPERIMENT [arm64|x86|--host] [key=value …] [options]", "",
             "Options:",
             "  --host           no emulator: on this machine, with threads as CPUs (%s)" % ", ".join(ON_HOST),
             *OPTIONS, "",
             "Words of every experiment:"]
    lines += ["  %-16s %s" % item for item in experiments.GENERAL.items()]
    for experiment in experiments.all_experiments().values():
        lines += ["", "%s: %s" % (experiment.name, experiment.help)]
        lines += ["  %-16s %s" % item for item in experiment.keys.items()]
    return "\n".join(lines)


def check_board(name, arch, chosen=None):
    if name not in boards.BOARDS:
        raise Usage("--board knows no '%s'; it knows: %s" % (name, ", ".join(boards.BOARDS)))
    if arch != "arm64" or chosen:
        raise Usage("--board %s is arm64, and has a CPU and an interrupt controller of its own" % name)


class Request:
    """What the words after `bench` ask for."""

    def __init__(self):
        self.experiment = None
        self.arch = None
        self.words = []
        self.options = {"cpus": 0, "memory": 1024, "timeout": 1800, "cpu": None, "gic": None,
                        "machine": None, "board": None, "firmware": None, "build": "release", "json": None,
                        "icount": False, "gdb": False, "gdb-batch": None, "gdb-wait": False, "host": False}

    def read(self, words):
        rest = list(words)
        while rest:
            self.take(rest.pop(0), rest)
        self.check()

    def take(self, word, rest):
        """One word; those of an option's value are taken from `rest`."""
        if word.startswith("--"):
            self.take_option(word, rest)
        elif word in ARCHES and not self.arch:
            self.arch = word
        elif "=" in word or word in experiments.BARE:
            self.words.append(word)
        elif not self.experiment:
            self.experiment = word
        else:
            raise Usage("'%s' is neither key=value nor, beside %s, another architecture (%s)"
                        % (word, self.arch or self.experiment, ", ".join(ARCHES)))

    def take_option(self, word, rest):
        name, equals, value = word[2:].partition("=")
        if name not in self.options:
            raise Usage("unknown option '%s'" % word)
        if isinstance(self.options[name], bool):
            if equals:
                raise Usage("--%s takes no value" % name)
            self.options[name] = True
            return
        if not equals:
            if not rest:
                raise Usage("--%s needs a value" % name)
            value = rest.pop(0)
        self.options[name] = self.number(name, value) if isinstance(self.options[name], int) \
            else value

    @staticmethod
    def number(name, value):
        if not re.fullmatch(r"[1-9]\d{0,5}", value):
            raise Usage("--%s takes a number, not '%s'" % (name, value))
        return int(value)

    def check(self):
        known = experiments.all_experiments()
        if not self.experiment:
            raise Usage("which experiment? There are: %s" % ", ".join(known))
        if self.experiment not in known:
            raise Usage("there is no experiment '%s'; there are: %s"
                        % (self.experiment, ", ".join(known)))
        self.check_arch()
        if self.options["host"] and self.experiment not in ON_HOST:
            raise Usage("%s needs guests with code of their own; on the host there are: %s"
                        % (self.experiment, ", ".join(ON_HOST)))
        keys = {**experiments.GENERAL, **known[self.experiment].keys}
        for word in self.words:
            if word in experiments.BARE:
                continue
            match = KEY_VALUE.match(word)
            if not match:
                raise Usage("'%s' is no key=value" % word)
            if match.group(1) == "arm64.mode" and self.arch != "arm64":
                raise Usage("arm64.mode is for arm64")
            if match.group(1) == "arm64.mode" and match.group(2) not in ("vhe", "nvhe"):
                raise Usage("arm64.mode is vhe or nvhe, not '%s'" % match.group(2))
            if match.group(1) not in keys:
                raise Usage("%s knows no '%s'; it knows: %s"
                            % (self.experiment, match.group(1), ", ".join(sorted(keys))))
        self.check_machine()

    def check_arch(self):
        if self.arch and self.options["host"]:
            raise Usage("--host is this machine, not %s" % self.arch)
        self.arch = "host" if self.options["host"] else self.arch or "arm64"

    def check_machine(self):
        o = self.options
        if o["host"]:
            self.check_host()
            return
        if o["board"]:
            check_board(o["board"], self.arch, o["cpu"] or o["gic"] or o["machine"] or o["firmware"])
        else:
            o["cpus"] = o["cpus"] or (1 if o["icount"] else 4)
        if o["gic"] and self.arch != "arm64":
            raise Usage("--gic is for arm64")
        if o["gic"] and o["gic"] not in GICS:
            raise Usage("--gic is 2 or 3, not '%s'" % o["gic"])
        if o["machine"] and o["machine"] not in MACHINES[self.arch]:
            raise Usage("--machine for %s is %s, not '%s'"
                        % (self.arch, " or ".join(MACHINES[self.arch]), o["machine"]))
        if o["build"] not in ("release", "debug", "ubsan"):
            raise Usage("--build is release, debug or ubsan, not '%s'" % o["build"])
        check_script(o)
        check_firmware(o["firmware"], self.arch)
        if o["gic"] == "2" and o["cpus"] > 8:
            raise Usage("a GICv2 machine has at most 8 CPUs")

    def check_host(self):
        o = self.options
        o["cpus"] = o["cpus"] or max(2, os.cpu_count() or 2)
        for name in EMULATOR_ONLY:
            if o[name]:
                raise Usage("--%s is for an emulator, not for --host" % name)
        if o["build"] not in host.KINDS:
            raise Usage("--build with --host is %s, not '%s'" % (", ".join(host.KINDS), o["build"]))

    def make(self):
        if self.options["host"]:
            host.make(self.options["build"])
        else:
            build.image(self.arch, self.options["build"])

    def to_machine(self, *words):
        """What runs `words` (and those of the command line)."""
        o = self.options
        if o["host"]:
            return host.Host(o["cpus"], o["memory"], o["build"], (*words, *self.words))
        common = {"icount": o["icount"], "build": o["build"]}
        if o["board"]:
            return machine.Machine.of_board(o["board"], o["cpus"], **common).for_bench(*words, *self.words)
        what = machine.Machine(arch=self.arch, cpus=o["cpus"], memory=o["memory"], cpu=o["cpu"],
                               machine=o["machine"], gic=o["gic"] or "3", icount=o["icount"],
                               build=o["build"], firmware=o["firmware"] or "")
        return what.for_bench(*words, *self.words)


class Printer:
    """Shows the console as it comes, without the lines that are for machines."""

    def __init__(self, json_path):
        self.rows = 0
        self.cpus = 0  # that the machine has said it has
        self.fell_back = False  # percpu took the lock it is there to avoid
        self.json = None
        if json_path == "-":
            self.json = sys.stdout
        elif json_path:
            try:
                self.json = open(json_path, "a", encoding="utf-8")
            except OSError as error:
                raise Usage("%s: %s" % (json_path, error.strerror)) from error

    def line(self, line):
        if "@@{" not in line:
            print(line, flush=True)
            return
        self.rows += 1
        try:
            records = machine.console.records(line)
        except ValueError as error:
            raise Failure(str(error)) from error
        for record in records:
            self.look_at(record)
            if self.json:
                self.json.write(json.dumps(record) + "\n")
                self.json.flush()

    def look_at(self, record):
        self.cpus = record["machine"].get("cpus", 0)
        if record["bench"] == "vcpu-load" and record["variant"].get("irqstate") == "percpu":
            self.fell_back = self.fell_back or record["counters"]["lock_acquired"] > 0

    def close(self):
        """What the table can't say of itself."""
        if self.fell_back:
            print("\n`percpu` took the lock as `locked` did: this machine's interrupt controller does not allow it"
                  "\nwithout (docs/experiments.md).", flush=True)


def check_firmware(name, arch):
    known = [firmware for of, firmware in machine.FIRMWARE if of == arch]
    if name and name not in known:
        raise Usage("--firmware for %s is %s, not '%s'" % (arch, " or ".join(known), name))


def check_script(options):
    script = options["gdb-batch"]
    if script and not os.access(script, os.R_OK):
        raise Usage("--gdb-batch: %s can't be read" % script)


def debug(what, options, printer):
    """What --gdb and its like ask for; gdb's exit status, as a failure if it is one."""
    if options["gdb-wait"]:
        debugger.wait(what, printer.line)
        return
    status = debugger.debug(what, options["gdb-batch"], printer.line)
    if status:
        raise Failure("gdb ended with status %d" % status)


def run_on(what, timeout, json_path=None, options=None):
    printer = Printer(json_path)
    if options and any(options[name] for name in DEBUGGED):
        debug(what, options, printer)
        return printer
    start = machine.execute if isinstance(what, host.Host) else machine.boot
    result = start(what, timeout, on_line=printer.line)
    if result.ended == "timeout":
        raise Failure("stopped: not done after %d seconds" % timeout)
    if result.stderr.strip() and result.code:
        print(result.stderr.rstrip(), file=sys.stderr)
    if result.ended == "exit" and result.code == IMAGE_REFUSED:
        sys.exit(2)  # it has said which word and why
    if result.code:
        raise Failure("the run failed with code %d" % result.code)
    printer.close()
    return printer


def bench(words):
    request = Request()
    request.read(words)
    build.setup()
    request.make()
    started = time.monotonic()
    done = run_on(request.to_machine("bench=" + request.experiment), request.options["timeout"],
                  request.options["json"], request.options)
    print("%d rows in %.0f s" % (done.rows, time.monotonic() - started), file=sys.stderr)


def read_run(words):
    """(architecture, board, options) of `run`: it takes those of the debugger."""
    arch, board, options, rest = None, None, dict.fromkeys(DEBUGGED), list(words)
    while rest:
        word = rest.pop(0)
        if word.startswith("--") and word[2:] in DEBUGGED:
            if word == "--gdb-batch" and not rest:
                raise Usage("--gdb-batch needs a file")
            options[word[2:]] = rest.pop(0) if word == "--gdb-batch" else True
        elif word == "--board":
            if not rest:
                raise Usage("--board needs a name")
            board = rest.pop(0)
        elif word.startswith("-"):
            raise Usage("run has no option '%s'; `./cupel bench vcpu-load` has those of the machine" % word)
        elif word not in ARCHES:
            raise Usage("run takes arm64 or x86, not '%s'" % word)
        elif arch:
            raise Usage("run takes one architecture")
        else:
            arch = word
    check_script(options)
    if board:
        check_board(board, arch or "arm64")
    return arch or "arm64", board, options


def run(words):
    arch, board, options = read_run(words)
    build.setup()
    print("building for %s …" % arch, flush=True)
    build.image(arch)
    what = machine.Machine.of_board(board) if board else machine.Machine(arch=arch, cpus=RUN_CPUS)
    what = what.for_bench("bench=vcpu-load", *RUN_WORDS)
    print("booting %s on QEMU …" % what.name(), flush=True)
    done = run_on(what, RUN_TIMEOUT, options=options)
    if any(options.values()):
        return
    print("\nOn an emulator the counts are exact, and the rates are mostly its host's: with %s on %d host"
          "\ncores, `locked` also waits for threads that the host has put aside. Look at \"per load\"."
          % ("1 CPU" if done.cpus == 1 else "%d CPUs" % done.cpus, os.cpu_count() or 1))
