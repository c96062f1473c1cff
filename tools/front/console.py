# SPDX-License-Identifier: GPL-2.0-only
"""What the image says on its console, read by machine: KTAP version 1 results, `@@{...}@@`
records, and the build id. Nothing is read from prose."""

import json
import re
from dataclasses import dataclass, field

RESULT = re.compile(r"^(\s*)(not ok|ok) (\d+)(?:\s+-)?\s*(.*?)(?:\s+#\s*(SKIP|TODO|XFAIL)\b\s*(.*))?$")
PLAN = re.compile(r"^\s*1\.\.(\d+)")
RECORD = re.compile(r"@@(\{.*\})@@")
BUILD_ID = re.compile(r"\b([0-9a-f]{40})\b")


@dataclass
class Test:
    ok: bool
    number: int
    name: str
    skipped: bool = False
    diagnostics: list = field(default_factory=list)


@dataclass
class Ktap:
    """One KTAP document. `problems` holds what makes it no proof: no plan, numbers out of order."""

    tests: list = field(default_factory=list)
    plan: int = None
    problems: list = field(default_factory=list)

    def failed(self):
        return [t for t in self.tests if not t.ok]

    def complete(self):
        return self.plan == len(self.tests) and not self.problems

    def find(self, name):
        return [t for t in self.tests if name in t.name]


def lines(text):
    return text.replace("\r", "").split("\n")


def ktap(text):
    """All KTAP documents of a console, in order. Other lines may stand between the results; a
    line that begins with '#' belongs to the next result."""
    documents = []
    now = None
    notes = []
    for line in lines(text):
        if line.strip() == "KTAP version 1":
            now = Ktap()
            documents.append(now)
            notes = []
            continue
        if now is None:
            continue
        plan = PLAN.match(line)
        if plan:
            if now.plan is not None:
                now.problems.append("two plans: " + line.strip())
            now.plan = int(plan.group(1))
            continue
        result = RESULT.match(line)
        if result:
            test = Test(result.group(2) == "ok", int(result.group(3)), result.group(4),
                        result.group(5) == "SKIP", notes)
            notes = []
            now.tests.append(test)
            if test.number != len(now.tests):
                now.problems.append("result %d has number %d" % (len(now.tests), test.number))
        elif line.lstrip().startswith("#"):
            notes.append(line.strip())
    for document in documents:
        if document.plan is None:
            document.problems.append("no plan: the run did not reach its end")
        elif document.plan != len(document.tests):
            document.problems.append("%d results, planned %d"
                                     % (len(document.tests), document.plan))
    return documents


def records(text):
    """Every record; raises ValueError with the line when one is no JSON."""
    found = []
    for line in lines(text):
        if "@@{" not in line:
            continue
        match = RECORD.search(line)
        try:
            found.append(json.loads(match.group(1)))
        except (AttributeError, json.JSONDecodeError) as error:
            raise ValueError("bad record (%s): %s" % (error, line[:200])) from error
    return found


def build_id(text):
    """The id of the image that printed this log, from its first line that has one; or None."""
    match = BUILD_ID.search(text)
    return match.group(1) if match else None


def tail(text, count=30):
    return "\n".join(lines(text.rstrip())[-count:])
