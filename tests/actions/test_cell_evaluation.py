"""cell-eval's table is kept with the run of the same file, and goes with it. cell-eval itself: tests/cells/test_cell_eval.py."""

from __future__ import annotations

import gzip
import math
from dataclasses import replace
from pathlib import Path

import h5py
import pytest

from core.actions import cell_evaluation
from core.actions import runs as run_actions
from core.actions.cell_evaluation import EvaluationOptions, evaluate_predictions
from core.actions.cell_predictions import PredictionOptions, import_predictions
from core.actions.imports import import_upload
from core.actions.workspace import Workspace
from core.cells.cell_eval import CellEvaluation, Metric
from core.cells.challenge_cells import write_challenge_cells
from core.cells.challenge_score import score_from_baseline
from core.cells.evaluation_cells import CellChoice
from core.cells.predicted_expression import CellOptions, ComparedCellOptions
from core.cells.simulator import ScreenSettings, simulate_screen, write_screen
from core.errors import InputError, NotFound
from core.store import cell_evaluations, runs
from core.store.cell_evaluations import StoredEvaluation
from tests import cases, commands

TABLE = CellEvaluation(
    version="0.6.8", profile="full", n_perturbations=3, n_genes=20, n_predicted=300, n_real=300, sample=None,
    read_as={"predicted": "counts"}, left_out=("1 genes only in the real cells",), problems=(),
    metrics=(Metric("mae", "Mean absolute error.", "zero", 0.25, 0.1, 0.1, 0.4, 3),),
    per_perturbation=[{"perturbation": "G01", "mae": 0.1}],
)  # fmt: skip


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[CellChoice]:
    """What cell-eval is asked, which answers TABLE."""
    choices: list[CellChoice] = []

    def answer(choice: CellChoice) -> CellEvaluation:
        choices.append(choice)
        return TABLE

    monkeypatch.setattr(cell_evaluation, "evaluate_cells", answer)
    return choices


@pytest.fixture
def predicted(workspace: Workspace, tmp_path: Path) -> Path:
    """A file from which the run "model" was made."""
    screen = simulate_screen(ScreenSettings(n_cells=300, n_genes=20, n_perturbations=3, depth=10), 0)
    path = tmp_path / "model.h5ad"
    write_screen(screen, path)
    truth = screen.true_log2_fc
    rows = [(f"{p}_{g}", p, g, "none" if truth.loc[p, g] == 0 else "up") for p in truth.index for g in truth.columns]
    import_upload(workspace, cases.as_csv(["id", "pert", "gene", "label"], rows), "train.csv")
    import_predictions(workspace, path, PredictionOptions(name="model", cells=CellOptions(perturbation="perturbation")))
    return path


def stored(workspace: Workspace, run: str) -> StoredEvaluation | None:
    with workspace.store.read() as db:
        return cell_evaluations.find(db, runs.find(db, run).id)


@pytest.mark.soak
def test_a_table_is_kept_with_the_run_of_the_file(workspace: Workspace, predicted: Path, asked: list[CellChoice]) -> None:
    options = EvaluationOptions(ComparedCellOptions(real=predicted), run="model", sample=50)
    found, run = evaluate_predictions(workspace, predicted, options)
    assert found == TABLE
    assert run is not None
    assert asked == [CellChoice(predicted, ComparedCellOptions(real=predicted), 50)]
    kept = stored(workspace, "model")
    assert kept is not None
    assert (kept.real_file, kept.predicted_sha256 == kept.real_sha256, kept.author) == ("model.h5ad", True, "tester")
    assert CellEvaluation.from_json(kept.content).as_json() == TABLE.as_json()
    # by the dataset the run is found by its file; the new table replaces the old one
    evaluate_predictions(workspace, predicted, replace(options, run=None, dataset="bmdm"))
    with workspace.store.read() as db:
        assert db.execute("SELECT count(*) FROM cell_evaluation").fetchall() == [(1,)]
    run_actions.delete(workspace, "model")
    with workspace.store.read() as db:
        assert db.execute("SELECT count(*) FROM cell_evaluation").fetchall() == [(0,)]


