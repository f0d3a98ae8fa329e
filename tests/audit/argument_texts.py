"""Texts of three kinds that share few words, as rows with several texts each."""

from __future__ import annotations

import numpy as np

from core.audit.argument_kinds import Arguments

KINDS = {
    "stress": [
        "the",
        "cell",
        "is",
        "under",
        "stress",
        "and",
        "the",
        "unfolded",
        "protein",
        "response",
        "will",
        "be",
        "induced",
        "by",
        "misfolded",
        "proteins",
    ],
    "silence": [
        "no",
        "known",
        "link",
        "exists",
        "and",
        "unrelated",
        "pathways",
        "rarely",
        "show",
        "any",
        "significant",
        "effect",
        "on",
        "each",
        "other",
    ],
    "repressor": [
        "it",
        "encodes",
        "a",
        "transcriptional",
        "repressor",
        "so",
        "loss",
        "releases",
        "the",
        "promoter",
        "and",
        "raises",
        "transcription",
    ],
}


def write_texts(n_rows: int, seed: int = 0) -> tuple[Arguments, list[str]]:
    """Two texts of a row of different kinds, each about ten words of its kind with the names of its pair; and their kinds."""
    rng = np.random.default_rng(seed)
    content, pert, gene, rows, kinds = [], [], [], [], []
    for row in range(n_rows):
        for kind in rng.choice(list(KINDS), 2, replace=False):
            words = " ".join(rng.choice(KINDS[kind], 10))
            content.append(f"Gene{row} and TNF-{row}: {words} of gene{row} (A).")
            pert.append(f"Gene{row}")
            gene.append(f"Other{row % 5}")
            rows.append(row)
            kinds.append(str(kind))
    return Arguments(content, pert, gene, np.array(rows)), kinds
