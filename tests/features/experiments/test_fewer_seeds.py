"""A mean over fewer seeds than asked is told wherever its run is: in commands, on Overview, in Debates and on Submit."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from core.features.submissions.parsed import CSV
from core.runs.workspace import Workspace
from tests.commands import core, core_json
from tests.llm.canned import Asked, Canned, completion
from tests.llm.canned import serving as canned
from tests.runs.cases import workspace_with
from tests.ui.conftest import Visit
from tests.ui.test_apptest import listed, text_of, the_run
from tests.worlds import workspace_in

pytestmark = pytest.mark.soak

ROWS = 6
LETTERS = {42: "A", 43: "B", 44: "C"}


def unreadable_under_44(asked: Asked) -> Canned:
    """A, B and C under the seeds; under 44 nothing that can be read for the perturbations Qb0 to Qb2."""
    if asked.path != "/v1/chat/completions":
        return Canned({"error": "no"}, 404)
    seed, said = asked.body["seed"], asked.body["messages"][0]["content"]
    hidden = seed == 44 and any(f"Qb{i}" in said for i in range(3))
    return Canned(completion("Hard to say." if hidden else f"<answer>{LETTERS[seed]}</answer>"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A run over test rows of which some have an unreadable seed; nobody changes it."""
    workspace = workspace_with(tmp_path_factory.mktemp("seeds"), ROWS)
    with canned(unreadable_under_44) as (url, _):
        arguments = (
            "run",
            "prompt_only",
            "--name",
            "asked",
            "--endpoint",
            url,
            "--model",
            "m",
            "--rows",
            "split=test",
        )
        core_json(workspace, *arguments)
    return workspace_in(workspace.settings.workspace)


def partial(workspace: Workspace) -> list[str]:
    """The rows whose flag says so, each of which is (.5, .5), the mean of A and B; every other is a third of each."""
    with workspace.store.read() as db:
        found = db.execute(
            "SELECT pair_id, prediction_up, prediction_down, flags FROM prediction ORDER BY pair_id"
        ).fetchall()
    for _, up, down, flags in found:
        assert (up, down) == ((0.5, 0.5) if flags else (pytest.approx(1 / 3), pytest.approx(1 / 3)))
    return [key for key, _, _, flags in found if flags == ["fewer_seeds"]]


def test_commands_count_them(made: Workspace, tmp_path: Path) -> None:
    place, rows = made.settings.workspace, partial(made)
    assert 0 < len(rows) < ROWS
    [run] = core_json(place, "runs")["runs"]
    assert (run["fewer_seeds"], run["fallbacks"], run["done"]) == (len(rows), 0, ROWS)
    assert f"fewer seeds {len(rows)}" in core(place, "runs").out
    problems = core_json(
        place, "package", "asked", "--track", "A", "--out", str(tmp_path / "a.zip")
    )["problems"]
    [told] = [problem for problem in problems if problem["rule"] == "fewer_seeds"]
    assert (told["severity"], sorted(told["rows"])) == ("look", rows)
    assert told["message"].startswith(f"{len(rows)} rows average fewer seeds than requested")


def test_check_finds_them_in_a_file_whose_run_is_unknown(made: Workspace, tmp_path: Path) -> None:
    place, out = made.settings.workspace, tmp_path / "a.zip"
    core_json(place, "package", "asked", "--track", "A", "--out", str(out))
    for file in (out, tmp_path / CSV):
        if file is not out:
            file.write_bytes(zipfile.ZipFile(out).read(CSV))
        found = {
            problem["rule"]: problem["rows"]
            for problem in core_json(place, "check", str(file), "--track", "A")["problems"]
        }
        assert sorted(found["fewer_seeds"]) == partial(made)


def test_overview_links_to_them(made: Workspace, visit: Visit) -> None:
    shown = text_of(visit(made, "overview"))
    assert (
        f"{len(partial(made))} of {ROWS} rows: a mean over fewer seeds or epochs than requested"
        in shown
    )


def test_debates_filters_by_it_and_says_of_how_many(made: Workspace, visit: Visit) -> None:
    rows, run = partial(made), the_run(made, "asked").id
    assert sorted(listed(visit(made, "rows", run=run, flags="fewer seeds"))) == rows
    shown = text_of(visit(made, "rows", run=run, row=rows[0])).replace("\\", "")
    assert "fewer seeds" in shown
    assert "up and down: mean of 2 of 3 seeds" in shown
    assert "Mean over 2 of 3 seeds: up 0.500000, down 0.500000." in shown
