"""Ranking models for tests, as simple as can be, and a small simulated screen for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np
import pandas as pd
import pytest

from core.base.fields.setting import setting
from core.features.targets import expression
from core.features.targets.evaluate import TrainingRequest
from core.features.targets.expression import MatchedControls
from core.features.targets.models import base
from core.features.targets.models.base import Examples, FittedModel, RankingModel

SCREEN = {
    "n_cells": 900,
    "n_genes": 80,
    "n_perturbations": 18,
    "n_doubles": 10,
    "share_failed_guides": 0.0,
    "depth": 6.0,
}
HISTORY = pd.DataFrame(
    {"epoch": [1.0, 2.0], "train_loss": [0.9, 0.7], "validation_mrr": [0.2, 0.4]}
)


def _fit_all(
    examples: Examples, _options: Mapping[str, Any], _settings: Any, report: Callable[..., object]
) -> FittedModel:
    report(0.5, "fitting")
    return FittedModel("fallen", np.arange(len(examples.train.genes)), {}, HISTORY)


def _fit_trained(examples: Examples, *more: Any) -> FittedModel:
    return replace(
        _fit_all(examples, *more),
        name="fallen_trained",
        columns=np.flatnonzero(examples.fitted.targets.any(axis=0)),
    )


def _fall(fitted: FittedModel) -> Callable[..., np.ndarray]:
    return lambda x, controls: -(x - controls.means())[:, fitted.columns]


@dataclass(frozen=True)
class Loud:
    loud: Annotated[bool, setting("For tests of options.")] = False


MODELS = {
    "fallen": RankingModel("fallen", Loud, _fit_all, _fall),
    "fallen_trained": RankingModel("fallen_trained", Loud, _fit_trained, _fall),
}


def fallen(genes: tuple[str, ...], *columns: int) -> FittedModel:
    """A fitted model that ranks the genes at these positions, or all, by how far they fell."""
    return FittedModel("fallen", np.array(columns or range(len(genes))), {}, HISTORY)


def profile(values: np.ndarray, n_cells: int) -> MatchedControls:
    """One control for all of some cells."""
    return MatchedControls(values[None], np.zeros((n_cells, 1), dtype=np.intp))


@contextmanager
def registered() -> Iterator[None]:
    """The models of this file in the place of those of the package, and a smaller screen in the place of the simulated one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "ranking_models", lambda: MappingProxyType(MODELS))
        patch.setattr(expression, "SIMULATED", replace(expression.SIMULATED, **SCREEN))
        yield


def request(name: str = "small", kind: str = "hard") -> TrainingRequest:
    return TrainingRequest(name, kind=kind, models={name: {} for name in MODELS})


def by_model(table: pd.DataFrame, metric: str, k: int | None) -> pd.DataFrame:
    """Return one row for each model, for a metric at one k."""
    at_k = table["k"].isna() if k is None else table["k"] == k
    chosen = (table["metric"] == metric) & at_k
    return table[chosen].reset_index(drop=True)
