"""What a person should look at, in words."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from core.base.types import LIVE_STATES, Flag
from core.features.reading.overview.concerns import concerns_of_run
from core.runs.run_state import State
from core.runs.workspace import Workspace
from core.store import runs
from core.store.runs import Run


@pytest.fixture
def run(small_workspace: Workspace) -> Run:
    with small_workspace.store.read() as db:
        found = runs.find(db, "debate")
    return replace(found, total=300, done=300, failed=0, tokens_unknown=0)


@pytest.mark.parametrize(
    ("state", "text", "to_do"),
    [
        ("crashed", "crashed", "resume it on the page Run"),
        ("stopped", "stopped", "fix the cause, then resume it on the page Run"),
        ("budget", "token budget spent", "resume it on the page Run with a larger budget"),
        ("interrupted", "interrupted", "resume it on the page Run"),
        ("cancelled", "cancelled", "resume it on the page Run, or leave it"),
    ],
)
def test_a_run_that_ended_early_comes_first_with_what_to_do(
    run: Run, state: str, text: str, to_do: str
) -> None:
    text = f"{text}: 123 of 300 rows are finished"
    ended = replace(run, status=state, cause="why", done=120, failed=3)
    first, second = concerns_of_run(ended, {}, can_go_on=True)
    assert (first.of, first.text, first.cause) == ("debate", f"{text}; {to_do}", "why")
    assert second.text == "3 of 123 rows failed"
    # it came in a bundle: no worker of this workspace can go on with it
    [elsewhere, _] = concerns_of_run(ended, {}, can_go_on=False)
    assert (elsewhere.text, elsewhere.cause) == (text, "why")


def test_runs_that_wait_for_nobody_are_no_concern(run: Run) -> None:
    quiet = {"done", *LIVE_STATES}
    found = {
        state
        for state in get_args(State)
        if [*concerns_of_run(replace(run, status=state), {}, can_go_on=True)]
    }
    assert found == set(get_args(State)) - quiet


def test_flags_remarks_and_missing_counts_are_said(run: Run) -> None:
    some = replace(run, tokens_unknown=7)
    found = concerns_of_run(some, {Flag.UNIFORM: 5}, ["a remark"], can_go_on=True)
    assert [each.text.partition(":")[0] for each in found] == [
        "5 of 300 rows",
        "a remark",
        "token count missing for 7 of 300 rows",
    ]
