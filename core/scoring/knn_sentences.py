"""The numbers of a kNN in a sentence."""

from __future__ import annotations

from typing import Final

from core.base.texts import number_text
from core.scoring.sentences import UNSEEN
from core.transfer import cuts
from core.transfer.cuts import MeanOfCuts
from core.transfer.permutation_null import KnnNumbers, PermutationNull, PermutationTest, means_of

BIASED: Final = (
    "Leave-one-out is biased if all genes are about equally similar. Base claims on folds."
)


def null_text(test: PermutationTest) -> str:
    """Return a null beside a score, "permuted vectors 0.512 ± 0.038, one-sided p = 0.07"."""
    return (
        f"permuted vectors {number_text(test.mean)} ± {number_text(test.sd)}, one-sided p ="
        f" {number_text(test.p, '.2g')}"
    )


def knn_sentence(numbers: KnnNumbers) -> str:
    """Return one sentence on the scores of a kNN, with its null if known.

    The score without gene information checks the protocol; it is mentioned under leave-one-out,
    which is biased.
    """
    if numbers.cuts is not None:
        return f"neighbours alone: {space_sentence(numbers.cuts, numbers.null)}"
    score, null, protocol = numbers.score, numbers.evaluation.null, numbers.protocol
    loo = protocol.kind == "loo"
    where = (
        "as leave-one-out"
        if loo
        else f"{UNSEEN} ({protocol.k}×{protocol.k} cells, cut {protocol.seed})"
    )
    scores = ", ".join(
        f"{name} {number_text(part.value)}"
        + (f" (with no gene information: {number_text(empty.value)})" if loo else "")
        for name, part, empty in (("DE", score.de, null.de), ("DIR", score.dir, null.dir))
    )
    return f"neighbours alone: {scores} over {score.n_labelled:,} labelled rows, scored {where}"


def space_sentence(mean: MeanOfCuts, null: PermutationNull | None) -> str:
    """Return one sentence on the score of a space, with its null if known."""
    score = mean.all_rows.score
    tests = () if null is None else map(null_text, null.test(means_of(mean.all_rows)))
    known = [
        f"{name} {number_text(part.value)}" for name, part in score.parts.items() if name != "mean"
    ]
    scores = ", ".join(
        f"{part} ({test})" for part, test in zip(known, tests, strict=False)
    ) or ", ".join(known)
    return (
        f"{scores} over {score.n_labelled:,} labelled rows, scored {UNSEEN}: {cuts.NAME}, inside"
        f" {mean.k}×{mean.k} cells"
    )
