"""The terms of the field, each explained once, for hovers on numbers and sentences."""

from __future__ import annotations

import re
from typing import Final

from core.transfer.permutation_null import N_PERMUTATIONS

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
    found = [
        f"**{name}**: {meaning}"
        for pattern, name, meaning in _EXPLAINED
        if re.search(pattern, text)
    ]
    return "\n\n".join(found) or None
