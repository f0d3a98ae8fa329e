"""pca_knn: rank the targets of the training cells with the most similar change, in principal
components."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.base.fields.record import NoSettings
from core.features.targets.expression import Expression, Flags, MatchedControls
from core.features.targets.metrics import mean_reciprocal_rank
from core.features.targets.models.base import (
    Examples,
    FitSettings,
    FittedModel,
    RankingModel,
    Report,
    Scorer,
    Scores,
)

COMPONENTS: Final = (20, 50, 100)
MAX_NEIGHBOURS: Final = 20

Floats32 = NDArray[np.float32]


def fit(
    examples: Examples, _options: Mapping[str, Any], settings: FitSettings, report: Report
) -> FittedModel:
    """Return the training cells in principal components; the numbers of components and neighbours
    are those of the best validation MRR.

    Arrays: mean, of shape (n_genes,); components, of shape (n_components, n_genes); directions,
    unit vectors of the training cells, of shape (n_train, n_components); votes, flags of their
    targets among the columns. Fact k: number of neighbours that vote.
    """
    from sklearn.decomposition import PCA  # imported here because few processes fit a model

    cells, held_out = examples.fitted, examples.chosen_on
    most = min(MAX_NEIGHBOURS, int((~examples.train.is_control).sum()))
    report(0.0, "principal components")
    changes, held_out_changes = cells.changes, held_out.changes
    n_components = min(max(COMPONENTS), *changes.shape)
    pca = PCA(n_components, svd_solver="randomized", random_state=settings.seed).fit(changes)
    mean, axes = pca.mean_.astype(np.float32), pca.components_.astype(np.float32)
    columns = np.flatnonzero(cells.targets.any(axis=0))
    votes = cells.targets[:, columns]
    mrrs: dict[tuple[int, int], float] = {}
    for n in sorted({min(n, len(axes)) for n in COMPONENTS}):
        asked = _directions(held_out_changes, mean, axes[:n])
        cosines = asked @ _directions(changes, mean, axes[:n]).T
        for k, sums in enumerate(_sum_votes(cosines, votes, most), 1):
            mrrs[n, k] = mean_reciprocal_rank(sums, columns, held_out)
    # the first of ties: fewer components, fewer neighbours
    n, k = max(mrrs, key=lambda choice: mrrs[choice])
    note = f"{n} components and {k} neighbours, chosen on {len(held_out.x):,} held-out cells."
    arrays = {
        "mean": mean,
        "components": axes[:n],
        "directions": _directions(changes, mean, axes[:n]),
        "votes": votes,
    }
    return FittedModel("pca_knn", columns, arrays, facts={"k": k}, notes=(note, *examples.notes))


def make_scorer(fitted: FittedModel) -> Scorer:
    """Return a function for 1/k of the sum of cosines (clipped at 0) to those of the k nearest
    training cells that have the gene as target."""
    mean, components, directions, votes = (
        fitted.arrays[name] for name in ("mean", "components", "directions", "votes")
    )
    k = fitted.facts["k"]

    def score(x: Expression, controls: MatchedControls) -> Scores:
        asked = _directions(x - controls.means(), mean, components)
        *_, sums = _sum_votes(asked @ directions.T, votes, k)
        return np.asarray(sums / k)

    return score


def _directions(changes: Expression, mean: Floats32, components: Floats32) -> Floats32:
    """Return changes in principal components, scaled to length 1, of shape (n_cells, n_components);
    zero vectors stay 0."""
    projected = (changes - mean) @ components.T
    length = np.linalg.norm(projected, axis=1, keepdims=True)
    scaled = np.divide(projected, length, out=np.zeros_like(projected), where=length > 0)
    return np.asarray(scaled, dtype=np.float32)


def _sum_votes(cosines: NDArray[np.floating], votes: Flags, most: int) -> Iterator[Scores]:
    """Yield, for the nearest 1, 2, … `most` training cells, the sums of cosines (clipped at 0) over
    the cells with each gene as target.

    cosines: of shape (n_cells, n_train); if cosines are equal, the earlier cell is nearer. votes:
    of shape (n_train, n_genes).
    """
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :most]
    total = np.zeros((len(cosines), votes.shape[1]))
    for column in nearest.T:
        weight = np.maximum(cosines[np.arange(len(cosines)), column], 0).astype(np.float64)
        total = total + weight[:, None] * votes[column]
        yield total


MODEL: Final = RankingModel("pca_knn", NoSettings, fit, make_scorer)
