"""A ranking model before and after fitting, its folder, and the list of the models in this package.

The folder of a fitted model has its arrays as safetensors, and a manifest, which is written last,
so that a folder with one is complete. There is no pickle; bytes of other libraries are uint8
arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from safetensors.numpy import load, save

import core.features.targets.models as room
from core.base.environment import describe
from core.base.errors import InputError, NotFound
from core.base.feature import declared_in, find_named
from core.base.fields.record import read_options
from core.base.file_io import read_file, replace_file
from core.base.hashes import sha256_of
from core.features.targets.expression import (
    Expression,
    ExpressionSet,
    MatchedControls,
    PerturbedCells,
    take_perturbed,
)
from core.features.targets.metrics import spread_scores
from core.runs.jobs.folder import read_json, write_json

REQUIREMENTS: Final = "requirements-targets.txt"
MAX_VALIDATION_CELLS: Final = 1_000  # so that choosing takes less time than fitting
SHARE_CHOSEN_ON: Final = 0.1  # of the training cells
ARRAYS: Final = "model.safetensors"
MANIFEST: Final = "manifest.json"
MAX_BYTES: Final = 1 << 34

Scores = NDArray[np.float64]
Arrays = Mapping[str, NDArray[Any]]
Scorer = Callable[[Expression, MatchedControls], NDArray[Any]]
Report = Callable[[float, str], object]  # the share that is done, and the current step


@dataclass(frozen=True, slots=True)
class FitSettings:
    """Settings for fitting a model.

    options: by name; missing ones have their defaults. seed: of all random draws.
    """

    options: Mapping[str, object] = field(default_factory=dict)
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Cells to fit on and cells to choose on. notes: sentences for people. rng: for further
    draws."""

    train: ExpressionSet
    fitted: PerturbedCells
    chosen_on: PerturbedCells
    rng: np.random.Generator
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RankingModel:
    """A way to rank. To add one, write a file in this package with a `MODEL`.

    settings: a dataclass whose fields declare its options. fit: raise MissingPackage without its
    packages. scorer: return a function that scores the columns of a fit for each cell, higher for a
    likelier target; of expression of shape (n_cells, n_genes) and the cells' controls.
    ranks_untrained: whether it ranks genes without a training perturbation. packages: beyond the
    app's.
    """

    name: str
    settings: type
    fit: Callable[[Examples, Mapping[str, Any], FitSettings, Report], FittedModel]
    scorer: Callable[[FittedModel], Scorer]
    ranks_untrained: bool = False
    packages: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A fitted model, which can rank the genes of the cells that it was fitted on.

    columns: the genes that it can score, ascending positions. arrays, facts: all that scoring
    needs. history: measurements of each epoch; empty for a model that is not trained in epochs.
    """

    name: str
    columns: NDArray[np.intp]
    arrays: Arrays
    history: pd.DataFrame = field(default_factory=pd.DataFrame)
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @cached_property
    def _scorer(self) -> Scorer:
        return ranking_model_named(self.name).scorer(self)

    def score(self, x: Expression, controls: MatchedControls) -> Scores:
        """Return a score of every gene for every cell, of shape (n_cells, n_genes); -inf for genes
        that the model cannot score. Raise InputError for a score that is NaN or +inf."""
        return spread_scores(self._scorer(x, controls), self.columns, x.shape)

    def save(self, folder: Path) -> None:
        """Write the model to a folder; an earlier manifest is removed first. Raise OSError."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / MANIFEST).unlink(missing_ok=True)
        arrays = {**self.arrays, "columns": self.columns}
        content = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
        replace_file(folder / ARRAYS, content, durable=True)
        manifest = {
            "model": self.name,
            "facts": dict(self.facts),
            "notes": list(self.notes),
            "history": self.history.to_dict("list"),
            "code": describe(),
            "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "sha256": sha256_of(content),
        }
        write_json(folder / MANIFEST, manifest)


def fit_model(
    name: str,
    train: ExpressionSet,
    validation: ExpressionSet,
    settings: FitSettings,
    report: Report = lambda _share, _what: None,
) -> FittedModel:
    """Return a model fitted on training cells and chosen on validation cells.

    Raise NotFound for an unknown model, InputError for an unknown option, without a perturbed cell
    in either set, and without a control cell to train on. Raise MissingPackage.
    """
    model = ranking_model_named(name)
    options = read_options(model.settings, settings.options)
    examples = _make_examples(train, validation, settings.seed, choose=not model.ranks_untrained)
    return model.fit(examples, options, settings, report)


