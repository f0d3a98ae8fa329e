"""The published files and the competition's samples, as the checker sees them."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.base.tables import MAX_CELL_CHARACTERS
from core.base.types import RowResult, Track
from core.features.importing.reader import read
from core.features.importing.submissions import SubmissionTable
from core.features.submissions.package import Contents, as_zip
from core.features.submissions.rules import check, is_valid
from core.runs.workspace import Workspace
from core.store import runs, traces
from tests.commands import core, core_json
from tests.conftest import SHARED_DATA

pytestmark = pytest.mark.real

POOL = "track_a_logprobs_train2499"
FUSED = {"trace_differs": 1813, "fallbacks": 59}
WARNINGS = {  # rule → rows that it names
    "track_b_sharp": ("B", {"ties": 1362, "fallbacks": 59}),
    "track_b_knn_fusion": ("B", FUSED),
    "track_b_scgpt_fusion": ("B", FUSED),
    "track_b_scgpt_fusion_wdir07": ("B", FUSED),
    "track_b_react": ("B", {"ties": 1813}),
    "track_c_qwen3_4b": ("C", {"ties": 1813, "fallbacks": 17}),
}
EMPTY = {"constant_columns": 0, "ties": 1813, "fallbacks": 1813, "empty_traces": 1813}

Ids = Callable[[Path], list[str]]


@pytest.fixture(scope="module")
def ids() -> Ids:
    def load(path: Path) -> list[str]:
        csv.field_size_limit(MAX_CELL_CHARACTERS)
        return [row["id"] for row in csv.DictReader(io.StringIO(inside(path).decode(), newline=""))]

    return load


def inside(path: Path) -> bytes:
    if path.suffix != ".zip":
        return path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        return archive.read("submission.csv")


def counted(problems: list[Any]) -> dict[str, int]:
    return {problem.rule: len(problem.rows) for problem in problems}


@pytest.mark.soak
@pytest.mark.parametrize("name", WARNINGS)
def test_the_published_files_are_valid(shared_data: Path, ids: Ids, name: str) -> None:
    track, warnings = WARNINGS[name]
    test = ids(shared_data / "challenge" / "test.csv")
    path = shared_data / "perturbagent" / f"{name}.zip"
    bare = check(inside(path), f"{name}.csv", track, test)
    assert is_valid(bare)
    assert counted(bare) == warnings
    zipped = check(path.read_bytes(), path.name, track, test)
    missing = {"prompt_missing"} | ({"tools_missing"} if track == "B" else set())
    assert is_valid(zipped)
    assert [problem for problem in zipped if problem.rule not in missing] == bare
    assert missing <= {problem.rule for problem in zipped}


@pytest.mark.soak
def test_the_labelled_pool_is_valid_for_its_own_rows(shared_data: Path, ids: Ids) -> None:
    content = inside(shared_data / "perturbagent" / f"{POOL}.zip")
    own = ids(shared_data / "perturbagent" / f"{POOL}.zip")
    assert check(content, POOL, "A", own) == []
    against_test = check(content, POOL, "A", ids(shared_data / "challenge" / "test.csv"))
    assert counted(against_test) == {"missing_ids": 1813, "unknown_ids": 2499}
    # train.csv has them in another order, and more of them
    against_train = counted(check(content, POOL, "A", ids(shared_data / "challenge" / "train.csv")))
    assert against_train["missing_ids"] == 7705 - 2499
    assert set(against_train) == {"missing_ids"}


@pytest.mark.soak
@pytest.mark.parametrize(
    ("track", "model"), [("A", "other_model"), ("B", "other_model"), ("C", "model_size")]
)
def test_the_samples_are_valid_and_empty(
    shared_data: Path, ids: Ids, track: Track, model: str
) -> None:
    path = shared_data / "challenge" / f"sample_submission_track_{track.lower()}.csv"
    found = check(path.read_bytes(), path.name, track, ids(shared_data / "challenge" / "test.csv"))
    assert is_valid(found)
    assert counted(found) == EMPTY | {model: 1813}


def test_the_organizers_own_output_is_valid(shared_data: Path, ids: Ids) -> None:
    """Its columns stand in another order than the kit's."""
    path = SHARED_DATA.parent / "field/challenge/false_invalid/organizers_track_a_default.zip"
    if not path.is_file():
        pytest.skip(f"needs {path}")
    found = check(path.read_bytes(), path.name, "A", ids(shared_data / "challenge" / "test.csv"))
    assert is_valid(found)
    assert "against_rules" not in {problem.severity for problem in found}


@pytest.mark.soak
def test_the_smallest_sample_is_of_no_track(shared_data: Path, ids: Ids) -> None:
    path = shared_data / "challenge" / "sample_submission.csv"
    for track in ("A", "B", "C"):
        found = check(
            path.read_bytes(), path.name, track, ids(shared_data / "challenge" / "test.csv")
        )
        assert [problem.rule for problem in found if problem.severity == "rejected"] == [
            "missing_columns"
        ]


def texts_of(row: RowResult) -> tuple[float, float, dict[str, str]]:
    texts = {
        event.stage: event.content
        for event in row.events
        if event.content.strip() not in ("", "none")
    }
    return row.prediction.prediction_up, row.prediction.prediction_down, texts


@pytest.mark.soak
@pytest.mark.parametrize(
    "name",
    [
        name
        if name in ("track_b_sharp", "track_c_qwen3_4b")
        else pytest.param(name, marks=pytest.mark.soak)
        for name in WARNINGS
        if name not in ("track_b_knn_fusion", "track_b_scgpt_fusion")
    ],
)
def test_a_published_run_survives_being_packaged(real_workspace: Workspace, name: str) -> None:
    track, _ = WARNINGS[name]
    with real_workspace.store.read() as db:
        run = runs.find(db, name)
        rows = traces.rows(db, run.id)
    made = Contents(
        track, list(rows.values()), run.model or "", run.method, "A prompt.", {"a.py": b"pass"}
    )
    content = as_zip(made)
    found = read(content, name)
    assert isinstance(found, SubmissionTable)
    if track == "A":  # whose columns hold each seed's text and the numbers
        assert [texts_of(row) for row in found.rows] == [texts_of(row) for row in made.rows]
    else:
        assert [(row.prediction, row.events) for row in found.rows] == [
            (row.prediction, row.events) for row in made.rows
        ]
    assert is_valid(check(content, name, track, list(rows)))


@pytest.mark.soak
def test_through_the_commands(
    real_workspace: Workspace, shared_data: Path, ids: Ids, tmp_path: Path
) -> None:
    folder = real_workspace.settings.workspace
    pool = shared_data / "perturbagent" / f"{POOL}.zip"
    rows = tmp_path / "ids.csv"
    rows.write_text("\n".join(["id", *ids(pool)]))
    result = core_json(folder, "check", str(pool), "--track", "A", "--rows", f"ids={rows}")
    assert [problem["rule"] for problem in result["problems"]] == ["prompt_missing"]
    fused = shared_data / "perturbagent" / "track_b_knn_fusion.zip"
    done = core(folder, "check", str(fused), "--track", "B")
    assert done.status == 0
    assert done.out.startswith(
        f"{fused}: valid for track B\nagainst the rules: 2\n  prompt_missing: "
    )
    assert "1,813 rows: Slc35b1_Pdia6" in done.out
