"""kNN as a method: priors from similar genes as predictions, each with a trace that names its heaviest neighbours."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from core.stats.arrays import Codes
from core.transfer.knn import Similar
from core.transfer.layout import Layout
from core.transfer.plan import Plan
from core.transfer.protocols import Predicted, View
from core.transfer.provenance import Provenance, explain
from core.transfer.rows import DIRECTED, EFFECT, UP
from core.transfer.similarity import kept
from core.types import Flag, Prediction, RowResult, TraceEvent

NAMED = 8  # neighbours in a trace
STAND_IN = 0.5  # where no labelled row is similar: neither for nor against; always flagged


def results(layout: Layout, rows: Codes, predicted: Predicted, plan: Plan) -> list[RowResult]:
    """One result for each of the rows (positions in the layout) that the priors are of, in their order."""
    found: list[RowResult | None] = [None] * len(rows)
    for cosines in predicted.views:
        near = cosines.similar.gene
        view = replace(cosines, similar=Similar(both := kept(near), both)) if near is not None else cosines
        for position in view.rows:
            found[position] = _result(layout, int(rows[position]), int(position), predicted, view, plan)
    return [result for result in found if result is not None]


def prediction(pair_id: str, prior_de: float, prior_up: float) -> Prediction:
    """Priors as a prediction; what is NaN is 0.5 and flagged."""
    flags = []
    if math.isnan(prior_de):
        prior_de, prior_up = STAND_IN, STAND_IN
        flags.append(Flag.UNCOVERED)
    elif math.isnan(prior_up) and prior_de > 0:
        prior_up = STAND_IN
        flags.append(Flag.UNCOVERED_DIR)
    p_up = None if prior_de == 0 else prior_up
    up = 0.0 if p_up is None else prior_de * p_up
    return Prediction(pair_id, up, prior_de - up, prior_de, p_up, "trace", tuple(flags), 0, 0, 0)


def _result(layout: Layout, row: int, position: int, predicted: Predicted, view: View, plan: Plan) -> RowResult:
    codes = int(layout.rows.pert[row]), int(layout.rows.gene[row])
    weighting = plan.setting.weighting
    why = explain(codes, view.known, view.similar, weighting, view.parts)
    priors = predicted.priors
    prior_de, prior_up = float(priors.de[position]), float(priors.up[position])
    support = float(priors.support[position])
    event = TraceEvent(
        stage="knn",
        role="NEIGHBOURS",
        kind="neighbours",
        content=_words(layout, codes, why, view, plan, support),
        tokens=0,
        meta={"prior_de": _or_none(prior_de), "prior_up": _or_none(prior_up), "support": support},
    )
    return RowResult(prediction(layout.pair_ids[row], prior_de, prior_up), (event,))


def _words(layout: Layout, row: tuple[int, int], why: Provenance, view: View, plan: Plan, support: float) -> str:
    axis = plan.setting.weighting.axis
    subject = " ⟶ ".join(layout.symbol(code) for code, name in zip(row, ("pert", "gene"), strict=True) if axis in (name, "both"))
    if not len(why.neighbours):
        return f"No labelled row is similar to {subject} ({plan.words()}): {STAND_IN} stands in for both priors."
    head = f"{len(why.neighbours):,} labelled rows are similar to {subject} ({plan.words()}); total weight {support:.4g}."
    lines = [
        f"{name}: similarity {similarity:.3f}, {share:.1%} of the weight; {counts[0]} up, {counts[1]} down, {counts[2]} none"
        for name, similarity, share, counts in _heaviest(layout, why, view, axis)
    ]
    shrunk = f" An effect's prior is drawn to a half by support, strength {plan.setting.strength:g}."
    return "\n".join([head + (shrunk if plan.setting.strength else ""), "The heaviest:", *lines])


def _heaviest(layout: Layout, why: Provenance, view: View, axis: str) -> list[tuple[str, float, float, list[int]]]:
    """(name, similarity, share of prior_de, [up, down, none]) of the symbols, or pairs, with the largest shares."""
    rows, near = view.known.rows, why.neighbours
    group = np.arange(len(near)) if axis == "both" else getattr(rows, axis)[near]
    flags = view.known.flags[near]
    share = np.bincount(group, why.share)
    found = []
    for i in np.argsort(-share, kind="stable")[:NAMED]:
        mine = group == i
        if not mine.any():
            break
        first = int(mine.argmax())
        pert, gene = layout.symbol(int(rows.pert[near[first]])), layout.symbol(int(rows.gene[near[first]]))
        name = f"{pert} ⟶ {gene}" if axis == "both" else pert if axis == "pert" else gene
        up, directed, effect = (int(flags[mine, column].sum()) for column in (UP, DIRECTED, EFFECT))
        counts = [up, directed - up, int(mine.sum()) - effect]
        found.append((name, float(why.similarity[first]), float(share[i]), counts))
    return found


def _or_none(value: float) -> Any:
    return None if math.isnan(value) else value
