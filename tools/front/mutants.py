# SPDX-License-Identifier: GPL-2.0-only
"""./cupel mutants: apply each patch of tests/mutants/ to a copy of the tree, build that, and run the
test the patch names. The test must fail; a mutant that passes it has survived, and that fails the
command. Of the build, what the tests need is made once and copied: a mutant compiles what it touches."""

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

from . import PYTHON, ROOT, Usage, build, host, tied

HELP = """\
./cupel mutants [--quick] [--list] [NAME …]

Break the code on purpose, one patch of tests/mutants/ at a time, and run the test that must notice.

  --quick   only those whose header says `Quick: yes`
  --list    name them, with the test that must fail
  NAME      only these

A patch begins with lines `Test:`, `Seconds:` (time limit of the test; running out of it counts as
failing) and optionally `Arch:`, `Quick:` and `Tries:` (runs in which a test of a race may notice,
default 1). A test is one of

  unit NAME …                          programs of tests/unit; unit-asan, unit-tsan: with a sanitizer
  torture NAME --host|arm64|x86 …      as on the command line of ./cupel torture
  test_x.py::test_y                    a pytest id below tests/system; where it names an architecture, only
                                       that one is built"""

UNIT = {"unit": "none", "unit-asan": "address", "unit-tsan": "thread"}
KINDS = (*UNIT, "torture")
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

    def kind(self):
        return self.test.split()[0] if self.test.split()[0] in KINDS else "system"

    def words(self):
        return shlex.split(self.test.partition(" ")[2])

    def build_argvs(self):
        """What its test needs, from make."""
        kind = self.kind()
        if kind in UNIT:
            return [["unit-build", "SAN=" + UNIT[kind], "TESTS=" + " ".join(self.words())]]
        if kind == "torture" and "--host" in self.words():
            at = self.words().index("--build") + 1 if "--build" in self.words() else 0
            return [["host", "SAN=" + host.KINDS[self.words()[at] if at else "release"]]]
        named = re.search(r"\[(arm64|x86)\b", self.test)
        return [["ARCH=" + arch] for arch in ([named.group(1)] if named else self.arches)]

    def test_argv(self):
        if self.kind() in UNIT:
            return ["make", "-s", "unit", "SAN=" + UNIT[self.kind()], "TESTS=" + " ".join(self.words())]
        if self.kind() == "torture":
            return [PYTHON, "-P", "-m", "front", "torture", *self.words()]
        return [PYTHON, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider",
                *("tests/system/" + re.sub("^tests/system/", "", word) for word in shlex.split(self.test))]


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


def prepare(chosen):
    """Build once what the mutants' trees begin with; make only what is asked for, and all of that at once."""
    tests = {}
    others = []
    for mutant in chosen:
        for argv in mutant.build_argvs():
            if argv[0] == "unit-build":
                tests.setdefault(argv[1], set()).update(argv[2][len("TESTS="):].split())
            elif argv not in others:
                others.append(argv)
    for san, names in sorted(tests.items()):
        build.make("unit-build", san, "TESTS=" + " ".join(sorted(names)))
    for argv in others:
        build.make(*argv)


def built_directories(mutant):
    kind = mutant.kind()
    if kind in UNIT:
        return ["host-" + UNIT[kind]]
    return [argv[-1].replace("SAN=", "host-") if argv[0] == "host" else argv[0][len("ARCH="):] + "-release"
            for argv in mutant.build_argvs()]


def copy_tree(mutant, into):
    """The tree with the objects it needs, times and all, so that make builds only what the patch touches."""
    skip = shutil.ignore_patterns(".git", "build", "__pycache__", ".pytest_cache")
    shutil.copytree(ROOT, into, symlinks=True, ignore=skip, dirs_exist_ok=True)
    os.makedirs(os.path.join(into, "build"))
    for name in built_directories(mutant):
        shutil.copytree(os.path.join(ROOT, "build", name), os.path.join(into, "build", name), symlinks=True)
    deps = os.path.join(ROOT, "build/deps")
    if os.path.exists(deps):
        os.symlink(os.path.realpath(deps), os.path.join(into, "build/deps"))


def command(argv, cwd, seconds, log):
    """Exit status; 124 when it ran out of time. What it started ends with it."""
    child = subprocess.Popen(tied(argv), cwd=cwd, stdout=log,
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


def try_mutant(mutant):
    """(killed, what happened)"""
    os.makedirs(os.path.join(ROOT, "build/check"), exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="cupel-mutant-") as tree, \
            open(os.path.join(ROOT, "build/check/mutant-%s.log" % mutant.name), "w",
                 encoding="utf-8") as log:
        copy_tree(mutant, tree)
        if command(["patch", "-p1", "--forward", "--no-backup-if-mismatch", "-i", mutant.path], tree,
                   20, log):
            return False, "the patch does not apply: make it anew"
        for argv in mutant.build_argvs():
            if command(["make", "-s", *argv], tree, 300, log):
                return False, "it does not build"
        status = next(filter(None, (command(mutant.test_argv(), tree, mutant.seconds, log)
                                    for _ in range(mutant.tries))), 0)
        if status == 124:
            return True, "ran out of its %d s" % mutant.seconds
        if mutant.kind() == "system" and status not in (0, 1):
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
    prepare(chosen)
    # The slow ones first: no core is left idle at the end.
    chosen.sort(key=lambda mutant: -mutant.seconds)
    with ThreadPoolExecutor(2) as pool:
        killed = dict(zip((mutant.name for mutant in chosen), pool.map(report, chosen)))
    survivors = [name for name, dead in killed.items() if not dead]
    if survivors:
        print("not noticed, or not tried: " + ", ".join(survivors))
    print("%d passed, %d failed" % (len(killed) - len(survivors), len(survivors)))
    return 1 if survivors else 0
