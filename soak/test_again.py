"""Twenty rows asked again with a card that matters and one that does not; tests/features/asking/ has one row."""

from __future__ import annotations

from pathlib import Path

from core.features.asking.askings import AgainRequest, plan_again
from core.features.asking.result import RowAskedAgain, row_asked_again
from core.runs import launch
from core.runs.request import RunRequest
from core.runs.workspace import Workspace
from core.store import predictions
from soak.conftest import Record
from tests import worlds
from tests.asked_again import make_all, without
from tests.fakes import scripted as scripted_server
from tests.fakes.scripted import Script
from tests.moving_evidence import MOVES, TOOLS, answer_moved_by

ROWS, LEAST, MOST_FALSE = 20, 18, 4
INERT = "base_rates"


def judged(folder: Path, url: str, rows: int) -> tuple[Workspace, list[str]]:
    """A workspace with a debate "judged" on so many rows, and their ids."""
    workspace = worlds.workspace_in(folder)
    worlds.furnish(workspace)
    options = {"rounds": 0, "tools": ",".join(TOOLS)}
    asked = RunRequest(
        "debate", None, options, f"split=train;sample={rows}", "judged", "scripted", endpoint=url
    )
    run = launch.start(workspace, asked)
    with workspace.store.read() as db:
        return workspace, predictions.frame(db, run.id)["pair_id"].tolist()


def ask(workspace: Workspace, row: str, tool: str, url: str) -> RowAskedAgain:
    changes = without(workspace, "judged", row, tool)
    made = make_all(
        workspace, plan_again(workspace, AgainRequest("judged", row, changes, endpoint=url))
    )
    with workspace.store.read() as db:
        return row_asked_again(db, row, *made)


def test_what_matters_is_outside_and_what_does_not_is_inside(
    tmp_path: Path, record: Record
) -> None:
    with scripted_server.serving(
        Script(seed=0, answer=answer_moved_by(MOVES, effect=15, noise=5))
    ) as url:
        workspace, rows = judged(tmp_path, url, ROWS)
        outside = {
            tool: sum(
                any(each.outside for each in ask(workspace, row, tool, url).answers) for row in rows
            )
            for tool in (MOVES, INERT)
        }
    record(rows=ROWS, outside_that_matter=outside[MOVES], outside_that_do_not=outside[INERT])
    assert outside[MOVES] >= LEAST
    assert outside[INERT] <= MOST_FALSE  # one of twenty is expected, by both numbers together
