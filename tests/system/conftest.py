# SPDX-License-Identifier: GPL-2.0-only
"""What every system test shares: the machines, and a boot that explains itself when it fails. The
images in build/ are taken as they are; `./cupel check --only system` builds them first."""

import os
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../tools"))

from front import machine  # noqa: E402  (the path comes first)

SLOW = bool(os.environ.get("CUPEL_SLOW"))
FAST = bool(os.environ.get("CUPEL_FAST"))
BLESS = bool(os.environ.get("CUPEL_BLESS"))


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: only with ./cupel check --slow")


def pytest_collection_modifyitems(config, items):
    if not SLOW:
        items[:] = [item for item in items if not item.get_closest_marker("slow")]


class Booted:
    """A boot with the questions tests ask of it; each failure names the step and shows the end of
    the console."""

    def __init__(self, step, result):
        self.step = step
        self.result = result
        self.text = result.text

    def fail(self, why):
        pytest.fail(self.result.explain("%s: %s" % (self.step, why)), pytrace=False)

    def check(self, true, why):
        if not true:
            self.fail(why)

    def well(self):
        """It ended by itself, and said so with code 0."""
        if self.result.ended != "exit" or self.result.code:
            bad = [t.name for d in self.result.ktap() for t in d.failed()]
            self.fail("not ok: " + "; ".join(bad) if bad else "should have ended well")
        return self

    def says(self, *parts):
        for part in parts:
            self.check(part in self.text, "the console lacks %r" % part)
        return self

    def never_says(self, *parts):
        for part in parts:
            self.check(part not in self.text, "the console has %r" % part)
        return self

    def tests(self):
        """All KTAP results, after checking that every document is complete."""
        documents = self.result.ktap()
        self.check(documents, "no KTAP at all")
        for document in documents:
            self.check(document.complete(), "bad KTAP: %s" % ", ".join(document.problems))
        return [test for document in documents for test in document.tests]

    def all_ok(self, at_least=1):
        tests = self.tests()
        failed = [test for test in tests if not test.ok]
        self.check(not failed, "failed: " + "; ".join(
            " ".join([test.name, *test.diagnostics]) for test in failed))
        self.check(len(tests) >= at_least, "%d results, expected %d" % (len(tests), at_least))
        return tests

    def records(self):
        try:
            return self.result.records()
        except ValueError as error:
            self.fail(str(error))


@pytest.fixture
def boot(request):
    """boot(append, arch=…, step=…, timeout=…, until=…, **machine fields) -> Booted"""

    def start(append, arch, step=None, timeout=120, until=None, **fields):
        if FAST and fields.get("build", "release") != "release":
            pytest.skip("./cupel check --fast builds no %s image" % fields["build"])
        what = machine.Machine(arch=arch, append=append, **fields)
        result = machine.boot(what, timeout, until)
        return Booted(step or request.node.name, result)

    return start


@pytest.fixture(params=("arm64", "x86"))
def arch(request):
    return request.param
