"""pca_knn: rank the targets of the training cells with the most similar change, in principal components."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.fields.option import Option
from core.target_ranking.controls import Control, subtract_controls
from core.target_ranking.expression import Expression, ExpressionSet
from core.target_ranking.models.base import FitSettings, RankingModel, Report, Scores, check_columns, options_of
from core.target_ranking.models.saved_model import SavedModel, read_model, write_model
from core.target_ranking.models.training_cells import (
    Flags,
    PerturbedCells,
    choice_cells,
    mean_reciprocal_rank,
    take_perturbed,
    take_validation,
)

NAME: Final = "pca_knn"
COMPONENTS: Final = (20, 50, 100)
MOST_NEIGHBOURS: Final = 20
_CELLS_AT_ONCE: Final = 1_000

Floats32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class FittedPcaKnn:
    """The training cells in principal components. See `FittedModel`.

    mean: of shape (n_genes,). components: of shape (n_components, n_genes). directions: unit vectors of the training cells, of
    shape (n_train, n_components). targets: flags of shape (n_train, n_genes). k: number of neighbours that vote.
    """

    genes: tuple[str, ...]
    mean: Floats32
    components: Floats32
    directions: Floats32
    targets: Flags
    k: int
    history: pd.DataFrame
    notes: tuple[str, ...] = ()
    name: str = NAME

    @property
    def rankable(self) -> NDArray[np.bool_]:
        return np.asarray(self.targets.any(axis=0))

    def score(self, x: Expression, control: Control) -> Scores:
        """Return 1/k of the sum of cosines (clipped at 0) to those of the k nearest training cells that have the gene as
        target.
        """
        check_columns(self, x)
        directions = _directions(subtract_controls(x, control), self.mean, self.components)
        scores = np.full(x.shape, -np.inf)
        rankable = self.rankable
        votes = self.targets[:, rankable]
        for start in range(0, len(x), _CELLS_AT_ONCE):
            rows = slice(start, start + _CELLS_AT_ONCE)
            *_, last = _count_votes(directions[rows] @ self.directions.T, votes, self.k)
            scores[rows, rankable] = last / self.k
        return scores

    def save(self, folder: Path) -> None:
        arrays = {name: getattr(self, name) for name in ("mean", "components", "directions")}
        arrays["targets"] = self.targets.astype(np.uint8)
        write_model(folder, SavedModel(NAME, self.genes, {"k": self.k}, arrays, self.history, self.notes))


def _directions(changes: Expression, mean: Floats32, components: Floats32) -> Floats32:
    """Return changes in principal components, scaled to length 1, of shape (n_cells, n_components); zero vectors stay 0."""
    projected = (changes - mean) @ components.T
    length = np.linalg.norm(projected, axis=1, keepdims=True)
    return np.asarray(np.divide(projected, length, out=np.zeros_like(projected), where=length > 0), dtype=np.float32)


def _count_votes(cosines: NDArray[np.floating], votes: Flags, most: int) -> Iterator[NDArray[np.float64]]:
    """Yield, for the nearest 1, 2, … `most` training cells, the sums of cosines (clipped at 0) over the cells with each gene as
    target.

    cosines: of shape (n_cells, n_train); if cosines are equal, the earlier cell is nearer. votes: of shape (n_train, n_genes).
    """
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :most]
    total = np.zeros((len(cosines), votes.shape[1]))
    for column in nearest.T:
        weight = np.maximum(cosines[np.arange(len(cosines)), column], 0).astype(np.float64)
        total = total + weight[:, None] * votes[column]
        yield total


class PcaKnn:
    """Nearest neighbours by the cosine of principal components; the numbers of both are chosen on the validation cells."""

    name = NAME
    about = "The targets of the nearest training cells by the cosine of principal components; both numbers chosen on validation."
    options: tuple[Option, ...] = (
        Option("most_neighbours", "int", MOST_NEIGHBOURS, "The largest number of neighbours to try.", least=1, most=1000),
    )

    def fit(self, train: ExpressionSet, validation: ExpressionSet, settings: FitSettings, report: Report) -> FittedPcaKnn:
        """See `RankingModel`."""
        from sklearn.decomposition import PCA  # imported here because few processes fit a model

        most = min(options_of(self, settings)["most_neighbours"], int((~train.is_control).sum()))
        rng = np.random.default_rng(settings.seed)
        trained = take_perturbed(train, train, rng, "training")
        cells, held_out, notes = choice_cells(trained, take_validation(validation, train, rng), rng)
        report(0.0, "principal components")
        changes = cells.changes
        pca = PCA(min(max(COMPONENTS), *changes.shape), svd_solver="randomized", random_state=settings.seed).fit(changes)
        mean, axes = pca.mean_.astype(np.float32), pca.components_.astype(np.float32)
        counts = sorted({min(n, len(axes)) for n in COMPONENTS})
        rows: list[dict[str, float]] = []
        for at, n in enumerate(counts):
            report((at + 1) / (len(counts) + 1), f"{n} components")
            rows += _try_neighbours(cells, held_out, mean, axes[:n], most)
        history = pd.DataFrame(rows, dtype=np.float64)
        best = history.iloc[int(history["validation_mrr"].argmax())]  # the first of ties: fewer components, fewer neighbours
        chosen = axes[: int(best["components"])]
        note = f"{len(chosen)} components and {int(best['neighbours'])} neighbours, chosen on {len(held_out.x):,} held-out cells."
        directions = _directions(changes, mean, chosen)
        return FittedPcaKnn(
            train.genes, mean, chosen, directions, cells.targets, int(best["neighbours"]), history, (note, *notes)
        )

    def load(self, folder: Path) -> FittedPcaKnn:
        """See `RankingModel`."""
        saved = read_model(folder, NAME)
        arrays: dict[str, Any] = {name: saved.arrays[name] for name in ("mean", "components", "directions")}
        targets = saved.arrays["targets"].astype(np.bool_)
        return FittedPcaKnn(saved.genes, **arrays, targets=targets, k=saved.facts["k"], history=saved.history, notes=saved.notes)


def _try_neighbours(
    cells: PerturbedCells, held_out: PerturbedCells, mean: Floats32, axes: Floats32, most: int
) -> list[dict[str, float]]:
    """Return the validation MRR of every number of neighbours."""
    cosines = _directions(held_out.changes, mean, axes) @ _directions(cells.changes, mean, axes).T
    rankable = cells.targets.any(axis=0)
    scores = np.full(held_out.x.shape, -np.inf)
    rows = []
    for k, votes in enumerate(_count_votes(cosines, cells.targets[:, rankable], most), 1):
        scores[:, rankable] = votes
        rows.append({"components": len(axes), "neighbours": k, "validation_mrr": mean_reciprocal_rank(scores, held_out)})
    return rows


MODEL: RankingModel = PcaKnn()
