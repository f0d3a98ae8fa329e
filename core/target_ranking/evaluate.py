"""One table for all models on the same test cells, split, mask and unit, with the random level and
the structural ceiling."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from core.fields.record import setting
from core.hashes import KEY_DIGITS, sha256_of
from core.target_ranking.candidates import pool_matrix
from core.target_ranking.ceilings import Ceilings, ceilings_of
from core.target_ranking.expression import (
    ExpressionSet,
    Flags,
    Mask,
    PerturbedCells,
    mask_expression,
    take_perturbed,
    targets_in,
)
from core.target_ranking.metrics import (
    KS,
    Floats,
    Metric,
    Pools,
    Unit,
    clustered_interval,
    place_targets,
    random_level,
    score_rankings,
)
from core.target_ranking.models.base import FittedModel, Report
from core.target_ranking.splits import Split

ALL_GENES: Final = "all genes"  # the pool of an evaluation without candidates
TOP: Final = 20  # number of genes of a ranking to save for people
CELLS_AT_ONCE: Final = 512
NO_FILE: Final = "a page reads no file of this machine except the cells"  # why a form leaves it out
# Test conditions by their targets that were perturbed in training
STRATA: Final = {
    "all": "all test conditions",
    "seen": "all targets perturbed in training",
    "part seen": "some targets perturbed in training",
    "unseen": "no target perturbed in training",
}


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    """How rankings are scored. unit: "condition" (the expression of its cells is averaged first) or
    "cell". candidates: pools for the rankings; None to rank all genes.
    """

    mask: Mask = setting(
        "none",
        "Genes that models may not see: of each profile those that differ most from control cells, or every target of the split.",
        title="Mask",
        words={
            "none": "no mask",
            "strongest": "10 strongest genes masked",
            "targets": "all targets masked",
        },
    )
    unit: Unit = setting(
        "condition",
        "The unit of a ranking: averaged cells, or each cell.",
        title="Unit",
        words={"condition": "averaged conditions", "cell": "single cells"},
    )
    candidates: Path | None = setting(
        None,
        "Rank within pools: JSON of condition to genes, or one gene per line.",
        metavar="FILE",
        not_on_form=NO_FILE,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """The scores and rankings of models.

    settings: mask, unit, ks and pool, which identify it among those of the same models. ceilings:
    as of `Ceilings.steps`. table: model, stratum, metric, k (NaN for mrr), estimate, low, high,
    random, ceiling, n, conditions. genes: model, condition, rank (inf outside the pool), gene,
    is_target: the first TOP genes and all targets of each model and test condition, from rankings
    of averaged cells.
    """

    settings: Mapping[str, Any]
    ceilings: Mapping[str, Mapping[str, str]]
    table: pd.DataFrame
    genes: pd.DataFrame

    @property
    def key(self) -> str:
        """The name of its folder."""
        return sha256_of(json.dumps(dict(self.settings), sort_keys=True))[:KEY_DIGITS]


def evaluate(
    models: Mapping[str, FittedModel],
    cells: ExpressionSet,
    split: Split,
    request: EvaluationRequest,
    seed: int = 0,
    pools: Pools | None = None,
    report: Report = lambda _share, _what: None,
) -> Evaluation:
    """Return the evaluation of models on the test conditions of a split.

    cells: with those on which the models were fitted. seed: of matched controls. pools: the
    candidates of each test condition; None to rank all genes.
    """
    test = cells.of_conditions(split.test)
    single = take_perturbed(test, test, np.random.default_rng(seed), "test")
    averages = single.average(by_batch=False)
    rows = averages if request.unit == "condition" else single
    perturbed = [gene for condition in split.conditions for gene in targets_in(condition)]
    hidden = np.flatnonzero(np.isin(cells.genes, perturbed)).tolist()
    conditions = rows.conditions.tolist()
    random = random_level(conditions, pools, len(cells.genes))
    ceilings = ceilings_of(split, pools, len(cells.genes))
    lines: list[dict[str, Any]] = []
    genes: list[pd.DataFrame] = []

    def rank(model: FittedModel, rows: PerturbedCells) -> Iterator[tuple[PerturbedCells, Floats, Flags]]:
        """Yield the rows in blocks, with their scores and flags of the ranked genes."""
        for start in range(0, len(rows.x), CELLS_AT_ONCE):
            block = rows.take(np.arange(start, min(start + CELLS_AT_ONCE, len(rows.x))))
            x = mask_expression(block.x, block.controls.means(), request.mask, hidden)
            ranked = np.ones(x.shape, dtype=np.bool_)
            if pools is not None:
                ranked = pool_matrix(pools, block.conditions.tolist(), cells.genes)
            yield block, model.score(x, block.controls), ranked

    for position, (name, model) in enumerate(models.items()):
        report(position / len(models), f"{name}: ranking genes for {len(conditions):,} {request.unit}s")
        places = [
            place for block, scores, ranked in rank(model, rows) for place in place_targets(scores, block.target_columns, ranked)
        ]
        lines += _table_lines(name, score_rankings(places), random, ceilings, conditions, split)
        genes += (table for block in rank(model, averages) for table in _first_genes(name, cells.genes, *block))
    pool = ALL_GENES if request.candidates is None else request.candidates.name
    settings = {"mask": request.mask, "unit": request.unit, "ks": list(KS), "pool": pool}
    return Evaluation(settings, ceilings.steps(), pd.DataFrame(lines), pd.concat(genes, ignore_index=True))


def _table_lines(
    model: str,
    scores: Mapping[Metric, Floats],
    random: Mapping[Metric, Floats],
    ceilings: Ceilings,
    conditions: Sequence[str],
    split: Split,
) -> Iterator[dict[str, Any]]:
    """Yield the lines of a model in an evaluation's table."""
    strata = np.array([_stratum(condition, split) for condition in conditions])
    for stratum in STRATA:
        chosen = (strata == stratum) | (stratum == "all")
        clusters = np.array(conditions)[chosen].tolist()
        n_rows = Counter(clusters)
        for (metric, k), values in scores.items() if clusters else ():
            yield {
                "model": model,
                "stratum": stratum,
                "metric": metric,
                "k": float("nan") if k is None else float(k),
                **clustered_interval(values[chosen], clusters).columns,
                "random": float(random[metric, k][chosen].mean()),
                "ceiling": ceilings.value(metric, k, n_rows),
                "n": len(clusters),
                "conditions": len(n_rows),
            }


def _stratum(condition: str, split: Split) -> str:
    seen = {gene in split.trained_genes for gene in targets_in(condition)}
    return "part seen" if len(seen) == 2 else "seen" if True in seen else "unseen"


def _first_genes(
    model: str, genes: Sequence[str], block: PerturbedCells, scores: Floats, ranked: Flags
) -> Iterator[pd.DataFrame]:
    """Yield the first TOP genes that a model can score, and the targets, of each condition."""
    for row, targets in enumerate(block.target_columns):
        order = np.argsort(-scores[row], kind="stable")
        top = order[(np.isfinite(scores[row]) & ranked[row])[order]][:TOP]
        columns = tuple(map(int, dict.fromkeys([*top, *targets])))
        [places] = place_targets(scores[row][None], [columns], ranked[row][None])
        table = pd.DataFrame(
            {
                "model": model,
                "condition": str(block.conditions[row]),
                "rank": [np.inf if place is None else place[0] + (place[1] - 1) / 2 for place in places],
                "gene": [genes[column] for column in columns],
                "is_target": [column in targets for column in columns],
            }
        )
        yield table.sort_values("rank", kind="stable")
