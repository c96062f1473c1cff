# SPDX-License-Identifier: GPL-2.0-only
"""The readers of KTAP, records and build ids themselves: a reader that sees no failure is worse than
no test."""

import pytest

from front import console

GOOD = """\
KTAP version 1
1..3
ok 1 - one
[vm] not ok 2 - said by a guest, no result
# why
not ok 2 two words
ok 3 three # SKIP no such device
"""


def test_results():
    document, = console.ktap(GOOD)
    assert [t.ok for t in document.tests] == [True, False, True]
    assert document.tests[1].name == "two words"
    assert document.tests[1].diagnostics == ["# why"]
    assert document.tests[2].skipped
    assert document.complete()
    assert [t.number for t in document.failed()] == [2]


@pytest.mark.parametrize("text", [
    GOOD.replace("1..3\n", ""), GOOD.replace("1..3", "1..4"), GOOD.replace("ok 3", "ok 4"),
    "KTAP version 1\n",
], ids=("no plan", "too few", "a gap", "nothing"))
def test_incomplete(text):
    document, = console.ktap(text)
    assert not document.complete()


def test_plan_at_the_end_and_two_documents():
    text = "KTAP version 1\nok 1 a\n1..1\nKTAP version 1\r\n1..1\r\nnot ok 1 b\r\n"
    first, second = console.ktap(text)
    assert first.complete() and not first.failed()
    assert second.complete() and second.failed()


def test_records():
    assert console.records('x\n@@{"a":1}@@\ny') == [{"a": 1}]
    with pytest.raises(ValueError):
        console.records('@@{"a":1')
    with pytest.raises(ValueError):
        console.records('@@{"a":}@@')


def test_build_id():
    name = "0123456789abcdef0123456789abcdef01234567"
    assert console.build_id("Cupel, build %s\nmore" % name) == name
    assert console.build_id("nothing") is None
