"""What a person should look at, in words."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from core.base.types import LIVE_STATES
from core.features.reading.overview.concerns import Concern, RunFacts, find_concerns
from core.runs.run_state import State

FACTS = RunFacts(
    id="r1",
    name="run",
    state="done",
    cause="",
    can_go_on=True,
    total=300,
    done=300,
    failed=0,
    tokens_unknown=0,
    flags={},
)


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
    state: str, text: str, to_do: str
) -> None:
    text = f"{text}: 123 of 300 rows are finished"
    facts = replace(FACTS, state=state, cause="why", done=120, failed=3)
    first = Concern("r1", f"{text}; {to_do}", on_run_page=True, cause="why")
    assert find_concerns([facts], 0) == [first, Concern("r1", "3 of 123 rows failed")]
    elsewhere = replace(
        facts, can_go_on=False
    )  # it came in a bundle: no worker of this workspace can go on with it
    assert find_concerns([elsewhere], 0)[0] == Concern("r1", text, cause="why")


def test_runs_that_wait_for_nobody_are_no_concern() -> None:
    quiet = {"done", *LIVE_STATES}
    found = {state for state in get_args(State) if find_concerns([replace(FACTS, state=state)], 0)}
    assert found == set(get_args(State)) - quiet
