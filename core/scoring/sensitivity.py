"""Does the verdict on two runs depend on sampling and labels? The same comparison under other weights and labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError
from core.scoring.compare_runs import PairedRuns, RunComparison
from core.scoring.json_shapes import changes
from core.scoring.sentences import SIDE_WORDS, change_texts
from core.stats.comparison import Comparison, compare, compare_macro
from core.stats.natural_sampling import compare_weighted, natural_rate, natural_weights
from core.stats.scored_rows import ScoredRows
from core.stats.scores_and_labels import outcome_of
from core.stats.verdicts import side_of, verdict_of
from core.store import Cursor, datasets, pairs
from core.transfer.row_index import RowIndex

AS_LABELLED = "as sampled and labelled"


@dataclass(frozen=True, slots=True, eq=False)
class Variant:
    """The comparison under other weights or labels.

    about: the variation; agree: the share of common rows with the same label, None if the labels are not varied.
    """

    name: str
    about: str
    result: Comparison
    agree: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Sensitivity:
    """Variants of a comparison, b less a, the first unchanged. margin: the smallest relevant difference, or None."""

    variants: tuple[Variant, ...]
    margin: float | None

    def verdict(self, variant: Variant) -> str:
        """Return the verdict on the mean in one variant: by the margin, or without one the side of 0."""
        shown = variant.result.mean.change.shown
        return SIDE_WORDS[side_of(shown)] if self.margin is None else verdict_of(shown, self.margin)

    @property
    def depends(self) -> list[str]:
        """The names of the variants whose verdict is another than the first one's."""
        first, *others = self.variants
        return [other.name for other in others if self.verdict(other) != self.verdict(first)]


def vary(found: RunComparison, other_labels: Mapping[str, NDArray[np.object_]], margin: float | None = None) -> Sensitivity:
    """Return the comparison at the natural base rate, and under other labels.

    other_labels: by their name, labels of all rows of the dataset, None if there is none.
    """
    pair = found.pair
    if not found.covered.n_labelled:
        raise InputError("sensitivity: no row that both runs have has a label, so there is no verdict to vary")
    variants = [Variant(AS_LABELLED, f"{found.covered.n_labelled:,} labelled rows", found.covered)]
    if pair.a.headline == "mean":  # inside a gene all rows without an effect have one weight
        variants.append(_at_natural_rate(pair))
    for name, labels in other_labels.items():
        variants.append(_under_labels(pair, name, labels[pair.a.positions]))
    return Sensitivity(tuple(variants), margin)


def _at_natural_rate(pair: PairedRuns) -> Variant:
    rows, index = pair.a.arrays, pair.a.index
    weights = natural_weights(outcome_of(index.labels), index.rows.pert, index.rows.gene)[pair.a.positions]
    sampled, natural = natural_rate(rows.outcome, weights)
    about = f"{natural:.1%} with an effect instead of {sampled:.1%}, if all effects of the screen are included"
    return Variant("natural base rate", about, compare_weighted(rows, pair.b.scores, weights))


def _under_labels(pair: PairedRuns, name: str, labels: NDArray[np.object_]) -> Variant:
    now, here = pair.a.labels, np.array([label is not None for label in labels])
    both = here & np.array([label is not None for label in now])
    if not both.any():
        raise InputError(f"{name}: has labels of no shared row; expected labels of the same pairs")
    a, b = (ScoredRows(outcome_of(labels), one.scores, pair.a.pert, pair.a.gene, pair.a.cells) for one in (pair.a, pair.b))
    if pair.a.headline == "macro":
        result = compare_macro(a, b, "gene")
    else:
        result = compare(labels, a.scores, b.scores, a.pert, a.gene, a.cells)
    agree = float((labels[both] == now[both]).mean())
    about = f"{int(here.sum()):,} labelled rows, {agree:.1%} of the shared ones with the same label"
    return Variant(name, about, result, agree)


def sensitivity_table(found: Sensitivity) -> list[dict[str, str]]:
    """Return a row for each variant: its differences, and the verdict on the mean."""
    return [
        {"variant": one.name, **change_texts(one.result), "verdict": found.verdict(one), "variation": one.about}
        for one in found.variants
    ]


def sensitivity_sentence(found: Sensitivity) -> str:
    """Return a sentence on whether the verdict depends on the variations."""
    first, *others = found.variants
    if not others:
        return "No variants: inside genes the base rate has no influence, and there are no other labels."
    if found.depends:
        return f"The verdict “{found.verdict(first)}” depends on them: it changes with {', '.join(found.depends)}."
    return f"The verdict “{found.verdict(first)}” stays in all {len(found.variants)} variants."


def sensitivity_shape(found: Sensitivity) -> dict[str, Any]:
    """Return `sensitivity --json`."""
    return {
        "margin": found.margin,
        "depends_on": found.depends,
        "variants": [
            {"name": one.name, "about": one.about, "agree": one.agree, "verdict": found.verdict(one), **changes(one.result)}
            for one in found.variants
        ],
    }


def labels_of_pairs(db: Cursor, dataset: str, index: RowIndex) -> NDArray[np.object_]:
    """Return a dataset's (name or id) labels for another dataset's rows, of shape (n_rows,), None if missing.

    Pairs match if both symbols are spelled alike. Raise NotFound for an unknown dataset.
    """
    frame = pairs.frame(db, datasets.find(db, dataset).id)
    known = frame[frame["label"].notna()]
    by_pair = dict(zip(zip(known["pert"], known["gene"], strict=True), known["label"], strict=True))
    symbols, rows = index.symbols, index.rows
    named = ((symbols[p], symbols[g]) for p, g in zip(rows.pert.tolist(), rows.gene.tolist(), strict=True))
    return np.array([by_pair.get(pair) for pair in named], dtype=object)