def _make_examples(
    train: ExpressionSet, validation: ExpressionSet, seed: int, *, choose: bool
) -> Examples:
    """Return the training cells and at most MAX_VALIDATION_CELLS random validation cells.

    choose: whether the model ranks only targets of training cells. If no validation cell has such a
    target, no choice would change its MRR; then a random tenth of the training cells replaces them,
    with a note. Raise InputError for fewer than two training cells in that case.
    """
    rng = np.random.default_rng(seed)
    cells = take_perturbed(train, train, rng, "training")
    perturbed = np.flatnonzero(~validation.is_control)
    chosen = np.sort(rng.permutation(perturbed)[:MAX_VALIDATION_CELLS])
    held_out = take_perturbed(validation.take(chosen), train, rng, "validation")
    notes = []
    if n := cells.controls.n_unmatched:
        notes.append(
            f"{n:,} of {len(cells.x):,} cells are from batches without control cells and were "
            "compared with controls of all batches."
        )
    if choose and not (held_out.targets & cells.targets.any(axis=0)).any():
        if len(cells.x) < 2:
            raise InputError(
                f"training cells: {len(cells.x)} perturbed, expected at least 2, because no"
                " validation cell can be ranked"
            )
        order = rng.permutation(len(cells.x))
        n_chosen = max(1, round(SHARE_CHOSEN_ON * len(order)))
        held_out = cells.take(np.sort(order[:n_chosen]))
        cells = cells.take(np.sort(order[n_chosen:]))
        notes.append(
            f"No validation cell has a trained target; {n_chosen:,} random training cells were held"
            " out to choose on instead."
        )
    return Examples(train, cells, held_out, rng, tuple(notes))


@dataclass(frozen=True, slots=True, eq=False)
class ClassRows:
    """Rows of a classifier: a cell with several targets has one row for each, and its weight is
    divided among them.

    x: changes of expression, of shape (n_rows, n_genes). classes: positions in `columns`. weights:
    of shape (n_rows,). columns: the genes that are classes, ascending positions.
    """

    x: Expression
    classes: NDArray[np.intp]
    weights: NDArray[np.float64]
    columns: NDArray[np.intp]


def make_class_rows(cells: PerturbedCells) -> ClassRows:
    """Return the rows of training cells."""
    columns = np.flatnonzero(cells.targets.any(axis=0))
    row, column = np.nonzero(cells.targets[:, columns])
    return ClassRows(cells.changes[row], column, 1 / cells.targets.sum(axis=1)[row], columns)


@cache
def ranking_models() -> Mapping[str, RankingModel]:
    """Return the models by name, in the order of their files. A new file with a `MODEL` needs no
    listing."""
    return MappingProxyType({model.name: model for model in declared_in(room, "MODEL")})


def ranking_model_named(name: str) -> RankingModel:
    """Return the model with this name. Raise NotFound, with the known names, if there is none."""
    return find_named(ranking_models(), "ranking model", name)


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a saved model. Raise NotFound without one, and InputError for other
    content."""
    kinds = {"model": str, "facts": dict, "notes": list, "history": dict, "sha256": str}
    values = read_json(folder / MANIFEST, kinds)
    if values is None:
        raise NotFound(f"{folder}: has no {MANIFEST}, so it is not a complete ranking model")
    return values


def load_model(folder: Path) -> FittedModel:
    """Return the model saved in a folder. Raise NotFound, and InputError for changed arrays."""
    manifest = read_manifest(folder)
    content = read_file(folder / ARRAYS, MAX_BYTES)
    if sha256_of(content) != manifest["sha256"]:
        raise InputError(
            f"{folder / ARRAYS}: is not the file that its {MANIFEST} names; train the model again"
        )
    arrays = load(content)
    columns, history = arrays.pop("columns"), pd.DataFrame(manifest["history"])
    return FittedModel(
        manifest["model"], columns, arrays, history, manifest["facts"], tuple(manifest["notes"])
    )
