# SPDX-License-Identifier: GPL-2.0-only
"""./cupel check: build, judge and test everything, two steps at a time."""

import glob
import os
import re
import time
import xml.etree.ElementTree

from . import PYTHON, ROOT, Failure, Usage, build, console, fresh, steps, torture
from .steps import Step

HELP = """\
./cupel check [--fast|--slow] [--bless] [--only STEP …] [--list]

Build and run every test; one line a step, and at the end `N passed, N failed`.

  --fast       without the second compiler, sanitizers, fuzzing, models, tortures, mutants
  --slow       the largest machines, every mutant and longer fuzzing as well
  --bless      write tests/golden/ anew from what is measured now
  --only STEP  just this step (and what it needs); may be given several times
  --list       name the steps
  --fresh …    the same in a bare Debian, in a chroot: ./cupel check --fresh --help

A failing step shows its last lines; all of them are in build/check/."""

UNIT = (("unit", "plain"), ("unit-asan", "ASan, UBSan"), ("unit-tsan", "TSan"))


def system_counts(step):
    """From pytest's own report; a run that wrote none is one failure."""
    path = os.path.join(ROOT, "build/check/%s.xml" % step.name)
    try:
        suites = xml.etree.ElementTree.parse(path).getroot().iter("testsuite")
    except (OSError, xml.etree.ElementTree.ParseError):
        return (0, 1, 0)
    tests = failed = skipped = 0
    for suite in suites:
        tests += int(suite.get("tests"))
        failed += int(suite.get("failures")) + int(suite.get("errors"))
        skipped += int(suite.get("skipped"))
    if not tests:
        return (0, 1, 0)
    return (max(0, tests - failed - skipped), failed, skipped)


def cmocka_counts(step):
    text = step.log()
    passed = sum(map(int, re.findall(r"\[  PASSED  \] (\d+) test", text)))
    failed = sum(map(int, re.findall(r"\[  FAILED  \] \w+: (\d+) test", text)))
    skipped = sum(map(int, re.findall(r"\[  SKIPPED \] \w+: (\d+) test", text)))
    return (passed, failed, skipped) if passed + failed else None


def closing_counts(step):
    """Of a tool that ends with the same closing line as ours."""
    found = re.findall(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", step.log(), re.M)
    return tuple(int(n or 0) for n in found[-1]) if found else None


def ktap_counts(step):
    results = [t for document in console.ktap(step.log()) for t in document.tests]
    skipped = sum(t.skipped for t in results)
    failed = sum(not t.ok for t in results)
    return (len(results) - failed - skipped, failed, skipped) if results else None


def make(*words):
    return ["make", "--no-print-directory", "-j2", *words]


def tool(*words):
    return [PYTHON, "-P", "-m", "front", *words]


def builds(fast):
    kinds = ("release",) if fast else ("release", "debug")
    found = [Step("build %s %s" % (arch, kind), make("ARCH=" + arch, "BUILD=" + kind))
             for kind in kinds for arch in ("arm64", "x86")]
    if not fast:
        found += [Step("build %s clang" % arch, make("ARCH=" + arch, "CC=clang"))
                  for arch in ("arm64", "x86")]
    return found


def tortures(slow, needs):
    """A few seconds of each, on the host with and without TSan, and in the image."""
    names = ",".join(torture.names())
    seconds = "60" if slow else "4"
    where = [("host", ["--host"], ()), ("tsan", ["--host", "--build", "tsan"], ()),
             ("arm64", ["arm64"], needs), ("x86", ["x86"], needs)]
    return [Step("torture " + name, tool("torture", names, *words, "--seconds", seconds), needs=images,
                 wide=True, timeout=900 if slow else 500, count=ktap_counts)
            for name, words, images in where]


def all_steps(fast, slow, bless):
    images = builds(fast)
    needs = tuple(step.name for step in images)
    system = [PYTHON, "-m", "pytest", "-q", "-n", str(steps.SLOTS), "--junitxml",
              "build/check/system.xml", "tests/system"]
    env = {"CUPEL_SLOW": "1"} if slow else {"CUPEL_FAST": "1"} if fast else {}
    found = images + [Step("lint", make("lint"), timeout=1500)]
    found += [Step(target, make(target), count=cmocka_counts) for target, _ in UNIT
              if not fast or target == "unit"]
    if not fast:
        found.append(Step("same bytes", ["tools/same-bytes"], needs=needs[:2]))
        found.append(Step("fuzz", ["tests/fuzz/run", *(["--slow"] if slow else [])],
                          count=closing_counts))
        found.append(Step("models", [PYTHON, "tests/models/run", *(["--slow"] if slow else [])],
                          wide=True, timeout=1200 if slow else 400, count=closing_counts))
        found += tortures(slow, needs[:2])
    found.append(Step("system", system, needs=needs, wide=True, timeout=3000 if slow else 1200,
                      env={**env, **({"CUPEL_BLESS": "1"} if bless else {})}, count=system_counts))
    if not fast and glob.glob(os.path.join(ROOT, "tests/mutants/*.patch")):
        found.append(Step("mutants", tool("mutants", *([] if slow else ["--quick"])), needs=needs,
                          wide=True, timeout=1800, env=env, count=closing_counts))
    return found


def choose(found, only):
    names = [step.name for step in found]
    for name in only:
        if name not in names:
            raise Usage("there is no step '%s'; there are: %s" % (name, ", ".join(names)))
    wanted = set(only)
    for step in reversed(found):
        if step.name in wanted:
            wanted.update(step.needs)
    return [step for step in found if step.name in wanted] if only else found


def parse(words):
    flags = {"--fast": False, "--slow": False, "--bless": False, "--list": False}
    only = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in flags:
            flags[word] = True
        elif word == "--only":
            if not rest:
                raise Usage("--only needs the name of a step")
            only.append(rest.pop(0))
        else:
            raise Usage("unknown word '%s'" % word)
    if flags["--fast"] and flags["--slow"]:
        raise Usage("--fast and --slow exclude each other")
    return flags, only


def main(words):
    if "--fresh" in words:
        return fresh.main([word for word in words if word != "--fresh"])
    flags, only = parse(words)
    found = choose(all_steps(flags["--fast"], flags["--slow"], flags["--bless"]), only)
    if flags["--list"]:
        print("\n".join(step.name for step in found))
        return 0
    build.setup()
    started = time.monotonic()
    print("%d steps, %d at a time" % (len(found), steps.SLOTS), flush=True)
    steps.Runner(found).run()
    if not found:
        raise Failure("there was nothing to run")
    print("in %.0f s" % (time.monotonic() - started))
    print(steps.closing_line(found), flush=True)
    return 1 if steps.total(found)[1] else 0
