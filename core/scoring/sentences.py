"""Phrases that several results share: intervals, and how scores are made."""

from __future__ import annotations

import re
from typing import Final

from core.base.texts import estimate_text, range_text
from core.stats.intervals import Interval, Unit, why_no_interval
from core.store.runs import Run
from core.transfer.permutation_null import N_PERMUTATIONS
from core.transfer.run_cells import ALL_ROWS

TWO_WAY = "allowing for shared perturbations and genes"  # describes a two-way interval
# what scoring inside the cells of folds does
UNSEEN = "only on genes and perturbations whose labels the neighbours never saw"
BIASED = "Leave-one-out is biased if all genes are about equally similar. Base claims on folds."
FEW_CLUSTERS = 40  # an interval mentions smaller numbers of clusters
_AXES: dict[Unit, str] = {
    "two-way": TWO_WAY,
    "pert": "allowing for shared perturbations",
    "gene": "allowing for shared genes",
    "row": "by rows",
    "stratum": "by strata",
}
_SINGLE = {"pert": "a single gene", "gene": "a single perturbation"}


def interval_text(value: Interval, *, signed: bool = False) -> str:
    """Return an interval as "0.621 [0.604, 0.638]", with a sign for a change, and an en dash if it
    is unknown."""
    return estimate_text(*value.ends, "+.3f" if signed else ".3f")


def limits_text(value: Interval) -> str:
    """Return the ends of an interval, "[0.604, 0.638]", where its estimate is shown already."""
    return range_text(value.low, value.high)


def axes_text(shown: Interval) -> str:
    """Return the units that the shown interval treats as independent, with the number of clusters
    if it is small, or why there is no interval.
    """
    why = why_no_interval(shown)
    return f"no interval: {why}" if why else allowed_text(shown)


def allowed_text(shown: Interval) -> str:
    """Return the units that an interval treats as independent, with the number of clusters if it is
    small."""
    few = shown.clusters is not None and shown.clusters < FEW_CLUSTERS
    remarks = ", ".join(
        filter(None, (_SINGLE.get(shown.unit), f"{shown.clusters} clusters" if few else ""))
    )
    return _AXES[shown.unit] + (f" ({remarks})" if remarks else "")


_SHORT_WAYS = {ALL_ROWS: f"over {ALL_ROWS}", "leave-one-out": "as leave-one-out"}
_WAYS = {
    **_SHORT_WAYS,
    "leave-one-out": "as leave-one-out, which is biased if all genes are about equally similar",
}


def scored_text(scored: str) -> str:
    """Return which pairs of rows count (`run_cells.describe_scoring`), for a caption: "scored over
    all rows"."""
    return f"scored {_SHORT_WAYS.get(scored, scored)}"


def describe_scored(scored: str) -> str:
    """Describe the counted pairs of rows (`run_cells.describe_scoring`) for people."""
    return f"{UNSEEN} ({scored})" if "cells" in scored else _WAYS.get(scored, scored)


SCORE_HELP: Final = {
    "DE": "AUROC of any effect against none, over rows with a label: 0.5 is chance.",
    "DIR": "AUROC of up against down, over rows with an effect: 0.5 is chance.",
    "mean": "The headline and official score: the mean of DE and DIR.",
}
HEADLINE_HELP: Final = (
    "The mean over genes of each gene's own AUROC: a score that uses only how often a gene changes"
    " has 0.5."
)
PROBABILITY_HELP: Final = {
    "P(DE)": (
        "Probability that the knockdown changes the gene's expression at all (differential"
        " expression)."
    ),
    "P(up | DE)": "Probability that the change is up, given that there is one.",
}
RANK_HELP: Final = (
    "Made from ranks, as in a fusion: only the order of a run's rows has a meaning. The value is"
    " not a probability, so there is no call, hit or miss."
)
FOLDS: Final = (
    "Perturbations and genes are each cut into five parts. A row is predicted from rows outside"
    " both of its parts; only rows in the same parts are compared."
)
LEAVE_ONE_OUT: Final = (
    "Each row is predicted without rows of its own perturbation or gene; biased if all genes are"
    " about equally similar."
)
# (what to look for in a text, what it is called, what it means)
_EXPLAINED: Final = (
    (
        r"no-biology",
        "No-biology baseline",
        "a score from how often each gene was measured; a run has to beat it.",
    ),
    (
        r"count-only",
        "Count-only",
        "the baseline on DE, made from how often the row's gene was measured; it uses no labels.",
    ),
    (
        r"rarer gene",
        "Rarer gene",
        "the baseline on DIR: rarely measured genes are more likely to go up; it uses no labels.",
    ),
    (r"never saw|\bcells?\b|\bfolds?\b", "Labels that were never seen", FOLDS),
    (
        r"\bcuts?\b",
        "Cut",
        (
            "one random division of perturbations and genes into parts, reproduced by its seed."
            " Other cuts give slightly different scores, so a space is scored by the mean of ten"
            " (seeds 0–9)."
        ),
    ),
    (
        r"permuted vectors",
        "Permuted vectors",
        (
            f"the same with the vectors of genes permuted, {N_PERMUTATIONS} times: mean ± standard"
            " deviation. The share that scores as high, with the space itself among them, is p."
        ),
    ),
    (r"[Ll]eave-one-out", "Leave-one-out", LEAVE_ONE_OUT),
    (
        r"allowing for shared",
        "Allowing for shared perturbations and genes",
        (
            "rows of one perturbation or gene resemble each other, so they carry less information"
            " than independent rows. The interval is wider accordingly."
        ),
    ),
    (
        r"by rows alone",
        "By rows alone",
        "as if no two rows shared a perturbation or a gene, so too narrow if they do.",
    ),
    (
        r"stand-ins?|stand in",
        "Stand-in",
        "if no labelled row is similar, the share among labelled rows replaces the prior.",
    ),
    (
        r"80% power",
        "80% power",
        "a difference of that size would be found in four of five data sets like this one.",
    ),
)


def explain(text: str) -> str | None:
    """Return explanations of the terms in a text, as Markdown with a paragraph for each; None
    without terms."""
    explanations = [
        f"**{name}**: {meaning}"
        for pattern, name, meaning in _EXPLAINED
        if re.search(pattern, text)
    ]
    return "\n\n".join(explanations) or None


RANKED = {
    "population": "Ranked among these rows: a row's number depends on which other rows there are",
    "train": "Ranked against labelled rows: a row's number does not depend on the other rows",
}
CHOSEN = "If its weights were chosen on the rows that score them, the score is too high"
RANK_SCORES = "A fusion's numbers are rank scores, not probabilities"


def fusion_caveats(run: Run) -> tuple[str, ...]:
    """Return the caveats of a fusion's weights and percentiles; none of another run."""
    if run.method != "fusion":
        return ()
    weights = f"{run.name} is a fusion. {CHOSEN}; Fuse says "
    options = run.spec.get("options")
    ranked = (
        [f"{RANKED[options.get('reference', 'population')]}. {RANK_SCORES}."] if options else []
    )
    return (f"{weights}by how much.", *ranked)