@pytest.mark.soak
def test_without_a_run_nothing_is_kept(workspace: Workspace, predicted: Path, asked: list[CellChoice]) -> None:
    read_only = Workspace(replace(workspace.settings, read_only=True))
    _, run = evaluate_predictions(read_only, predicted, EvaluationOptions(ComparedCellOptions(real=predicted)))
    assert run is None
    assert len(asked) == 1
    assert stored(workspace, "model") is None


def test_the_wrong_run_or_file_is_refused_before_cell_eval_is_called(
    workspace: Workspace, predicted: Path, asked: list[CellChoice], tmp_path: Path
) -> None:
    real = ComparedCellOptions(real=predicted)
    other = tmp_path / "other.h5ad"
    other.write_bytes(predicted.read_bytes() + b"\0")
    import_upload(workspace, cases.as_csv(["id", "pert", "gene"], [("X_Y", "X", "Y")]), "t.csv")
    (tmp_path / "t.csv").write_text("pert,gene,log2_fc\nG01,G02,1\n")
    for path, options, kind, message in (
        (other, EvaluationOptions(real, run="model"), InputError, "run model was made from model.h5ad, expected the run of this"),
        (other, EvaluationOptions(real, dataset="bmdm"), InputError, "no run of dataset bmdm was made from this file"),
        (predicted, EvaluationOptions(real, run="zzz"), NotFound, "zzz"),
        (predicted, EvaluationOptions(real, run="model", sample=0), InputError, "sample: got 0, expected 1 or more"),
        (tmp_path / "t.csv", EvaluationOptions(real), InputError, "expected AnnData"),
    ):
        with pytest.raises(kind, match=message):
            evaluate_predictions(workspace, path, options)
    assert asked == []


def test_the_commands(workspace: Workspace, predicted: Path, asked: list[CellChoice], tmp_path: Path) -> None:
    place = workspace.settings.workspace
    table = tmp_path / "changes.tsv"
    table.write_text(
        "perturbation\tsymbol\tLFC\n" + "\n".join(f"G{p:02d}\tG{g:02d}\t{p - g / 7}" for p in range(21) for g in range(21))
    )
    made = commands.core_json(place, "cells", "predictions", str(table), "--dataset", "bmdm", "--name", "R")
    [outcome] = made["imported"]
    assert {name: outcome[name] for name in ("kind", "name", "rows", "rejected", "new")} == {
        "kind": "predicted_expression", "name": "R", "rows": 60, "rejected": 0, "new": True,
    }  # fmt: skip
    shown = commands.core_json(place, "cells", "evaluate", str(predicted), "--real", str(predicted), "--run", "model")
    assert shown == {
        **TABLE.as_json(),
        "run": "model",
        "left_out": list(TABLE.left_out),
        "problems": [],
        "metrics": shown["metrics"],
    }
    assert shown["metrics"][0]["mean"] == 0.25
    text = commands.core(place, "cells", "evaluate", str(predicted), "--real", str(predicted))
    assert text.status == 0
    assert "cell-eval 0.6.8, profile full: 3 perturbations" in text.out
    assert "mae" in text.out
    assert len(asked) == 2
    refused = commands.core(place, "cells", "predictions", str(tmp_path / "none.csv"))
    assert (refused.status, refused.out) == (1, "")
    assert refused.err.count("\n") == 1
    bad = commands.core(place, "cells", "predictions", str(table), "--column", "log2_fc")
    assert bad.status == 1
    assert "expected ROLE=NAME" in bad.err


@pytest.mark.few(1)
@pytest.mark.parametrize("command", ["describe", "describe --predictions", "labels --name d", "predictions", "evaluate --real x"])
@pytest.mark.parametrize(
    ("name", "words"), [("x.h5ad.gz", "packed by gzip"), ("x.h5", "HDF5 with matrix in it"), ("x.zarr", "no obs, expected")]
)
def test_commands_say_what_other_files_of_cells_are(
    workspace: Workspace, predicted: Path, tmp_path: Path, command: str, name: str, words: str
) -> None:
    path = tmp_path / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(predicted.read_bytes()))
    elif name.endswith(".h5"):
        with h5py.File(path, "w") as file:
            file.create_group("matrix")
    else:
        path.mkdir()
        (path / ".zgroup").write_text("{}")
    verb, *options = command.split()
    refused = commands.core(workspace.settings.workspace, "cells", verb, str(path), *options)
    assert (refused.status, refused.out) == (1, "")
    assert words in refused.err
    assert refused.err.count("\n") == 1


