"""Files in, and the way back."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.base.errors import InputError, NotFound, StateError
from core.base.types import Flag
from core.features.importing import actions
from core.features.importing.actions import import_paths, import_upload
from core.features.importing.import_target import ImportOptions
from core.features.importing.imported_rows import undo
from core.runs.workspace import Workspace, open_workspace
from core.store import changes, datasets, imports, pairs, predictions, runs
from tests import bundled, cases, worlds


def everything(workspace: Workspace) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table but the counters and the trail."""
    return {
        name: rows
        for name, rows in bundled.everything(workspace).items()
        if name not in ("version", "trail")
    }


@contextmanager
def unchanged(workspace: Workspace) -> Iterator[None]:
    """What is done meanwhile changes nothing in the store, but for the counters and the trail, and no file beside it."""
    before = everything(workspace), worlds.kept_files(workspace)
    yield
    assert (everything(workspace), worlds.kept_files(workspace)) == before


@pytest.mark.soak
def test_train_and_test_become_splits_of_one_dataset(workspace: Workspace) -> None:
    first = import_upload(workspace, cases.TRAIN, "train (1).csv")
    second = import_upload(workspace, cases.TEST, "test2.csv")
    assert (first.kind, first.name, first.rows) == ("challenge_train", "bmdm", 4)
    assert (second.kind, second.name, second.rows) == ("challenge_test", "bmdm", 2)
    with workspace.store.read() as db:
        [dataset] = datasets.list_all(db)
        assert pairs.frame(db, dataset.id)["split"].tolist() == ["train"] * 4 + ["test"] * 2
        assert (
            dict(db.execute("SELECT symbol, naming FROM gene").fetchall())["Gm12"] == "gene model"
        )


def test_a_submission_becomes_a_run_with_its_flags(small_workspace: Workspace) -> None:
    with small_workspace.store.read() as db:
        run = runs.find(db, "debate")
        rows = predictions.frame(db, run.id).set_index("pair_id")
    assert (run.method, run.track, run.model, run.done, run.status) == (
        "debate",
        "B",
        "some/model",
        4,
        "done",
    )
    # Pb_Ga was changed after its trace, Pc_Gc was never predicted, and Pa_Gb's UP answered with an option
    assert list(rows.loc["Pb_Ga", "flags"]) == [Flag.TRACE_DIFFERS]
    assert list(rows.loc["Pc_Gc", "flags"]) == [Flag.UNIFORM]
    assert list(rows.loc["Pa_Gb", "flags"]) == [Flag.ROLE_COLLAPSE]
    assert (run.fallbacks, run.collapsed, run.tokens) == (1, 1, 400)
    assert rows.loc["Pa_Ga", "p_source"] == "trace"
    assert rows.loc["Pb_Ga", "p_source"] == "file"


@pytest.mark.soak
def test_importing_twice_changes_nothing(small_workspace: Workspace) -> None:
    with unchanged(small_workspace):
        again = import_upload(
            small_workspace, cases.DEBATES, "under another name.csv", ImportOptions(name="other")
        )
        assert (again.new, again.name, again.rows) == (False, "debate", 4)
        assert "nothing changed" in again.message


@pytest.mark.soak
def test_a_run_with_the_predictions_of_another_is_named(small_workspace: Workspace) -> None:
    """Another order of rows and another trace make another file of the same predictions; one other number makes another run."""
    rows = [
        ("Pa_Ga", 0.5, 0.1, cases.debate_trace(0.6, 5 / 6)),
        ("Pb_Ga", 0.2, 0.3, cases.debate_trace(0.5, 0.4)),
    ]
    first = import_upload(small_workspace, cases.submission(rows), "first.csv")
    renamed = import_upload(small_workspace, cases.submission(rows[::-1]), "renamed.csv")
    assert first.message == ""
    assert renamed.message == "renamed has the same predictions as first: they are one run."
    other = [*rows[:1], ("Pb_Ga", 0.2, 0.31, cases.debate_trace(0.51, 20 / 51))]
    assert import_upload(small_workspace, cases.submission(other), "other.csv").message == ""
    with small_workspace.store.read() as db:
        assert [run.name for run in runs.list_same(db, runs.find(db, "first"))] == ["renamed"]
        assert runs.list_same(db, runs.find(db, "debate")) == []


