"""Runs from predicted expression: scored as by hand, imported once, undone, deleted, fused without stand-ins."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from core.base.errors import InputError, NotFound, StateError
from core.features.cells.predicted_expression import CellOptions
from core.features.cells.predictions import KIND, PredictionOptions, import_predictions
from core.features.cells.simulator import ScreenSettings, SimulatedScreen, simulate_screen
from core.features.importing.actions import import_upload
from core.features.importing.import_target import ImportOptions
from core.features.importing.imported_rows import undo
from core.methods.fusion_settings import FusionSettings
from core.runs import actions as run_actions
from core.runs.workspace import Workspace
from core.scoring.run_scores import load_scored_rows, score_run
from core.store import imports, runs
from tests import cases, derived, worlds
from tests.derived import rows_of
from tests.features.cells.cases import write_screen

# Four labelled pairs and one without a label. |log2 FC| ranks the effects 3 and 1 of four, signed ones up above down.
LABELS = [("A", "G", "up"), ("A", "H", "none"), ("B", "G", "down"), ("B", "H", "none")]
SMALL = cases.as_csv(
    ["id", "pert", "gene", "label"],
    [(f"{pert}_{gene}", pert, gene, label) for pert, gene, label in LABELS],
)
SMALL_TEST = cases.as_csv(["id", "pert", "gene"], [("C_I", "C", "I")])


@pytest.fixture
def small(workspace: Workspace) -> Workspace:
    for content, name in ((SMALL, "train.csv"), (SMALL_TEST, "test.csv")):
        assert import_upload(workspace, content, name).kind != "failed"
    return workspace


def table(path: Path, changes: Mapping[tuple[str, str], float | str]) -> Path:
    rows = [(pert, gene, change) for (pert, gene), change in changes.items()]
    pd.DataFrame(rows, columns=["pert", "gene", "log2_fc"]).to_csv(path, index=False)
    return path


@pytest.mark.soak
def test_the_score_is_that_of_the_ranks(small: Workspace, tmp_path: Path) -> None:
    path = table(
        tmp_path / "model.csv",
        {("A", "G"): 0.9, ("A", "H"): 0.5, ("B", "G"): -0.4, ("B", "H"): 0.1},
    )
    made = import_predictions(small, path, PredictionOptions(name="model"))
    assert (made.kind, made.name, made.rows, made.new) == (KIND, "model", 5, True)
    with small.store.read() as db:
        run, rows = runs.find(db, "model"), load_scored_rows(db, "model")
    # effects .9 and .4 against none .5 and .1: .9 beats both, .4 beats one of two: 3/4. Up .9 above down -.4: 1.
    found = score_run(rows).whole
    assert (found.de.value, found.dir.value) == (0.75, 1.0)
    assert (run.method, run.origin, run.fallbacks) == ("predicted_expression", "imported", 1)
    assert run.spec["file"] == "model.csv"
    assert run.spec["read_as"] == {"pert": "pert", "gene": "gene", "log2_fc": "log2_fc"}
    assert run.spec["maps"]["DE"]["n"] == 4
    assert run.spec["maps"]["DE"]["slope"] > 0
    # C_I is not in the file: base rates of the training split, 2 of 4 and 1 of 2
    lacking = rows_of(small, "model").loc["C_I"]
    assert (lacking["p_de"], lacking["p_up_given_de"], list(lacking["flags"])) == (
        0.5,
        0.5,
        ["not_predicted"],
    )


@pytest.mark.soak
def test_importing_twice_changes_nothing_and_undo_brings_it_back(
    small: Workspace, tmp_path: Path
) -> None:
    path = table(
        tmp_path / "model.csv",
        {("A", "G"): 0.9, ("A", "H"): 0.5, ("B", "G"): -0.4, ("B", "H"): 0.1},
    )
    first = import_predictions(small, path, PredictionOptions())
    again = import_predictions(small, path, PredictionOptions(name="another name"))
    assert (again.name, again.new, again.rows) == (first.name, False, first.rows)
    with small.store.read() as db:
        assert [run.name for run in runs.list_all(db)] == ["model"]
    undo(small, "model.csv")
    with small.store.read() as db:
        assert runs.list_all(db) == []
        assert imports.list_imports(db)["kind"].tolist().count(KIND) == 0
    assert import_predictions(small, path, PredictionOptions()).new
    run_actions.delete(small, "model")
    assert import_predictions(small, path, PredictionOptions()).new


@pytest.mark.soak
def test_other_labels_make_another_run(small: Workspace, tmp_path: Path) -> None:
    """The maps would be others, so the same file is another run; its name is taken."""
    path = table(
        tmp_path / "model.csv",
        {("A", "G"): 0.9, ("A", "H"): 0.5, ("B", "G"): -0.4, ("B", "H"): 0.1},
    )
    import_predictions(small, path, PredictionOptions(name="model"))
    more = cases.as_csv(["id", "pert", "gene", "label"], [("A_I", "A", "I", "up")])
    assert (
        import_upload(small, more, "more.csv", ImportOptions(dataset="bmdm")).kind
        == "challenge_train"
    )
    with pytest.raises(StateError, match="run 'model' exists with other content"):
        import_predictions(small, path, PredictionOptions(name="model"))
    assert import_predictions(small, path, PredictionOptions(name="model", replace=True)).rows == 6


def test_files_that_bring_no_run_are_refused_and_nothing_is_written(
    small: Workspace, tmp_path: Path
) -> None:
    fits = {("A", "G"): 0.9}
    refused = [
        (tmp_path / "gone.csv", PredictionOptions(), InputError, "gone.csv: cannot be read"),
        (
            table(tmp_path / "other.csv", {("X", "Y"): 1.0}),
            PredictionOptions(),
            InputError,
            "none of the dataset's 5 pairs .*perturbations are 'X'",
        ),
        (
            table(tmp_path / "nan.csv", {("A", "G"): float("nan")}),
            PredictionOptions(),
            InputError,
            "no row could be imported",
        ),
        (table(tmp_path / "a.csv", fits), PredictionOptions(dataset="zzz"), NotFound, "zzz"),
        (
            table(tmp_path / "a.csv", fits),
            PredictionOptions(cells=CellOptions(control=("x",))),
            InputError,
            "are about AnnData",
        ),
        (
            table(tmp_path / "two.csv", {**fits, ("A", "H"): float("nan")}),
            PredictionOptions(strict=True),
            InputError,
            "because of --strict",
        ),
    ]
    for path, options, kind, message in refused:
        with pytest.raises(kind, match=message):
            import_predictions(small, path, options)
    with small.store.read() as db:
        assert runs.list_all(db) == []


@pytest.mark.soak
def test_bad_rows_are_rejected_and_listed(small: Workspace, tmp_path: Path) -> None:
    path = table(
        tmp_path / "m.csv", {("A", "G"): 0.9, ("A", "H"): 0.2, ("B", "G"): -1.0, ("B", "H"): "high"}
    )
    made = import_predictions(small, path, PredictionOptions())
    assert [(bad.line, bad.reason) for bad in made.rejected] == [(5, "not a number")]
    assert list(rows_of(small, "m").loc["B_H", "flags"]) == ["not_predicted"]
    with small.store.read() as db:
        assert imports.rejected_rows(db)["line"].tolist() == [5]


@pytest.mark.soak
def test_a_stand_in_never_enters_a_fusion(screen: Workspace, tmp_path: Path) -> None:
    """The rows that the model lacks are ranked by the base alone, as if the run were not there."""
    here, world = screen, worlds.screen()
    known = list(zip(world.ids, world.labels, strict=True))[: world.n_train]
    change = {"up": 1.0, "down": -1.0, "none": 0.0}
    values = {
        tuple(key.split("_", 1)): change[str(label)] + i / 1000
        for i, (key, label) in enumerate(known)
        if i % 5
    }
    import_predictions(here, table(tmp_path / "model.csv", values), PredictionOptions(name="model"))
    derived.save_fusion(here, FusionSettings("llm train", ("model",), (0.5,), (0.5,)), "fused")
    fused, base = rows_of(here, "fused"), rows_of(here, "llm train")
    lacking = [key for key, _ in known if tuple(key.split("_", 1)) not in values]
    assert all("partly_covered" in fused.loc[key, "flags"] for key in lacking)
    assert not any("partly_covered" in flags for flags in fused.drop(index=lacking)["flags"])
    assert not any("not_predicted" in flags for flags in fused["flags"])
    percentile = base["p_de"].round(14).rank() / (len(base) + 1)
    assert fused.loc[lacking, "p_de"].tolist() == pytest.approx(percentile[lacking].tolist())


def predicted_file(screen: SimulatedScreen, path: Path, lacking: str) -> Path:
    """A simple model: the mean log1p profile of each perturbation plus noise, without one perturbation and the controls."""
    import anndata

    counts = screen.counts.toarray().astype(np.float64)
    normalised = counts / counts.sum(axis=1, keepdims=True) * 10_000
    labels = screen.obs["perturbation"].astype(str).to_numpy()
    names = [name for name in sorted(set(labels)) if name not in ("non-targeting", lacking)]
    means = np.array([normalised[labels == name].mean(axis=0) for name in names])
    profiles = np.log1p(means) + np.abs(np.random.default_rng(0).normal(0, 0.2, means.shape))
    index = pd.Index([f"c{i}" for i in range(len(names))], dtype=object)
    obs = pd.DataFrame({"perturbation": pd.Series(names, index=index, dtype=object)})
    anndata.AnnData(
        X=profiles, obs=obs, var=pd.DataFrame(index=pd.Index(screen.genes, dtype=object))
    ).write_h5ad(path)
    return path


@pytest.mark.soak
def test_predicted_cells_are_scored_as_by_an_independent_computation(
    workspace: Workspace, tmp_path: Path
) -> None:
    import anndata

    screen = simulate_screen(
        ScreenSettings(n_cells=2_000, n_genes=60, n_perturbations=12, depth=6), 1
    )
    truth = screen.true_log2_fc.stack()
    label = np.where(truth > 0.3, "up", np.where(truth < -0.3, "down", "none"))
    rows = [
        (f"{pert}_{gene}", pert, gene, name)
        for (pert, gene), name in zip(truth.index, label, strict=True)
    ]
    import_upload(workspace, cases.as_csv(["id", "pert", "gene", "label"], rows), "train.csv")
    lacking = str(screen.true_log2_fc.index[0])
    path, real = predicted_file(screen, tmp_path / "pred.h5ad", lacking), tmp_path / "real.h5ad"
    write_screen(screen, real)
    made = import_predictions(
        workspace, path, PredictionOptions(name="model", cells=CellOptions(real=real))
    )
    assert made.rows == 12 * 60
    with workspace.store.read() as db:
        scored = load_scored_rows(db, "model")
        spec = runs.find(db, "model").spec
    assert spec["real_file"] == "real.h5ad"
    flagged = scored.frame["flags"].map(lambda flags: "not_predicted" in flags)
    assert set(scored.frame.loc[flagged, "pert"]) == {lacking}
    assert flagged.sum() == 60
    # by hand: means of shares over real controls, |log2 ratio|; the lacking pairs tie at the base rate's place among the maps
    cells = anndata.read_h5ad(path)
    counts = screen.counts.toarray().astype(np.float64)
    share = counts / counts.sum(axis=1, keepdims=True) * 10_000
    control = share[(screen.obs["perturbation"] == "non-targeting").to_numpy()].mean(axis=0)
    change = pd.DataFrame(
        np.log2(np.expm1(cells.X) / control),
        index=cells.obs["perturbation"].astype(str),
        columns=screen.genes,
    )
    covered = [(pert, gene, name) for _, pert, gene, name in rows if pert != lacking]
    signed = np.array([change.loc[pert, gene] for pert, gene, _ in covered])
    outcome = np.array([name for *_, name in covered])
    found = score_run(scored.take(scored.covered)).whole
    assert found.de.value == pytest.approx(roc_auc_score(outcome != "none", np.abs(signed)))
    directed = outcome != "none"
    assert found.dir.value == pytest.approx(
        roc_auc_score(outcome[directed] == "up", signed[directed])
    )
