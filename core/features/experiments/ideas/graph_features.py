"""Is a gene reachable from the perturbation in a directed regulatory graph, and with which sign?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Le
from scipy.sparse import csr_array

from core.base.fields.setting import Share, setting
from core.features.experiments.ideas.idea import Judged, Material, OnLabels, Ranking, Trial, idea
from core.stats.arrays import Floats
from core.stats.scores_and_labels import Scores, scores_from_probabilities

SIGNED = "kd_up_score"  # ranks DIR, the others DE


@dataclass(frozen=True, slots=True)
class Settings(OnLabels):
    """How walks count."""

    cut_off: Annotated[int, Ge(1), Le(6), setting("The most edges of a walk.")] = 4
    damping: Annotated[Share, setting("Factor on a walk's weight for each edge.")] = 0.5


def walk_features(
    signs: Mapping[tuple[str, str], int],
    pert: Sequence[str],
    gene: Sequence[str],
    cut_off: int,
    damping: float,
) -> dict[str, Floats]:
    """Return features of pairs of symbols in the graph of (regulator, target) → 1, −1 or 0 (unknown
    sign).

    reachable (0 or 1: by a walk of at most `cut_off` edges); recip_dist (1 / edges of the shortest
    walk, 0 if none); connectivity (Σ over walks of damping^edges); kd_up_score (the same with the
    product of the signs, reversed, because it predicts an increase after loss of the regulator);
    pert_outdeg. Symbols outside the graph have zeros.
    """
    nodes = {
        symbol: i for i, symbol in enumerate(sorted({symbol for pair in signs for symbol in pair}))
    }
    starts = {symbol: i for i, symbol in enumerate(sorted(set(pert) & set(nodes)))}
    source, target = (
        np.array([nodes[pair[side]] for pair in signs], dtype=np.intp) for side in (0, 1)
    )
    sign = np.fromiter(signs.values(), dtype=np.float64, count=len(signs))
    n = len(nodes)
    graph, signed = (
        csr_array((values, (source, target)), (n, n)) for values in (np.ones(len(sign)), sign)
    )
    walks = signed_walks = csr_array(
        (np.ones(len(starts)), (list(starts.values()), [nodes[s] for s in starts])),
        (len(starts), n),
    )
    at = (
        np.array([starts.get(symbol, -1) for symbol in pert]),
        np.array([nodes.get(symbol, -1) for symbol in gene]),
    )
    distance: Floats = np.full(len(pert), np.inf)
    total, effect = np.zeros((2, len(pert)))
    for edges in range(1, cut_off + 1):
        walks, signed_walks = walks @ graph, signed_walks @ signed
        n_walks = _entries(walks, *at)
        distance = np.where((n_walks > 0) & np.isinf(distance), edges, distance)
        total += damping**edges * n_walks
        effect += damping**edges * _entries(signed_walks, *at)
    degree = np.bincount(source, minlength=n)
    return {
        "reachable": np.isfinite(distance).astype(np.float64),
        "recip_dist": 1 / distance,
        "connectivity": total,
        SIGNED: -effect,
        "pert_outdeg": np.append(degree, 0.0)[[nodes.get(symbol, -1) for symbol in pert]],
    }


def _entries(matrix: Any, starts: Any, ends: Any) -> Floats:
    inside = (starts >= 0) & (ends >= 0)
    entries: Floats = np.zeros(len(inside))
    entries[inside] = matrix.toarray()[starts[inside], ends[inside]]
    return entries


def _judge(material: Material, chosen: Settings) -> Judged:
    rows, packs = material.rows, material.packs
    # of an edge in both, the sign of the transcription factor
    signs = {**(packs.signalling or {}), **(packs.signs or {})}
    names = material.symbols(rows.pert), material.symbols(rows.gene)
    features = walk_features(signs, *names, chosen.cut_off, chosen.damping)
    arms = [
        Ranking(
            name, (_one_axis(name, features[name]),), "DIR only" if name == SIGNED else "DE only"
        )
        for name in ("reachable", "recip_dist", "connectivity", "pert_outdeg", SIGNED)
    ]
    reach = (
        f"{features['reachable'].mean():.1%} of the rows are reachable within"
        f" {chosen.cut_off} edges; rows outside the graph score 0 and tie."
    )
    trial = Trial(material.labels, rows, (None,), "all rows")
    return Judged(trial, arms, (reach,), has_base=False)


def _one_axis(name: str, values: Floats) -> Scores:
    """Return a feature as the DE score, or the signed feature as the DIR score; the other score is
    missing."""
    nothing = np.full(len(values), np.nan)
    if name == SIGNED:
        return Scores(nothing, scores_from_probabilities(np.zeros(len(values)), values).p_up)
    return Scores(scores_from_probabilities(values, nothing).p_de, nothing)


KIND = idea(
    "graph_features",
    "Network reachability and signed propagation",
    "Does a directed regulatory graph say which genes a knockdown changes, and in which direction?",
    ("labels", "signs"),
    Settings,
    _judge,
)
