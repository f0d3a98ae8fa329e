"""The list of ranking models, and what every one of them does on a tiny screen."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from core.cells.simulator import ScreenSettings
from core.errors import InputError, MissingPackage, NotFound
from core.target_ranking.models.base import FitSettings, load_model, ranking_model_named, ranking_models
from tests.target_ranking import screens

# Few genes, deep counts and no failed guide: small, and easy.
PARTS = screens.split_screen(
    screens.make_screen(ScreenSettings(700, 60, 14, n_doubles=4, share_failed_guides=0.0, depth=8.0), 0),
    n_unseen=4,
    n_validated=2,
)
OPTIONS = {
    "pca_knn": {},
    "random_forest": {"trees": 30},
    "xgboost": {"rounds": 10},
    "transformer": {"epochs": 3, "tokens": 60, "width": 16, "layers": 1, "learning_rate": 5e-3, "batch": 32},
}
MODELS = [pytest.param(name, marks=pytest.mark.torch) if name == "transformer" else name for name in OPTIONS]


def ignore(_share: float, _what: str) -> None:
    """Reports nothing."""


def test_the_models_are_found_by_their_files() -> None:
    assert set(ranking_models()) == set(OPTIONS)
    with pytest.raises(NotFound, match="expected one of pca_knn, random_forest, transformer, xgboost"):
        ranking_model_named("gears")


@pytest.mark.few(2)
@pytest.mark.parametrize("name", MODELS)
def test_a_model_beats_chance_and_scores_the_same_once_saved(name: str, tmp_path: Path) -> None:
    if name == "transformer":
        pytest.importorskip("torch", reason="torch is not installed: pip install -r requirements-models.txt")
    settings = FitSettings(OPTIONS[name], seed=3)
    model = ranking_model_named(name).fit(PARTS.train, PARTS.validation, settings, ignore)
    chance = screens.chance_mrr(60)
    assert screens.mrr_of(model, PARTS.seen, PARTS.train) > 2.5 * chance
    trained = {at for condition in PARTS.train.perturbed for at in PARTS.train.targets_of(condition)}
    if name == "transformer":
        assert model.rankable.all()
        assert screens.mrr_of(model, PARTS.unseen, PARTS.train) > 2 * chance
    else:
        assert set(np.flatnonzero(model.rankable)) == trained
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    control = PARTS.train.x[PARTS.train.is_control].mean(axis=0)
    expected = model.score(PARTS.seen.x, control)
    assert (np.isneginf(expected) == ~np.broadcast_to(model.rankable, expected.shape)).all()
    assert (loaded.score(PARTS.seen.x, control) == expected).all()
    assert loaded.history.equals(model.history)
    assert not list(tmp_path.rglob("*.pkl"))
    if name != "transformer":  # in test_network.py, where it takes less time
        again = ranking_model_named(name).fit(PARTS.train, PARTS.validation, settings, ignore)
        assert (again.score(PARTS.seen.x, control) == expected).all()


@pytest.mark.parametrize("name", ["pca_knn", "random_forest", "xgboost"])
def test_wrong_input_is_refused(name: str) -> None:
    model = ranking_model_named(name)
    only_controls = PARTS.train.take(PARTS.train.is_control)
    with pytest.raises(InputError, match="training cells: none is perturbed"):
        model.fit(only_controls, PARTS.validation, FitSettings(), ignore)
    with pytest.raises(InputError, match="validation cells: none is perturbed"):
        model.fit(PARTS.train, only_controls, FitSettings(), ignore)
    with pytest.raises(InputError, match="none among"):
        model.fit(PARTS.train.take(~PARTS.train.is_control), PARTS.validation, FitSettings(), ignore)
    with pytest.raises(InputError, match="'speed': not known"):
        model.fit(PARTS.train, PARTS.validation, FitSettings({"speed": 1}), ignore)


def test_expression_of_other_genes_is_refused() -> None:
    model = ranking_model_named("pca_knn").fit(PARTS.train, PARTS.validation, FitSettings(), ignore)
    with pytest.raises(InputError, match=r"shape \(2, 59\), expected \(n_cells, 60\)"):
        model.score(PARTS.seen.x[:2, 1:], PARTS.seen.x[0])
    with pytest.raises(InputError, match="not finite"):
        model.score(np.full((1, 60), np.nan, np.float32), PARTS.seen.x[0])


@pytest.mark.parametrize(("name", "package"), [("xgboost", "xgboost"), ("transformer", "torch")])
def test_a_missing_package_names_its_requirements(name: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingPackage, match=f"{package}, which is not installed: pip install -r requirements-targets.txt"):
        ranking_model_named(name).fit(PARTS.train, PARTS.validation, FitSettings(), ignore)
