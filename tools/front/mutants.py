# SPDX-License-Identifier: GPL-2.0-only
"""./cupel mutants: apply each patch of tests/mutants/ to a copy of the tree, build that, and run the
test the patch names. The test must fail; a mutant that passes it has survived, and that fails the
command."""

import glob
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from . import PYTHON, ROOT, Usage, build

HELP = """\
./cupel mutants [--quick] [--list] [NAME …]

Break the code on purpose, one patch of tests/mutants/ at a time, and run the test that must notice.

  --quick   only those whose header says `Quick: yes`
  --list    name them, with the test that must fail
  NAME      only these

A patch begins with lines `Test:` (a pytest id below tests/system, or `unit NAME`: a program of tests/unit), `Seconds:` (time
limit of the test; running out of it counts as failing) and optionally `Arch:`, `Quick:` and `Tries:`
(runs in which a test of a race may notice, default 1)."""

HEADER = re.compile(r"^(Test|Seconds|Tries|Arch|Quick): *(.*)$", re.M)


@dataclass
class Mutant:
    name: str
    path: str
    about: str
    test: str
    seconds: int
    tries: int
    arches: tuple
    quick: bool


def read(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    head = text.split("\n--- ", 1)[0]
    fields = dict(HEADER.findall(head))
    about = " ".join(l for l in head.splitlines() if not HEADER.match(l)).strip()
    name = os.path.basename(path)[:-len(".patch")]
    return Mutant(name, path, about, fields["Test"], int(fields["Seconds"]),
                  int(fields.get("Tries", 1)),
                  tuple(fields.get("Arch", "arm64 x86").split()), fields.get("Quick") == "yes")


def all_mutants():
    return [read(path) for path in sorted(glob.glob(os.path.join(ROOT, "tests/mutants/*.patch")))]


def copy_tree(into):
    """The tree with its objects, times and all, so that make builds only what the patch touches."""
    skip = shutil.ignore_patterns(".git", "check", "lint", "__pycache__", ".pytest_cache", "*-clang",
                                  "*-debug", "*-ubsan", "deps")
    shutil.copytree(ROOT, into, symlinks=True, ignore=skip, dirs_exist_ok=True)
    deps = os.path.join(ROOT, "build/deps")
    if os.path.exists(deps):
        os.symlink(os.path.realpath(deps), os.path.join(into, "build/deps"))


def command(argv, cwd, seconds, log):
    """Exit status; 124 when it ran out of time. What it started ends with it."""
    child = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--", *argv], cwd=cwd, stdout=log,
                             stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                             start_new_session=True,
                             env=dict(os.environ, PYTHONPATH=os.path.join(cwd, "tools")))
    try:
        return child.wait(seconds)
    except subprocess.TimeoutExpired:
        return 124
    finally:
        if child.poll() is None:
            os.killpg(child.pid, 9)
            child.wait()


def test_argv(mutant):
    kind, _, rest = mutant.test.partition(" ")
    if kind == "unit":
        return ["make", "-s", "unit", "TESTS=" + rest]
    return [PYTHON, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *shlex.split(mutant.test)]


def try_mutant(mutant):
    """(killed, what happened)"""
    os.makedirs(os.path.join(ROOT, "build/check"), exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="cupel-mutant-") as tree, \
            open(os.path.join(ROOT, "build/check/mutant-%s.log" % mutant.name), "w",
                 encoding="utf-8") as log:
        copy_tree(tree)
        if command(["patch", "-p1", "--forward", "--no-backup-if-mismatch", "-i", mutant.path], tree,
                   20, log):
            return False, "the patch does not apply: make it anew"
        if not mutant.test.startswith("unit "):
            for arch in mutant.arches:
                if command(["make", "-s", "-j2", "ARCH=" + arch], tree, 300, log):
                    return False, "it does not build"
        status = next(filter(None, (command(test_argv(mutant), tree, mutant.seconds, log)
                                    for _ in range(mutant.tries))), 0)
        if status == 124:
            return True, "ran out of its %d s" % mutant.seconds
        if not mutant.test.startswith("unit ") and status not in (0, 1):
            return False, "the test did not run (pytest's status %d)" % status
        return status != 0, "noticed" if status else "SURVIVED %s" % mutant.test


def report(mutant):
    started = time.monotonic()
    killed, what = try_mutant(mutant)
    print("  %-4s %6.1fs  %-28s %s" % ("ok" if killed else "FAIL", time.monotonic() - started,
                                      mutant.name, what), flush=True)
    return killed


def main(words):
    known = {mutant.name: mutant for mutant in all_mutants()}
    chosen = list(known.values())
    names = [w for w in words if not w.startswith("--")]
    for word in words:
        if word.startswith("--") and word not in ("--quick", "--list"):
            raise Usage("unknown option '%s'" % word)
        if word in names and word not in known:
            raise Usage("there is no mutant '%s'; there are: %s" % (word, ", ".join(known)))
    if names:
        chosen = [known[name] for name in names]
    elif "--quick" in words:
        chosen = [mutant for mutant in chosen if mutant.quick]
    if "--list" in words:
        for mutant in chosen:
            print("%-28s %s\n%28s %s" % (mutant.name, mutant.test, "", mutant.about))
        return 0
    build.setup()
    for arch in sorted({a for mutant in chosen for a in mutant.arches}):
        build.image(arch)
    with ThreadPoolExecutor(2) as pool:
        killed = list(pool.map(report, chosen))
    print("%d passed, %d failed" % (sum(killed), len(killed) - sum(killed)))
    return 0 if all(killed) else 1
