# SPDX-License-Identifier: GPL-2.0-only
"""tools/report on made-up rows: the right figure beside the right published one, and a clear line for
what is no record."""

import json
import os
import subprocess

import pytest

import conftest

REPORT = os.path.join(conftest.HERE, "../../tools/report")

ROW = {"bench": "exits", "arch": "arm64",
       "machine": {"board": "virt", "cpu": "max", "firmware": "fdt", "cpus": 1},
       "build": {"id": "ab" * 20, "compiler": "cc", "flags": ""},
       "clock": {"ticks": "arch_counter", "hz": 10 ** 9, "source": "none"},
       "variant": {}, "sweep": {}, "unit": "instructions", "n": 10, "min": 1, "q1": 2, "p50": 3,
       "mean": 3, "p90": 4, "p99": 5, "max": 6, "stddev": 1, "hist": [[1, 10]], "counters": {},
       "noise": None}


def row(**fields):
    return {**ROW, **fields}


def load_row(state, vcpus, rate, **more):
    counters = {"exits_per_s_vcpu": rate, "lock_acquired": 200 if state == "locked" else 0,
                "lock_contended": 0, "counted_loads": 100, "counted_active_writes": 200}
    return row(bench="vcpu-load", variant={"irqstate": state, "irqchip": "full", "page": "own"},
               sweep={"vcpus": vcpus}, counters=counters, noise=1.01, **more)


def report(tmp_path, text, *words):
    path = tmp_path / "rows"
    path.write_text(text, encoding="utf-8")
    return subprocess.run([REPORT, str(path), *words], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def cells(output, first):
    """Cells of each table row whose first cell is `first`."""
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in output.splitlines()
            if line.startswith("|")]
    return [r for r in rows if r[0] == first]


def as_log(*rows):
    return "".join("noise @@%s@@ more\n" % json.dumps(r) for r in rows)


def test_exits_beside_peers_and_target(tmp_path):
    rows = [row(variant={"op": "hvc", "wfi": "trap"}, p50=93),
            row(variant={"op": "wfi-late", "wfi": "trap"}, p50=1281),
            row(variant={"op": "wfi-late", "wfi": "native"}, p50=300)]
    result = report(tmp_path, as_log(*rows))
    assert result.returncode == 0, result.stderr
    hvc, = cells(result.stdout, "hvc")
    assert hvc[3] == "93" and "406" in hvc and hvc[-2:] == ["135", "yes"]
    trapped, = cells(result.stdout, "wfi-late")
    assert trapped[-2:] == ["1000", "NO"]
    native, = cells(result.stdout, "wfi-late (native WFI)")
    assert native[-2:] == ["350", "yes"]


def test_ticks_meet_no_target(tmp_path):
    result = report(tmp_path, as_log(row(variant={"op": "hvc", "wfi": "trap"}, unit="ticks")))
    assert cells(result.stdout, "hvc")[0][-1] == "-"


def test_load_has_the_published_shape(tmp_path):
    rows = [load_row("locked", 4, 100), load_row("percpu", 4, 250), load_row("locked", 3, 1)]
    result = report(tmp_path, "".join(json.dumps(r) + "\n" for r in rows))
    assert result.returncode == 0, result.stderr
    ours, theirs = cells(result.stdout, "4")
    assert ours == ["4", "100", "250", "2.50", "-", "-", "-"]
    assert theirs[:4] == ["4", "294895", "328420", "1.11"]
    assert len(cells(result.stdout, "3")) == 1
    proof = cells(result.stdout, "full own locked")
    assert [r[4] for r in proof] == ["2.000", "2.000"]


def test_last_row_of_a_kind_counts(tmp_path):
    rows = [load_row("locked", 4, 100), load_row("locked", 4, 111)]
    assert cells(report(tmp_path, as_log(*rows)).stdout, "4")[0][1] == "111"


@pytest.mark.parametrize("text,says", [
    ("", "no records"),
    ("just a console\n", "no records"),
    ("@@{\"bench\":}@@\n", "rows:1: not a record"),
    ("\n@@{\"bench\":\"x\"}@@\n", "rows:2: a record without arch"),
], ids=("empty", "prose", "no json", "keys missing"))
def test_no_record(tmp_path, text, says):
    result = report(tmp_path, text)
    assert result.returncode == 1
    assert says in result.stderr and result.stderr.count("\n") == 1


def test_missing_file_and_help(tmp_path):
    result = subprocess.run([REPORT, str(tmp_path / "nothing")], text=True, check=False,
                            stderr=subprocess.PIPE)
    assert result.returncode == 1 and "nothing" in result.stderr
    assert subprocess.run([REPORT, "--help"], check=False, stdout=subprocess.DEVNULL).returncode == 0


def test_plots(tmp_path):
    rows = [load_row("locked", 4, 100), row(variant={"op": "hvc", "wfi": "trap"})]
    result = report(tmp_path, as_log(*rows), "--plot", str(tmp_path / "plots"))
    assert result.returncode == 0, result.stderr
    assert sorted(os.listdir(tmp_path / "plots")) == [
        "exits-arm64-latency.svg", "vcpu-load-arm64-latency.svg", "vcpu-load-arm64-rate.svg"]
