"""Runs of SUMMER whose workers are killed, beside one that is left alone; soak/test_summer.py has the long form."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from core.features.importing.actions import import_upload
from core.features.importing.import_target import ImportOptions
from core.features.perturbqa.methods.summer import METHOD
from core.runs import run_control
from core.runs.journal import read_progress
from core.runs.workspace import Workspace
from core.store.runs import Run
from tests.fakes.scripted import Script, serving
from tests.runs.cases import end_worker, fast, status, until, until_state, wish, workspace_with
from tests.runs.test_killed import journalled, stored

AT_ONCE = 8


@dataclass(frozen=True)
class Pair:
    """The same run in two workspaces: one whose worker was killed, and one that was left alone."""

    killed: Workspace
    run: Run
    whole: Workspace
    expected: Run


def workspace_with_packs(folder: Path, rows: int) -> Workspace:
    """Rows about seven perturbations, with entries and edges of most of their genes."""
    workspace = workspace_with(folder, rows)
    descriptions = {f"Qb{i}": f"A kinase of the membrane, number {i}." for i in range(6)}
    descriptions |= {f"Hb{i}": f"A gene of the nucleus, number {i}." for i in range(0, rows, 2)}
    edges = [[f"Qb{i}", f"Pa{i}", 950] for i in range(7)] + [
        [f"Ga{i}", f"Hb{i}", 950] for i in range(min(rows, 10))
    ]
    for name, content in (("described", descriptions), ("edges", edges)):
        assert (
            import_upload(
                workspace, json.dumps(content).encode(), f"{name}.json", ImportOptions()
            ).kind
            != "failed"
        )
    return workspace


def run_with_kills(folder: Path, rows: int, kills: int, delay_s: float) -> Pair:
    """A run whose worker process gets SIGKILL at `kills` moments, each when a few more rows are finished."""
    rng = random.Random(rows)
    with serving(Script(delay_s=delay_s)) as url:
        whole = workspace_with_packs(folder / "whole", rows)
        settings = fast(url, rows_in_flight=AT_ONCE, timeout_s=20.0)
        expected = run_control.start(whole, wish(whole, METHOD, model="scripted"), "r", settings)
        until_state(whole, expected, "done")
        expected = run_control.settle(whole, expected.id)
    with serving(Script(delay_s=delay_s)) as url:
        killed = workspace_with_packs(folder / "killed", rows)
        settings = fast(url, rows_in_flight=AT_ONCE, timeout_s=20.0)
        run = run_control.start(killed, wish(killed, METHOD, model="scripted"), "r", settings)
        for kill in range(kills):
            least = int((rows - AT_ONCE) * (kill + rng.random()) / kills)
            until(
                lambda least=least: (
                    len(read_progress(killed.run_folder(run.id).rows).finished) >= least
                ),
                f"row {least}",
            )  # type: ignore[misc]
            end_worker(killed, run)
            until(lambda: status(killed, run).state == "crashed", "the crash to be seen")
            run_control.resume(killed, run.id)
        until_state(killed, run, "done")
    return Pair(killed, run_control.settle(killed, run.id), whole, expected)


def assert_equal_to_undisturbed(pair: Pair, rows: int) -> None:
    """Every table of the store holds the same, and the journal has each row once."""
    assert sorted(journalled(pair.killed, pair.run)) == sorted(
        set(journalled(pair.killed, pair.run))
    )
    assert (pair.run.status, pair.run.done, pair.run.failed, pair.run.tokens) == (
        "done",
        rows,
        0,
        pair.expected.tokens,
    )
    ours, theirs = stored(pair.killed), stored(pair.whole)
    assert list(ours) == list(theirs)
    for name, table in theirs.items():
        pd.testing.assert_frame_equal(ours[name], table, obj=name)
    # The summaries of a gene are paid for once, though every row that rests on them counts their tokens.
    assert pair.expected.spent_tokens < pair.expected.tokens
    calls = ours["row_call"]
    assert (calls["stage"] == "summarise").sum() > calls.loc[
        calls["stage"] == "summarise", "key"
    ].nunique()
