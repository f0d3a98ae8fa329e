"""How two runs differ without labels: rank correlation, the rows that both put on top, and the rows that move most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from core.scoring.compare_runs import PairedRuns
from core.stats.arrays import Floats
from core.stats.ranks import midranks
from core.stats.row_changes import Agreement, agreement
from core.texts import number_text

TOP_SHARE: Final = 0.1
MOVERS: Final = 5


@dataclass(frozen=True, slots=True, eq=False)
class QuestionDifference:
    """How two runs rank the same rows by one score.

    name: DE or DIR. n: rows for which both have the score. top: a tenth of them; top_a, top_b, shared_top: rows that are as high
    as that in each, with ties as many as they are, and in both. movers: of the rows whose rank moves most, pair_id, rank_a and
    rank_b (1 is the highest), the largest move first.
    """

    name: str
    n: int
    top: int
    top_a: int
    top_b: int
    shared_top: int
    movers: pd.DataFrame


@dataclass(frozen=True, slots=True, eq=False)
class RunDifferences:
    """agreement: Spearman's correlations. questions: DE and DIR, those for which both runs have a score."""

    agreement: Agreement
    questions: tuple[QuestionDifference, ...]


def run_differences(pair: PairedRuns) -> RunDifferences:
    """Return how the runs of a pair differ on the rows that both have; nothing in it needs labels."""
    a, b, ids = pair.a.scores, pair.b.scores, pair.a.frame["pair_id"].to_numpy()
    sides = (("DE", a.p_de, b.p_de), ("DIR", a.p_up, b.p_up))
    found = (_question(name, ids, first, second) for name, first, second in sides)
    return RunDifferences(agreement(a, b), tuple(each for each in found if each is not None))


def _question(name: str, ids: Any, a: Floats, b: Floats) -> QuestionDifference | None:
    both = ~np.isnan(a) & ~np.isnan(b)
    n = int(both.sum())
    if n < 2:
        return None
    rank_a, rank_b = (n + 1 - midranks(values[both]) for values in (a, b))
    top = max(1, round(TOP_SHARE * n))
    top_a, top_b = (values[both] >= np.partition(values[both], -top)[-top] for values in (a, b))
    order = np.argsort(-np.abs(rank_b - rank_a), kind="stable")[:MOVERS]
    order = order[rank_a[order] != rank_b[order]]
    movers = pd.DataFrame({"pair_id": ids[both][order], "rank_a": rank_a[order], "rank_b": rank_b[order]})
    return QuestionDifference(name, n, top, int(top_a.sum()), int(top_b.sum()), int((top_a & top_b).sum()), movers)


def difference_sentences(found: RunDifferences, a: str, b: str) -> list[str]:
    """Return how run `b` differs from run `a` in words, two sentences for each question."""
    sentences = []
    rho = {"DE": found.agreement.de, "DIR": found.agreement.up}
    for each in found.questions:
        sentences.append(
            f"{each.name}: rank correlation {number_text(rho[each.name], '.3f')} over {each.n:,} rows; of {_top_text(each)}, "
            f"{each.shared_top:,} are the same."
        )
        if len(each.movers):
            moves = ", ".join(f"{row.pair_id} {row.rank_a:,.0f} → {row.rank_b:,.0f}" for row in each.movers.itertuples())
            sentences.append(f"Rows that move most in {each.name}, rank in {a} → rank in {b}: {moves}.")
        else:
            sentences.append(f"No row moves in {each.name}.")
    return sentences


def _top_text(each: QuestionDifference) -> str:
    if each.top_a == each.top_b == each.top:
        return f"the {each.top:,} highest rows of each"
    return f"the {each.top:,} highest rows, with ties {each.top_a:,} and {each.top_b:,}"


def difference_shape(found: RunDifferences) -> dict[str, Any]:
    """Return the differences as `compare --json` has them."""
    rho = {"DE": found.agreement.de, "DIR": found.agreement.up}
    return {
        each.name.lower(): {
            "n": each.n,
            "spearman": rho[each.name],
            "top": each.top,
            "top_a": each.top_a,
            "top_b": each.top_b,
            "shared_top": each.shared_top,
            "movers": each.movers.to_dict("records"),
        }
        for each in found.questions
    }
