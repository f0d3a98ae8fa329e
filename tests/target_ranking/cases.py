"""A ranking model for tests, as simple as one can be, and cells whose numbers can be worked out by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from core.fields.option import Option
from core.target_ranking.controls import subtract_controls
from core.target_ranking.expression import ExpressionSet
from core.target_ranking.models import base
from core.target_ranking.models.saved_model import SavedModel, read_model, write_model
from core.target_ranking.reading import CellSource
from core.target_ranking.request import SplitChoice, TrainingRequest

SCREEN = {"n_cells": 900, "n_genes": 80, "n_perturbations": 18, "n_doubles": 10, "share_failed_guides": 0.0, "depth": 6.0}


class FallenFitted:
    """Ranks genes by how far they fell; of trained_only, those that were perturbed in training alone."""

    def __init__(self, name: str, genes: tuple[str, ...], rankable: np.ndarray) -> None:
        self.name, self.genes, self.rankable = name, genes, rankable
        self.history = pd.DataFrame({"epoch": [1.0, 2.0], "train_loss": [0.9, 0.7], "validation_mrr": [0.2, 0.4]})
        self.notes: tuple[str, ...] = ()

    def score(self, x: np.ndarray, control: Any) -> np.ndarray:
        fallen = -subtract_controls(x, control).astype(np.float64)
        return np.where(self.rankable, fallen, -np.inf)

    def save(self, folder: Path) -> None:
        write_model(folder, SavedModel(self.name, self.genes, {}, {"rankable": self.rankable}, self.history))


class Fallen:
    """The model; it learns nothing but which genes were perturbed in training."""

    about = "Ranks genes by how far they fell."
    options = (Option("loud", "flag", False, "For tests of options."),)

    def __init__(self, name: str = "fallen", *, trained_only: bool = False) -> None:
        self.name, self.trained_only = name, trained_only

    def fit(self, train: ExpressionSet, _validation: ExpressionSet, _settings: base.FitSettings, report: Any) -> FallenFitted:
        report(0.5, "fitting")
        rankable = np.ones(len(train.genes), dtype=np.bool_)
        if self.trained_only:
            trained = {at for condition in train.perturbed for at in train.targets_of(condition)}
            rankable = np.isin(np.arange(len(train.genes)), sorted(trained))
        return FallenFitted(self.name, train.genes, rankable)

    def load(self, folder: Path) -> FallenFitted:
        saved = read_model(folder, self.name)
        return FallenFitted(self.name, saved.genes, saved.arrays["rankable"].astype(np.bool_))


MODELS = {"fallen": Fallen(), "fallen_trained": Fallen("fallen_trained", trained_only=True)}


@contextmanager
def registered() -> Iterator[None]:
    """The models of this file in the place of those of the room."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "ranking_models", lambda: MappingProxyType(MODELS))
        yield


def request(name: str = "small", kind: str = "hard") -> TrainingRequest:
    return TrainingRequest(name, CellSource(simulated=SCREEN), SplitChoice(kind), {name: {} for name in MODELS})