@pytest.mark.soak
def test_an_import_can_be_undone(small_workspace: Workspace) -> None:
    before = everything(small_workspace)
    other = cases.submission([("Pa_Ga", 0.5, 0.1, cases.debate_trace(0.6, 5 / 6))])
    import_upload(small_workspace, other, "other.csv")
    assert everything(small_workspace) != before
    undo(small_workspace, "other.csv")
    assert everything(small_workspace) == before


def test_pairs_cannot_be_undone_under_a_run(small_workspace: Workspace) -> None:
    with unchanged(small_workspace), pytest.raises(StateError, match="debate"):
        undo(small_workspace, "train.csv")
    undo(small_workspace, "train.csv", with_runs=True)
    undo(small_workspace, "test.csv")
    left = everything(small_workspace)
    assert {name for name, rows in left.items() if rows} == {"schema_hash", "gene"}


def test_undoing_what_is_not_there(small_workspace: Workspace) -> None:
    with pytest.raises(NotFound, match=r"train\.csv"):
        undo(small_workspace, "nothing")


@pytest.mark.soak
def test_every_rejected_row_is_reported_and_the_rest_is_imported(
    small_workspace: Workspace,
) -> None:
    bad = cases.submission(
        [
            ("Pa_Ga", 0.3, 0.1, "none"),
            ("Nobody_Knows", 0.3, 0.1, "none"),
            ("Pb_Ga", 0.9, 0.9, "none"),
            ("Pa_Ga", 0.1, 0.1, "none"),
            ("Pb_Gb", 0.1, 0.2, "none"),
        ]
    )
    outcome = import_upload(small_workspace, bad, "bad.csv")
    assert outcome.rows == 2
    assert {(row.line, row.reason) for row in outcome.rejected} == {
        (3, "unknown id"),
        (4, "out of range"),
        (5, "duplicate"),
    }
    with small_workspace.store.read() as db:
        kept = imports.rejected_rows(db)
    assert kept["line"].tolist() == [3, 4, 5]
    assert set(kept["file"]) == {"bad.csv"}
    again = import_upload(small_workspace, bad, "bad.csv")
    assert {(row.line, row.reason) for row in again.rejected} == {
        (row.line, row.reason) for row in outcome.rejected
    }


@pytest.mark.soak
def test_strict_refuses_the_whole_file(small_workspace: Workspace) -> None:
    with unchanged(small_workspace):
        bad = cases.submission([("Pa_Ga", 0.3, 0.1, "none"), ("Nobody_Knows", 0.3, 0.1, "none")])
        outcome = import_upload(small_workspace, bad, "bad.csv", ImportOptions(strict=True))
        assert outcome.kind == "failed"
        assert "Nobody_Knows" in outcome.message


def test_a_conflicting_label_is_rejected(small_workspace: Workspace) -> None:
    other = cases.as_csv(
        ["id", "pert", "gene", "label"],
        [["Pa_Ga", "Pa", "Ga", "down"], ["Pb_Gb", "Pb", "Gb", "none"]],
    )
    outcome = import_upload(small_workspace, other, "labels.csv")
    assert (outcome.rows, [row.reason for row in outcome.rejected]) == (1, ["conflicting label"])
    with small_workspace.store.read() as db:
        [dataset] = datasets.list_all(db)
        assert pairs.labels(db, dataset.id)["Pa_Ga"] == "up"


def test_a_submission_before_its_pairs_says_what_to_do(workspace: Workspace) -> None:
    outcome = import_upload(workspace, cases.DEBATES, "debate.csv")
    assert outcome.kind == "failed"
    assert "train.csv" in outcome.message


