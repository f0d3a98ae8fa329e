"""SUMMER as people start it: on the simulated demo by the command, and by a worker that is killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.runs.workspace import Workspace
from tests.commands import core_json
from tests.fakes.scripted import request_counts, serving
from tests.features.perturbqa.summer_runs import assert_equal_to_undisturbed, run_with_kills

ROWS = 120  # fewer have no pair of rows up and down inside one cell of the folds


@pytest.mark.soak
def test_rows_of_each_task_on_the_demo(little_copy: Workspace) -> None:
    place = little_copy.settings.workspace
    for task, other in (("de", "dir"), ("dir", "de")):
        with serving() as url:
            arguments = [
                "--dataset",
                "simulated",
                "--endpoint",
                url,
                "--rows",
                f"split=train; sample={ROWS}",
            ]
            made = core_json(
                place, "run", "summer", "--name", task, *arguments, "--set", f"task={task}"
            )
            asked = request_counts(url)["/v1/chat/completions"]
        assert (made["status"], made["done"], made["failed"]) == ("done", ROWS, 0)
        # The demo has no knowledge packs, so there is nothing to summarise; one more request finds out which model is served.
        assert asked == 3 * ROWS + 1
        score = core_json(place, "score", task)
        assert 0 < score[task]["estimate"] < 1
        assert score[other] is None
    assert [
        run["fallbacks"] for run in core_json(place, "runs")["runs"] if run["method"] == "summer"
    ] == [0, 0]


@pytest.mark.soak
def test_a_run_whose_worker_was_killed_is_the_run_that_was_not(tmp_path: Path) -> None:
    assert_equal_to_undisturbed(run_with_kills(tmp_path, 12, kills=1, delay_s=0.02), 12)
