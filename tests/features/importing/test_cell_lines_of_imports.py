"""A cell line of PerturbQA is one dataset: its files come and go in any order, and what is left is what they alone would give."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import StateError
from core.features.importing.actions import import_upload
from core.features.importing.import_target import Imported, ImportOptions
from core.features.importing.imported_rows import undo
from core.runs.workspace import Workspace
from core.scoring.run_scores import load_scored_rows, score_run
from core.store import changes, datasets, imports, pairs, runs
from tests import cases
from tests.strength import examples
from tests.worlds import workspace_in

Rows = Sequence[tuple[str, str, int, str]]
DE = [
    ("A", "X", 1, "train"),
    ("A", "Y", 0, "train"),
    ("B", "X", 1, "test"),
    ("B", "Y", 0, "test"),
]
DIR = [("A", "X", 1, "train"), ("B", "X", 0, "test")]


def file_of(rows: Rows) -> bytes:
    return cases.as_csv(["pert", "gene", "label", "split"], rows)


def bring(workspace: Workspace, rows: Rows, file: str, **options: object) -> Imported:
    return import_upload(workspace, file_of(rows), file, ImportOptions(**options))  # type: ignore[arg-type]


def labels(workspace: Workspace, name: str = "k562") -> dict[str, str | None]:
    with workspace.store.read() as db:
        return pairs.labels(db, datasets.find(db, name).id)


def content(workspace: Workspace) -> dict[str, object]:
    """All that files of pairs leave, but for times; the genes that were described once stay."""
    with workspace.store.read() as db:
        tables = ("dataset", "pair", "file_row", "import", "rejected_row")
        drop = {"imported_at", "created_at"}
        frames = {name: db.execute(f"SELECT * FROM {name}").df() for name in tables}
    kept = {
        name: frame[[column for column in frame if column not in drop]]
        for name, frame in frames.items()
    }
    return {
        name: sorted(json.dumps(row) for row in frame.astype(str).to_dict("records"))
        for name, frame in kept.items()
    }


def test_one_file_alone(workspace: Workspace) -> None:
    assert bring(workspace, DIR, "K562-dir.csv").name == "k562"
    assert labels(workspace) == {"A_X": "up", "B_X": "down"}
    outcome = bring(workspace, DE, "k562-DE.csv")
    assert (outcome.rows, outcome.message) == (4, "k562 has 4 rows now, 2 of them with a direction")
    undo(workspace, "K562-dir.csv")
    assert labels(workspace) == {"A_X": "de", "A_Y": "none", "B_X": "de", "B_Y": "none"}
    undo(workspace, "k562-DE.csv")
    with workspace.store.read() as db:
        assert datasets.list_all(db) == []


@pytest.mark.soak
def test_a_contradiction_is_rejected_in_either_order_and_comes_back(workspace: Workspace) -> None:
    wrong = [("A", "Y", 1, "train"), ("A", "X", 1, "train"), ("B", "X", 1, "train")]
    detail = {
        (2, "A_Y has label up in k562-dir.csv, label none in k562-de.csv"),
        (4, "B_X has split train in k562-dir.csv, split test in k562-de.csv"),
    }
    bring(workspace, DE, "k562-de.csv")
    outcome = bring(workspace, wrong, "k562-dir.csv")
    assert {(row.line, row.detail) for row in outcome.rejected} == detail
    assert (outcome.rows, {row.reason for row in outcome.rejected}) == (1, {"conflicting label"})
    first = content(workspace)
    undo(workspace, "k562-de.csv")
    assert labels(workspace) == {"A_Y": "up", "A_X": "up", "B_X": "up"}
    with workspace.store.read() as db:
        assert imports.rejected_rows(db).empty
    again = bring(workspace, DE, "k562-de.csv")
    assert again.rejected == ()
    assert "2 rows of k562-dir.csv contradict it and are rejected" in again.message
    assert content(workspace) == first
    undo(workspace, "k562-de.csv")
    assert "2 rows rejected" in bring(workspace, DE, "k562-de.csv", strict=True).message
    assert labels(workspace) == {"A_Y": "up", "A_X": "up", "B_X": "up"}


def test_a_line_takes_no_other_files(workspace: Workspace) -> None:
    bring(workspace, DE, "k562-de.csv")
    assert import_upload(workspace, cases.TRAIN, "train.csv").name == "bmdm"
    refused = import_upload(
        workspace, cases.TRAIN + b"Px_Gx,Px,Gx,up\n", "more.csv", ImportOptions(dataset="k562")
    )
    assert (
        refused.message
        == "more.csv: no file of PerturbQA, but dataset k562 is one of its cell lines"
    )
    refused = bring(workspace, DIR, "k562-dir.csv", dataset="bmdm")
    assert (
        refused.message
        == "k562-dir.csv: a file of PerturbQA, but dataset bmdm is none of its cell lines"
    )
    assert bring(workspace, DIR, "other-dir.csv", dataset="k562").name == "k562"


@pytest.mark.soak
def test_a_file_whose_rows_are_all_rejected_is_refused(workspace: Workspace) -> None:
    content = cases.as_csv(
        ["pert", "gene", "label", "split"], [("A", "X", "DE", "train"), ("A", "Y", "no", "train")]
    )
    for n_files in range(2):  # alone, and beside another one
        refused = import_upload(workspace, content, "k562-de.csv")
        assert (
            "no row could be imported (the first, line 2: bad label, 'DE', expected 0 or 1)"
            in refused.message
        )
        if not n_files:
            bring(workspace, DIR, "k562-dir.csv")


def run_on(workspace: Workspace, *ids: str) -> None:
    numbers = {"A_X": (0.6, 0.3), "A_Y": (0.1, 0.2), "B_X": (0.2, 0.5), "B_Y": (0.2, 0.6)}
    rows = [(key, *numbers[key], "none") for key in ids]
    assert import_upload(workspace, cases.submission(rows), "run.csv").rows == len(ids)


def test_a_run_stays_while_its_labels_change_and_is_scored_by_those_of_now(
    workspace: Workspace,
) -> None:
    bring(workspace, DE, "k562-de.csv")
    run_on(workspace, "A_X", "A_Y", "B_X", "B_Y")
    scores = []
    for change in (
        lambda: None,
        lambda: bring(workspace, DIR, "k562-dir.csv"),
        lambda: undo(workspace, "k562-dir.csv"),
    ):
        with workspace.store.read() as db:
            counters = changes.versions(db)["datasets"]
        change()
        with workspace.store.read() as db:
            rows = load_scored_rows(db, "run")
            scores.append(score_run(rows).whole)
            assert (
                changes.versions(db)["datasets"] > counters or len(scores) == 1
            )  # by which pages know that labels changed
    # P(DE): .9 > .3 and .7 < .8, so DE ranks 3 of 4 pairs; P(up | DE): 2/3 of the one that went up > 2/7
    assert [found.de.value for found in scores] == [0.75, 0.75, 0.75]
    assert [found.dir.value for found in scores[1:2]] == [1.0]
    assert all(found.dir.value != found.dir.value for found in scores[::2])


@pytest.mark.soak
def test_a_run_blocks_only_the_undo_that_takes_its_rows(workspace: Workspace) -> None:
    bring(workspace, DIR, "k562-dir.csv")
    bring(workspace, DE, "k562-de.csv")
    run_on(workspace, "A_X", "A_Y")
    before = content(workspace)
    with pytest.raises(
        StateError, match=r"k562-de.csv: 1 runs predict its rows \(run\); undo those first"
    ):
        undo(workspace, "k562-de.csv")
    assert content(workspace) == before
    undo(workspace, "k562-dir.csv")
    undo(workspace, "k562-de.csv", with_runs=True)
    with workspace.store.read() as db:
        assert runs.list_all(db) == []
        assert datasets.list_all(db) == []


SYMBOLS = st.sampled_from(["A", "B", "A_B"])
ROW = st.tuples(
    SYMBOLS,
    st.sampled_from(["X", "Y", "B_X"]),
    st.integers(0, 1),
    st.sampled_from(["train", "test"]),
)
FILE = st.lists(ROW, min_size=1, max_size=6)
NAMES = ("k562-de.csv", "k562-dir.csv", "k562-DE.csv", "hepg2-dir.csv")


@pytest.mark.soak
def test_imports_and_undos_in_any_order_leave_what_is_left(tmp_path: Path) -> None:
    """Each step imports a file, or undoes it if it is there; another workspace gets only what is left at the end."""
    played, fresh = (workspace_in(tmp_path / name) for name in ("a", "b"))
    empty = content(played)

    @examples(8)
    @given(
        files=st.tuples(*[FILE] * len(NAMES)).filter(
            lambda files: len({file_of(rows) for rows in files}) == len(files)
        ),
        steps=st.lists(st.integers(0, len(NAMES) - 1), max_size=7),
    )
    def play(files, steps):
        present = []
        for step in steps:
            if step in present:
                undo(played, NAMES[step])
                present.remove(step)
            elif (
                bring(played, files[step], NAMES[step]).kind != "failed"
            ):  # all of its rows contradict those that are here
                present.append(step)
        left = sorted(
            present, key=lambda step: "-de" in NAMES[step].lower()
        )  # -dir files first: then none is refused
        for step in left:
            bring(fresh, files[step], NAMES[step])
        assert content(played) == content(fresh)
        for step in left:
            undo(played, NAMES[step])
            undo(fresh, NAMES[step])
        assert content(played) == content(fresh) == empty

    play()