def test_an_archive_of_the_challenge_is_compared(
    workspace: Workspace, predicted: Path, asked: list[CellChoice], tmp_path: Path
) -> None:
    archive = tmp_path / "model.vcc"
    write_challenge_cells(predicted, archive, CellOptions(perturbation="perturbation"))
    import_predictions(workspace, archive, PredictionOptions(name="archive"))
    _, run = evaluate_predictions(workspace, archive, EvaluationOptions(ComparedCellOptions(real=predicted), run="archive"))
    assert run is not None
    assert asked[0].predicted.name == "model.h5ad"


def table(mae: float, overlap: float, discrimination: float) -> CellEvaluation:
    numbers = {"mae": ("zero", mae), "overlap_at_N": ("one", overlap), "discrimination_score_l1": ("one", discrimination)}
    found = [Metric(name, "", best, value, 0.1, 0.0, 1.0, 3) for name, (best, value) in numbers.items()]
    return replace(TABLE, metrics=(*found, Metric("de_nsig_counts_real", "", "none", 9.0, 1.0, 8.0, 10.0, 3)))


def test_the_challenges_score_is_that_of_cell_eval() -> None:
    """By hand: mae 1 − .3/.4 = .25; overlap (.6 − .5)/(1 − .5) = .2; discrimination below the baseline's, so 0."""
    found = score_from_baseline(table(0.3, 0.6, 0.7), table(0.4, 0.5, 0.8))
    assert [each.metric for each in found.metrics] == ["mae", "overlap_at_N", "discrimination_score_l1"]  # counts have no best
    assert [each.score for each in found.metrics] == pytest.approx([0.25, 0.2, 0.0])
    assert found.challenge == found.mean == pytest.approx(0.15)
    assert math.isnan(score_from_baseline(TABLE, TABLE).challenge)  # it has the mae alone
    with pytest.raises(InputError, match="only one of them has de_nsig_counts_real, discrimination_score_l1, overlap_at_N"):
        score_from_baseline(TABLE, table(0.4, 0.5, 0.8))
    with pytest.raises(InputError, match=r"version is 0\.6\.8 and 0\.8\.2 of the baseline"):
        score_from_baseline(TABLE, replace(TABLE, version="0.8.2"))


@pytest.mark.soak
def test_cell_eval_itself_gives_the_same_score() -> None:
    polars, cell_eval = pytest.importorskip("polars"), pytest.importorskip("cell_eval")
    pair = table(0.3, 0.6, 0.7), table(0.4, 0.5, 0.8)
    frames = [polars.DataFrame({"statistic": ["mean"], **{each.name: [each.mean] for each in one.metrics}}) for one in pair]
    theirs = dict(cell_eval.score_agg_metrics(*frames).iter_rows())
    ours = score_from_baseline(*pair)
    assert {**{each.metric: each.score for each in ours.metrics}, "avg_score": ours.mean} == pytest.approx(theirs)


def test_the_score_against_a_baseline_run(workspace: Workspace, predicted: Path) -> None:
    import_predictions(
        workspace,
        predicted,
        PredictionOptions(name="base", cells=ComparedCellOptions(perturbation="perturbation", clip_negative=True)),
    )
    place, asked = workspace.settings.workspace, ("cells", "score", "model", "--baseline", "base")
    assert "has no table of cell-eval" in commands.core(place, *asked).err

    def keep(run: str, kept: CellEvaluation, real: str) -> None:
        with workspace.store.write() as db:
            cell_evaluations.put(db, StoredEvaluation(runs.find(db, run).id, "x", f"{real}.h5ad", real, kept.as_json(), "tester"))

    keep("model", table(0.3, 0.6, 0.9), "a")
    keep("base", table(0.4, 0.5, 0.8), "a")
    assert commands.core_json(place, *asked)["challenge"] == pytest.approx((0.25 + 0.2 + 0.5) / 3)
    keep("base", TABLE, "b")
    assert "compared with different real cells (a.h5ad and b.h5ad)" in commands.core(place, *asked).err
