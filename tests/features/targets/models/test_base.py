"""The list of ranking models, and what every one of them does on a tiny screen."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from core.base.errors import InputError, MissingPackage, NotFound
from core.features.cells.simulator import ScreenSettings
from core.features.targets.expression import ExpressionSet, take_perturbed, targets_in
from core.features.targets.models import base
from core.features.targets.models.base import (
    ARRAYS,
    MANIFEST,
    FitSettings,
    _make_examples,
    fit_model,
    load_model,
    make_class_rows,
    ranking_model_named,
    ranking_models,
)
from tests.features.targets import screens
from tests.features.targets.cases import profile

# Few genes, deep counts and no failed guide: small, and easy.
PARTS = screens.split_screen(
    screens.make_screen(
        ScreenSettings(700, 60, 14, n_doubles=4, share_failed_guides=0.0, depth=8.0), 0
    ),
    n_unseen=4,
    n_validated=2,
)
OPTIONS = {
    "pca_knn": {},
    "random_forest": {"trees": 30},
    "xgboost": {"rounds": 10},
    "transformer": {
        "epochs": 3,
        "tokens": 60,
        "width": 16,
        "layers": 1,
        "learning_rate": 5e-3,
        "batch": 32,
    },
}
MODELS = [
    pytest.param(name, marks=pytest.mark.torch) if name == "transformer" else name
    for name in OPTIONS
]


def test_the_models_are_found_by_their_files() -> None:
    assert set(ranking_models()) == set(OPTIONS)
    with pytest.raises(
        NotFound, match="expected one of pca_knn, random_forest, transformer, xgboost"
    ):
        ranking_model_named("gears")


@pytest.mark.few(2)
@pytest.mark.parametrize("name", MODELS)
def test_a_model_beats_chance_and_scores_the_same_once_saved(name: str, tmp_path: Path) -> None:
    if name == "transformer":
        pytest.importorskip(
            "torch", reason="torch is not installed: pip install -r requirements-models.txt"
        )
    settings = FitSettings(OPTIONS[name], seed=3)
    model = fit_model(name, PARTS.train, PARTS.validation, settings)
    chance = screens.chance_mrr(60)
    assert screens.mrr_of(model, PARTS.seen, PARTS.train) > 2.5 * chance
    trained = {gene for condition in PARTS.train.perturbed for gene in targets_in(condition)}
    if name == "transformer":
        assert len(model.columns) == len(PARTS.train.genes)
        assert screens.mrr_of(model, PARTS.unseen, PARTS.train) > 2 * chance
    else:
        assert {PARTS.train.genes[at] for at in model.columns} == trained
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    control = profile(PARTS.train.x[PARTS.train.is_control].mean(axis=0), len(PARTS.seen.x))
    expected = model.score(PARTS.seen.x, control)
    assert np.flatnonzero(~np.isneginf(expected).any(axis=0)).tolist() == model.columns.tolist()
    assert np.isneginf(np.delete(expected, model.columns, axis=1)).all()
    assert (loaded.score(PARTS.seen.x, control) == expected).all()
    assert loaded.history.equals(model.history)
    assert not list(tmp_path.rglob("*.pkl"))
    if name != "transformer":  # in test_network.py, where it takes less time
        again = fit_model(name, PARTS.train, PARTS.validation, settings)
        assert (again.score(PARTS.seen.x, control) == expected).all()


@pytest.mark.parametrize("name", ["pca_knn", "random_forest", "xgboost"])
def test_wrong_input_is_refused(name: str) -> None:
    only_controls = PARTS.train.take(PARTS.train.is_control)
    with pytest.raises(InputError, match="training cells: none is perturbed"):
        fit_model(name, only_controls, PARTS.validation, FitSettings())
    with pytest.raises(InputError, match="validation cells: none is perturbed"):
        fit_model(name, PARTS.train, only_controls, FitSettings())
    with pytest.raises(InputError, match="none among"):
        fit_model(name, PARTS.train.take(~PARTS.train.is_control), PARTS.validation, FitSettings())
    with pytest.raises(InputError, match="'speed': not known"):
        fit_model(name, PARTS.train, PARTS.validation, FitSettings({"speed": 1}))


def test_changed_files_are_refused(tmp_path: Path) -> None:
    model = fit_model("pca_knn", PARTS.train, PARTS.validation, FitSettings())
    model.save(tmp_path)
    content = (tmp_path / ARRAYS).read_bytes()
    (tmp_path / ARRAYS).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(InputError, match="is not the file that its manifest"):
        load_model(tmp_path)
    (tmp_path / MANIFEST).write_text("{")
    with pytest.raises(InputError, match="cannot be read"):
        load_model(tmp_path)
    (tmp_path / MANIFEST).unlink()
    with pytest.raises(NotFound, match="not a complete ranking model"):
        load_model(tmp_path)


def test_the_manifest_is_written_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = fit_model("pca_knn", PARTS.train, PARTS.validation, FitSettings())
    model.save(tmp_path)

    def refuse(*_arguments, **_options):
        raise OSError("no space")

    monkeypatch.setattr(base, "replace_file", refuse)
    with pytest.raises(OSError, match="no space"):
        model.save(tmp_path)
    with pytest.raises(NotFound):
        load_model(tmp_path)


@pytest.mark.parametrize(("name", "package"), [("xgboost", "xgboost"), ("transformer", "torch")])
def test_a_missing_package_names_its_requirements(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        MissingPackage,
        match=f"{package}, which is not installed: pip install -r requirements-targets.txt",
    ):
        fit_model(name, PARTS.train, PARTS.validation, FitSettings())


def numbered(conditions: list[str]) -> ExpressionSet:
    """Cells of the genes A, B, C and D with numbers that differ."""
    x = np.arange(4 * len(conditions), dtype=np.float32).reshape(-1, 4)
    batches = np.array(["x"] * (len(conditions) - 1) + ["y"])
    return ExpressionSet(x, ("A", "B", "C", "D"), np.array(conditions), batches)


def test_a_tenth_of_the_training_cells_takes_the_place_of_validation_cells_without_a_trained_target() -> (
    None
):
    train = numbered(["ctrl"] + ["A"] * 18)
    same = _make_examples(train, numbered(["A"] * 3), 0, choose=True)
    assert (len(same.fitted.x), len(same.chosen_on.x)) == (18, 3)
    assert same.notes == (
        "1 of 18 cells are from batches without control cells and were compared with controls of all batches.",
    )
    other = _make_examples(train, numbered(["B"] * 3), 0, choose=True)
    assert (len(other.fitted.x), len(other.chosen_on.x)) == (16, 2)
    assert (
        sorted(np.concatenate([other.fitted.x, other.chosen_on.x])[:, 0].tolist())
        == train.x[1:, 0].tolist()
    )
    assert "2 random training cells were held out to choose on instead" in other.notes[-1]
    assert len(_make_examples(train, numbered(["B"] * 3), 0, choose=False).fitted.x) == 18


def test_a_double_is_a_row_for_each_target_with_half_its_weight() -> None:
    x = np.array([[1, 1, 1, 1], [2, 1, 1, 1], [1, 1, 1, 5]], dtype=np.float32)
    cells = ExpressionSet(
        x, ("A", "B", "C", "D"), np.array(["ctrl", "B", "B+D"]), np.array(["x"] * 3)
    )
    rows = make_class_rows(take_perturbed(cells, cells, np.random.default_rng(0), "training"))
    assert rows.columns.tolist() == [1, 3]
    assert rows.classes.tolist() == [0, 0, 1]
    assert rows.weights.tolist() == [1, 0.5, 0.5]
    assert rows.x.tolist() == [[1, 0, 0, 0], [0, 0, 0, 4], [0, 0, 0, 4]]
