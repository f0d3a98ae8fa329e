"""The interface of a ranking model before and after fitting, and the list of the models in this package."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import core.target_ranking.models as room
from core.errors import InputError, NotFound
from core.fields.option import Option, read_options
from core.target_ranking.controls import Control
from core.target_ranking.expression import Expression, ExpressionSet
from core.target_ranking.models.saved_model import read_manifest
from core.texts import list_choices

Scores = NDArray[np.float64]
Report = Callable[[float, str], object]  # the share that is done, and the current step
REQUIREMENTS = "requirements-targets.txt"


@dataclass(frozen=True, slots=True)
class FitSettings:
    """Settings for fitting a model.

    options: by name; missing ones have their defaults. seed: of all random draws. checkpoint: the folder where a model trained
    in epochs saves its state, so that a killed training can continue; None to save none.
    """

    options: Mapping[str, object] = field(default_factory=dict)
    seed: int = 0
    checkpoint: Path | None = None


@runtime_checkable
class FittedModel(Protocol):
    """A fitted model, which can rank.

    genes: the columns that it reads and ranks. rankable: flags of the genes that it can score, of shape (n_genes,). history:
    one row of measurements for each epoch or step of choice; may be empty. notes: sentences for people about the fit.
    """

    @property
    def name(self) -> str: ...
    @property
    def genes(self) -> tuple[str, ...]: ...
    @property
    def rankable(self) -> NDArray[np.bool_]: ...
    @property
    def history(self) -> pd.DataFrame: ...
    @property
    def notes(self) -> tuple[str, ...]: ...

    def score(self, x: Expression, control: Control) -> Scores:
        """Return a score of every gene for every cell, higher for a likelier target; -inf for genes that the model cannot score.

        x: of shape (n_cells, n_genes). control: the cells' matched controls, or profiles of shape (n_genes,) or (n_cells,
        n_genes). Raise InputError for other shapes.
        """
        ...

    def save(self, folder: Path) -> None:
        """Write the model to a folder, with the manifest last. Raise OSError."""
        ...


@runtime_checkable
class RankingModel(Protocol):
    """A way to rank. To add one, write a file in this package with a `MODEL`. about: one sentence for people."""

    name: str
    about: str
    options: tuple[Option, ...]

    def fit(self, train: ExpressionSet, validation: ExpressionSet, settings: FitSettings, report: Report) -> FittedModel:
        """Return a model fitted on training cells and chosen on validation cells.

        Raise InputError if either set has no perturbed cell, or if the training cells have no control. Raise MissingPackage.
        """
        ...

    def load(self, folder: Path) -> FittedModel:
        """Return a saved model, which scores exactly as before. Raise NotFound, InputError and MissingPackage."""
        ...


def options_of(model: RankingModel, settings: FitSettings) -> dict[str, Any]:
    """Return every option of a model with its value. Raise InputError for an unknown one."""
    return read_options(model.options, settings.options)


def check_columns(model: FittedModel, x: Expression) -> None:
    """Raise InputError if the columns differ from the model's genes, or if values are not finite."""
    if x.ndim != 2 or x.shape[1] != len(model.genes):
        raise InputError(f"{model.name}: expression of shape {x.shape}, expected (n_cells, {len(model.genes):,})")
    if not np.isfinite(x).all():
        raise InputError(f"{model.name}: expression that is not finite, expected log1p of counts per 10,000")


@cache
def ranking_models() -> Mapping[str, RankingModel]:
    """Return the models by name, sorted. A new file with a `MODEL` needs no listing."""
    modules = (importlib.import_module(f"{room.__name__}.{each.name}") for each in pkgutil.iter_modules(room.__path__))
    found: list[RankingModel] = [module.MODEL for module in modules if hasattr(module, "MODEL")]
    return MappingProxyType({model.name: model for model in sorted(found, key=lambda model: model.name)})


def ranking_model_named(name: str) -> RankingModel:
    """Return the model with this name. Raise NotFound, with the known names, if there is none."""
    if name not in ranking_models():
        raise NotFound(f"ranking model {name!r}: not known, {list_choices(name, [*ranking_models()])}")
    return ranking_models()[name]


def load_model(folder: Path) -> FittedModel:
    """Return the model saved in a folder, of any kind. Raise NotFound, InputError and MissingPackage."""
    return ranking_model_named(read_manifest(folder).model).load(folder)
