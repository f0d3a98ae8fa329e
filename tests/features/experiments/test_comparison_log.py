"""Comparisons that were looked at are counted, and corrected for."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from core.base.errors import ReadOnly
from core.features.experiments import ledger_table
from core.features.experiments.comparison_log import look_at, read_looked, write_looked
from core.features.experiments.ledger import list_ledger
from core.features.experiments.ledger_table import HERE, Entry
from core.runs.workspace import Workspace
from core.store import datasets


@pytest.mark.soak
def test_every_pair_counts_once_whoever_is_the_baseline(workspace: Workspace) -> None:
    [first] = look_at(workspace, "a/b", [("r1", "r2", 0.01)])
    assert (first.n, first.p, first.holm) == (1, 0.01, 0.01)
    [again] = look_at(workspace, "a/b", [("r2", "r1", 0.01)])
    assert again == first
    found = look_at(workspace, "a/b", [("r1", "r3", 0.04), ("r2", "r3", 0.5)])
    # Holm over .01, .04, .5: .03, .08, .5
    assert [one.n for one in found] == [3, 3]
    assert [one.holm for one in found] == pytest.approx([0.08, 0.5])
    [late] = look_at(workspace, "a/b", [("r1", "r2", 0.01)])
    assert late.holm == pytest.approx(0.03)
    assert "One of 3 " in late.sentence
    assert read_looked(workspace, "other dataset") == {}


def test_a_new_p_of_a_pair_replaces_the_old_one(workspace: Workspace) -> None:
    look_at(workspace, "d", [("r1", "r2", 0.5)])
    look_at(workspace, "d", [("r1", "r2", 0.001)])
    assert read_looked(workspace, "d") == {("r1", "r2"): 0.001}


def test_one_comparison_alone_is_said_to_be_the_only_one(workspace: Workspace) -> None:
    only = "This is the only comparison of runs on this dataset so far"
    for p, said in ((0.01, f"{only}: p = 0.01."), (math.nan, f"{only}; it has no p.")):
        [found] = look_at(workspace, "d", [("r1", "r2", p)])
        assert found.sentence == said


@pytest.mark.soak
def test_a_comparison_without_a_p_is_counted_and_not_corrected_for(workspace: Workspace) -> None:
    look_at(workspace, "d", [("r1", "r2", 0.01)])
    [found] = look_at(workspace, "d", [("r1", "r3", math.nan)])
    assert (found.n, math.isnan(found.holm)) == (2, True)
    assert found.sentence.startswith("One of 2 ")
    assert found.sentence.endswith("; it has no p.")
    [first] = look_at(workspace, "d", [("r1", "r2", 0.01)])
    assert first.holm == 0.01


def test_a_torn_line_is_left_out(workspace: Workspace) -> None:
    look_at(workspace, "d", [("r1", "r2", 0.2)])
    [file] = (workspace.settings.data / "comparisons").iterdir()
    file.write_bytes(
        file.read_bytes()
        + b'{"a": "r1", "b": "r9", "p"\n[1]\n{"a": 1, "p": 0.5}\n{"a": "x", "b": "y", "p": 7}\n'
    )
    assert read_looked(workspace, "d") == {("r1", "r2"): 0.2}


def test_a_reader_sees_the_count_and_writes_nothing(workspace: Workspace) -> None:
    look_at(workspace, "d", [("r1", "r2", 0.2)])
    closed = replace(workspace, settings=replace(workspace.settings, read_only=True))
    [found] = look_at(closed, "d", [("r1", "r3", 0.1)])
    assert (found.n, found.holm) == (2, 0.2)
    assert len(read_looked(workspace, "d")) == 1
    with pytest.raises(ReadOnly, match="look at comparisons d: refused"):
        write_looked(closed, "d", {("r1", "r3"): 0.1})


@pytest.mark.soak
def test_results_of_the_ledger_are_of_the_same_family(small_workspace: Workspace) -> None:
    """p of the ledger's result (z 3): 0.0027; of comparisons looked at: 0.02 and 0.3. Holm of the three: 0.0081, 0.04, 0.3."""
    with small_workspace.store.read() as db:
        [dataset] = datasets.list_all(db)
    measured = {"z": 3.0, "estimate": 0.03, "low": 0.01, "high": 0.05, "se": 0.01}
    result = Entry(
        kind="result", source=HERE, name="h", hypothesis="h", dataset=dataset.name, **measured
    )
    with small_workspace.store.write() as db:
        ledger_table.add(
            db, replace(result, author="a", code_version="v", run_a="x", run_b="y", metric="mean")
        )
    found = look_at(small_workspace, dataset.id, [("a", "b", 0.02), ("a", "c", 0.3)])
    assert [(one.n, round(one.holm, 4)) for one in found] == [(3, 0.04), (3, 0.3)]
    [line] = list_ledger(small_workspace).hypotheses
    assert (line.tests, round(line.p_holm, 4)) == (3, 0.0081)
    [recorded] = look_at(
        small_workspace, dataset.id, [("x", "y", 0.0027)]
    )  # the result itself counts once
    assert (recorded.n, round(recorded.holm, 4)) == (3, 0.0081)
    with (
        small_workspace.store.write() as db
    ):  # a second result of the same pair is a second test, here and in the ledger
        ledger_table.add(
            db,
            replace(
                result, author="a", code_version="v", run_a="x", run_b="y", metric="mean", note="2"
            ),
        )
    [again] = look_at(small_workspace, dataset.id, [("x", "y", 0.0027)])
    assert again.n == list_ledger(small_workspace).hypotheses[0].tests == 4
