"""graph_features: is a gene reachable from the perturbation in a directed regulatory graph, and with which sign?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from core.experiments.ablations.arms import Arm, Trial, one_cut, score_arms, score_of
from core.experiments.ablations.base import Ablation, Outcome
from core.experiments.ablations.material import Material
from core.methods.base import Option
from core.stats.arrays import Floats
from core.stats.scores_and_labels import Scores, scores_from_probabilities
from core.types import EXTERNAL_SCORE

ALL_PAIRS = "all rows"
LITTLE = 0.05  # an AUROC with its whole interval this close to chance says almost nothing


def walk_features(
    signs: Mapping[tuple[str, str], int], pert: list[str], gene: list[str], cut_off: int, damping: float
) -> pd.DataFrame:
    """Return features of pairs of symbols in the graph of (regulator, target) → 1, −1 or 0 (unknown sign).

    Return one row for each pair: pert_in_net, gene_in_net, reachable (0 or 1: by a walk of at most `cut_off` edges), recip_dist
    (1 / edges of the shortest walk, 0 if none), connectivity (Σ over walks of damping^edges), kd_up_score (the same with the
    product of the signs, reversed, because it predicts an increase after loss of the regulator) and pert_outdeg. Symbols
    outside the graph have zeros.
    """
    nodes = {symbol: i for i, symbol in enumerate(sorted({symbol for pair in signs for symbol in pair}))}
    starts = {symbol: i for i, symbol in enumerate(sorted(set(pert) & set(nodes)))}
    source, target = (np.array([nodes[pair[side]] for pair in signs], dtype=np.intp) for side in (0, 1))
    sign = np.fromiter(signs.values(), dtype=np.float64, count=len(signs))
    shape = (len(nodes), len(nodes))
    graph, signed = csr_array((np.ones(len(sign)), (source, target)), shape), csr_array((sign, (source, target)), shape)
    first = csr_array((np.ones(len(starts)), (list(starts.values()), [nodes[s] for s in starts])), (len(starts), len(nodes)))
    at = np.array([starts.get(symbol, -1) for symbol in pert]), np.array([nodes.get(symbol, -1) for symbol in gene])
    inside = (at[0] >= 0) & (at[1] >= 0)
    distance: Floats = np.full(len(pert), np.inf)
    total, effect = np.zeros((2, len(pert)))
    walks, signed_walks = first, first
    for edges in range(1, cut_off + 1):
        walks, signed_walks = walks @ graph, signed_walks @ signed
        n = _entries(walks, at, inside)
        distance = np.where((n > 0) & np.isinf(distance), edges, distance)
        total += damping**edges * n
        effect += damping**edges * _entries(signed_walks, at, inside)
    degree = np.bincount(source, minlength=len(nodes))
    return pd.DataFrame(
        {
            "pert_in_net": [symbol in nodes for symbol in pert],
            "gene_in_net": at[1] >= 0,
            "reachable": np.isfinite(distance).astype(float),
            "recip_dist": 1 / distance,
            "connectivity": total,
            "kd_up_score": -effect,
            "pert_outdeg": [float(degree[nodes[symbol]]) if symbol in nodes else 0.0 for symbol in pert],
        }
    )


def _entries(matrix: Any, at: tuple[Any, Any], inside: Any) -> Floats:
    found: Floats = np.zeros(len(inside))
    found[inside] = matrix.toarray()[at[0][inside], at[1][inside]]
    return found


def _make(material: Material, options: Mapping[str, Any]) -> Outcome:
    rows = material.rows
    packs = material.load_packs()
    signs = {
        **(packs.signalling or {}),
        **(packs.signs or {}),
    }  # if both packs have an edge, the sign of the transcription factor is used
    names = material.symbols(rows.pert), material.symbols(rows.gene)
    features = walk_features(signs, *names, options["cut_off"], options["damping"])
    trial = Trial(material.labels, rows, (None,), ALL_PAIRS)
    arms = [
        one_cut(name, _one_axis(features[name], name), trial, note)
        for name, note in (
            ("reachable", "DE only"),
            ("recip_dist", "DE only"),
            ("connectivity", "DE only"),
            ("pert_outdeg", "DE only"),
            ("kd_up_score", "DIR only"),
        )
    ]
    published = {run.name: material.load_run(run.id) for run in material.runs if _is_on_labelled_rows(material, run)}
    own = dict(zip(material.pair_ids, range(len(rows)), strict=True))
    lines = []
    for title, found in published.items():
        scores, values = _on_rows(found, own, len(rows))
        feature = str(found.run.spec.get("de") or found.run.spec.get("dir"))
        arms.append(Arm(f"file: {title}", (scores,), "external score"))
        if feature in features:
            lines.append({"file": title, **_agreement(features[feature].to_numpy(dtype=np.float64), values)})
    table = score_arms(trial, arms)
    return Outcome(table, _sentence(table, features, options), _remarks(features, lines), pd.DataFrame(lines))


def _is_on_labelled_rows(material: Material, run: Any) -> bool:
    return run.method == EXTERNAL_SCORE and run.id in material.labelled_runs


def _one_axis(values: pd.Series, name: str) -> Scores:
    """Return a feature as the DE score, or the signed feature as the DIR score; the other score is missing."""
    numbers = values.to_numpy(dtype=np.float64)
    nothing = np.full(len(numbers), np.nan)
    if name == "kd_up_score":
        return Scores(nothing, scores_from_probabilities(np.zeros(len(numbers)), numbers).p_up)
    return Scores(scores_from_probabilities(numbers, nothing).p_de, nothing)


def _on_rows(found: Any, own: Mapping[str, int], n: int) -> tuple[Scores, Floats]:
    """Return an external score on the labelled rows, NaN for missing rows, and its ranks."""
    de, up = np.full((2, n), np.nan)
    positions = [own.get(key, -1) for key in found.frame["pair_id"]]
    kept = np.array(positions) >= 0
    where = np.array(positions)[kept]
    de[where], up[where] = found.scores.p_de[kept], found.scores.p_up[kept]
    return Scores(de, up), np.where(np.isnan(de), up, de)


def _agreement(own: Floats, other: Floats) -> dict[str, float]:
    """Return the number of shared rows, and Spearman's correlation of our feature and a file's column on them."""
    both = ~np.isnan(other)
    frame = pd.DataFrame({"own": own[both], "other": other[both]}).rank()
    return {"n": int(both.sum()), "spearman": float(frame["own"].corr(frame["other"]))}


def _sentence(table: pd.DataFrame, features: pd.DataFrame, options: Mapping[str, Any]) -> str:
    de, up = score_of(table, "connectivity", "DE"), score_of(table, "kd_up_score", "DIR")
    verdict = "says almost nothing" if max(de.high - 0.5, 0.5 - de.low) < LITTLE else "tells something"
    return (
        f"{features['reachable'].mean():.1%} of the rows are reachable within {options['cut_off']} edges; connectivity has DE "
        f"{de.text}, signed propagation DIR {up.text}: the graph {verdict} about an effect."
    )


def _remarks(features: pd.DataFrame, lines: list[dict[str, Any]]) -> tuple[str, ...]:
    inside = f"{features['pert_in_net'].mean():.0%} of rows have their perturbation in the graph, "
    remarks = [
        inside
        + f"{features['gene_in_net'].mean():.0%} their gene; {(features['pert_outdeg'] > 0).mean():.0%} a perturbation that "
        "regulates anything. Rows outside score 0 and tie."
    ]
    if lines:
        least = min(each["spearman"] for each in lines)
        remarks.append(
            f"Row by row, features of a file and ours of the same name correlate by Spearman's {least:.2f} or more (see the "
            "details): a file from another graph ranks other rows first, even if both have similar scores."
        )
    return tuple(remarks)


ABLATION = Ablation(
    name="graph_features",
    title="Network reachability and signed propagation",
    question="Does a directed regulatory graph say which genes a knockdown changes, and in which direction?",
    needs=("labels", "signs"),
    options=(
        Option("cut_off", "int", 4, "The most edges of a walk.", least=1, most=6),
        Option("damping", "float", 0.5, "Factor on a walk's weight for each edge.", least=0.0, most=1.0),
    ),
    make=_make,
)
