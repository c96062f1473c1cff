# SPDX-License-Identifier: GPL-2.0-only
"""Runs steps two at a time, in the order they are given as far as their needs allow, and says of
each how it went and how long it took."""

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field

from . import ROOT, tied

SLOTS = 2


@dataclass
class Step:
    """`argv` is run in the repository. `count(step)` tells (passed, failed, skipped) after it; the
    default is one test, passed if the exit status is 0. `needs` names steps that must have passed;
    a `wide` step uses both slots, since it runs two at a time by itself."""

    name: str
    argv: list
    needs: tuple = ()
    wide: bool = False
    timeout: float = 600
    env: dict = field(default_factory=dict)
    count: object = None
    state: str = "waiting"  # running, passed, failed, skipped
    seconds: float = 0.0
    counts: tuple = (0, 0, 0)
    status: int = None

    def log_path(self):
        return os.path.join(ROOT, "build/check", self.name.replace(" ", "-") + ".log")

    def log(self):
        with open(self.log_path(), encoding="utf-8", errors="replace") as file:
            return file.read()


class Runner:
    def __init__(self, steps):
        self.steps = steps
        self.free = SLOTS
        self.changed = threading.Condition()
        self.children = set()
        self.stopping = False

    def run(self):
        os.makedirs(os.path.join(ROOT, "build/check"), exist_ok=True)
        threads = []
        try:
            while self.start_ready(threads):
                with self.changed:
                    self.changed.wait(1)
            for thread in threads:
                thread.join()
        except BaseException:
            self.stop()
            raise
        return self.steps

    def start_ready(self, threads):
        """Start what can start; False when every step has ended."""
        with self.changed:
            for step in [s for s in self.steps if s.state == "waiting"]:
                if any(self.state_of(n) in ("failed", "skipped") for n in step.needs):
                    step.state = "skipped"
                    step.counts = (0, 1, 0)
                    print("  FAIL       -  %-28s not run: it needs what failed" % step.name,
                          flush=True)
                    continue
                width = SLOTS if step.wide else 1
                if any(self.state_of(n) != "passed" for n in step.needs):
                    continue
                if self.free < width:
                    break  # in order: a wide step is not starved by narrow ones behind it
                self.free -= width
                step.state = "running"
                thread = threading.Thread(target=self.execute, args=(step, width), daemon=True)
                threads.append(thread)
                thread.start()
            return any(s.state in ("waiting", "running") for s in self.steps)

    def state_of(self, name):
        return next((s.state for s in self.steps if s.name == name), "passed")

    def execute(self, step, width):
        started = time.monotonic()
        with open(step.log_path(), "w", encoding="utf-8") as log:
            # A shell has SIGINT ignored in what it runs in the background; tests of it want it as it is.
            child = subprocess.Popen(tied(["env", "--default-signal=INT,QUIT", *step.argv]), cwd=ROOT,
                                     stdin=subprocess.DEVNULL, stdout=log,
                                     stderr=subprocess.STDOUT, start_new_session=True,
                                     env=dict(os.environ, **step.env))
            self.children.add(child)
            try:
                step.status = child.wait(step.timeout)
            except subprocess.TimeoutExpired:
                self.end(child)
                log.write("\nstopped: not done after %d s\n" % step.timeout)
                step.status = 124
            self.children.discard(child)
        step.seconds = time.monotonic() - started
        with self.changed:
            self.judge(step)
            self.free += width
            self.changed.notify_all()

    def judge(self, step):
        step.counts = (int(step.status == 0), int(step.status != 0), 0)
        if step.count:
            step.counts = step.count(step) or step.counts
        passed, failed, skipped = step.counts
        if step.status and not failed:
            failed = 1  # it broke beside its tests
            step.counts = (passed, failed, skipped)
        step.state = "failed" if failed else "passed"
        if self.stopping:
            return
        print("  %-4s %6.1fs  %-28s %s" % ("ok" if not failed else "FAIL", step.seconds, step.name,
                                          self.describe(step.counts)), flush=True)
        if failed:
            print("\n".join("       | " + l for l in step.log().rstrip().split("\n")[-80:]),
                  flush=True)
            print("       all of it: %s" % os.path.relpath(step.log_path(), ROOT), flush=True)

    @staticmethod
    def describe(counts):
        passed, failed, skipped = counts
        if passed + failed + skipped == 1:
            return ""
        parts = ["%d passed" % passed]
        parts += ["%d failed" % failed] if failed else []
        parts += ["%d skipped" % skipped] if skipped else []
        return ", ".join(parts)

    @staticmethod
    def end(child):
        """A step and what it started in its session; emulators die with their parents."""
        try:
            os.killpg(child.pid, signal.SIGTERM)
            child.wait(5)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()

    def stop(self):
        self.stopping = True
        for child in list(self.children):
            self.end(child)


def total(steps):
    return tuple(sum(step.counts[i] for step in steps) for i in range(3))


def closing_line(steps):
    passed, failed, skipped = total(steps)
    return "%d passed, %d failed" % (passed, failed) + (", %d skipped" % skipped if skipped else "")


def progress(text):
    print(text, file=sys.stderr, flush=True)