@pytest.mark.soak
def test_a_folder_is_imported_in_the_order_that_works(workspace: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a.csv").write_bytes(cases.DEBATES)
    (folder / "b.zip").write_bytes(
        cases.as_zip(submission=cases.submission([("Pa_Ga", 0.1, 0.1, "none")]))
    )
    (folder / "y.csv").write_bytes(cases.TEST)
    (folder / "z.csv").write_bytes(cases.TRAIN)
    (folder / "readme.txt").write_text("hello")
    outcomes = {Path(o.path).name: o for o in import_paths(workspace, [folder])}
    assert {name: o.kind for name, o in outcomes.items()} == {
        "a.csv": "submission",
        "b.zip": "submission",
        "y.csv": "challenge_test",
        "z.csv": "challenge_train",
        "readme.txt": "unknown",
    }


def test_a_named_file_that_nobody_recognises_fails(workspace: Workspace, tmp_path: Path) -> None:
    file = tmp_path / "readme.txt"
    file.write_text("hello")
    [outcome] = import_paths(workspace, [file])
    assert outcome.kind == "failed"
    with pytest.raises(InputError, match="no such file"):
        import_paths(workspace, [tmp_path / "absent.csv"])


def test_a_taken_name_is_refused_told_apart_or_replaced(small_workspace: Workspace) -> None:
    other = cases.submission([("Pa_Ga", 0.1, 0.1, "none")])
    refused = import_upload(small_workspace, other, "x.csv", ImportOptions(name="debate"))
    assert refused.kind == "failed"
    assert "--replace" in refused.message
    told_apart = import_upload(small_workspace, other, "debate.csv")
    assert told_apart.name.startswith("debate (")
    third = cases.submission([("Pa_Ga", 0.2, 0.1, "none")])
    replaced = import_upload(
        small_workspace, third, "x.csv", ImportOptions(name="debate", replace=True)
    )
    with small_workspace.store.read() as db:
        assert runs.find(db, "debate").done == replaced.rows == 1


@pytest.mark.soak
def test_the_same_file_gives_the_same_run_id_everywhere(
    small_workspace: Workspace, tmp_path: Path
) -> None:
    other = open_workspace(
        dataclasses.replace(small_workspace.settings, workspace=tmp_path / "other")
    )
    for content, name in (
        (cases.TRAIN, "TRAIN.csv"),
        (cases.TEST, "test-1.csv"),
        (cases.DEBATES, "c.csv"),
    ):
        import_upload(other, content, name)
    with small_workspace.store.read() as db, other.store.read() as there:
        assert [run.id for run in runs.list_all(db)] == [run.id for run in runs.list_all(there)]


@pytest.mark.soak
def test_an_import_that_breaks_half_way_leaves_nothing(
    small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:

    def breaks(*_):
        raise ZeroDivisionError

    with unchanged(small_workspace):
        monkeypatch.setattr(actions.imports, "add", breaks)
        with pytest.raises(ZeroDivisionError):
            import_upload(small_workspace, cases.submission([("Pa_Ga", 0.1, 0.1, "none")]), "x.csv")


def test_every_import_is_in_the_trail(small_workspace: Workspace) -> None:
    with small_workspace.store.read() as db:
        logged = changes.latest(db)
    assert logged["action"].tolist() == ["import"] * 3
    assert set(logged["author"]) == {"tester"}


@pytest.mark.soak
def test_progress_names_each_file_as_it_is_read_and_written(
    workspace: Workspace, tmp_path: Path
) -> None:
    for name, content in (
        ("debate.csv", cases.DEBATES),
        ("test.csv", cases.TEST),
        ("train.csv", cases.TRAIN),
    ):
        (tmp_path / name).write_bytes(content)
    said = []
    import_paths(
        workspace,
        [tmp_path / name for name in ("debate.csv", "train.csv")],
        on_file=lambda *each: said.append(each),
    )
    assert said == [
        (0, "reading debate.csv"),
        (0.25, "reading train.csv"),
        (0.5, "writing train.csv"),
        (0.75, "writing debate.csv"),
    ]
