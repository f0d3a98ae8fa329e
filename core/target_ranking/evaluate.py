"""One table for all models on the same test cells, split, mask and unit, with the random level and the structural ceiling."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.errors import InputError
from core.fields.record import setting
from core.target_ranking.candidates import pool_matrix, random_level
from core.target_ranking.ceilings import Ceilings, ceilings_of
from core.target_ranking.controls import MatchedControls, match_controls
from core.target_ranking.expression import Expression, ExpressionSet, Mask, mask_expression, targets_in
from core.target_ranking.metrics import (
    KS,
    Floats,
    Places,
    RankingScores,
    Unit,
    clustered_interval,
    mid_ranks,
    place_targets,
    score_rankings,
)
from core.target_ranking.models.base import FittedModel
from core.target_ranking.splits import PARTS, Split, require_conditions

Pools = Mapping[str, frozenset[str]]
TOP: Final = 20  # number of genes of a ranking to save for people
CELLS_AT_ONCE: Final = 512
NO_FILE: Final = "a page reads no file of this machine except the cells"  # why a form leaves out the setting of a file
STRATA: Final = ("all", "seen", "part seen", "unseen")  # conditions by the number of their targets perturbed in training
COLUMNS: Final = (
    *("model", "stratum", "metric", "k", "estimate", "low", "high", "random", "margin", "margin_low", "margin_high"),
    *("ceiling", "n", "conditions"),
)
GENE_COLUMNS: Final = ("model", "condition", "rank", "gene", "is_target")


@dataclass(frozen=True, slots=True)
class EvaluationSettings:
    """The settings of scoring. unit: "condition" (the expression of its cells is averaged first) or "cell". seed: of matched
    controls.
    """

    mask: Mask = setting(
        "none",
        "Genes that models may not see.",
        title="Mask",
        words={"none": "no mask", "strongest": "10 strongest genes masked", "targets": "all targets masked"},
    )
    unit: Unit = setting(
        "condition",
        "The unit of a ranking: averaged cells, or each cell.",
        title="Unit",
        words={"condition": "averaged conditions", "cell": "single cells"},
    )
    seed: int = setting(0, "Random seed of the control cells matched to a cell.", title="Seed", key="evaluation_seed", least=0)
    ks: tuple[int, ...] = KS


def file_of_pools() -> Any:
    """Return the setting of a file of pools for the rankings."""
    return setting(
        None, "Rank within pools: JSON of condition to genes, or one gene per line.", metavar="FILE", not_on_form=NO_FILE
    )


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    """The settings of scoring, and a file of pools for the rankings; None to rank all genes."""

    settings: EvaluationSettings = field(default_factory=EvaluationSettings)
    candidates: Path | None = file_of_pools()


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """The scores and rankings of models. table: COLUMNS, k NaN for mrr, "condition" and "cell" never mixed. genes:
    GENE_COLUMNS, the first TOP genes and all targets of each model and test condition, from rankings of averaged cells.
    ceilings: of the split. ranks_untrained: the models that also rank genes without a training perturbation.
    """

    table: pd.DataFrame
    genes: pd.DataFrame
    ceilings: Ceilings
    ranks_untrained: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The rows to rank: cells or averaged conditions, with their controls."""

    x: Expression
    controls: MatchedControls
    conditions: tuple[str, ...]
    targets: tuple[tuple[int, ...], ...]


def evaluate(
    models: Mapping[str, FittedModel],
    cells: ExpressionSet,
    split: Split,
    settings: EvaluationSettings,
    pools: Pools | None = None,
    report: Callable[[float, str], object] = lambda _share, _what: None,
) -> Evaluation:
    """Return the evaluation of fitted models on the test conditions of a split.

    cells: the cells of the test conditions and the control cells. pools: the candidates of each test condition; None to rank
    all genes. Raise InputError for models fitted on other genes, and for a split whose test conditions have no cells.
    """
    if not models:
        raise InputError("evaluation: got no model, expected at least one")
    _check(models, cells, split)
    test = cells.of_conditions(split.test)
    profiles = _average(_cells_of(test, settings.seed))
    rows = profiles if settings.unit == "condition" else _cells_of(test, settings.seed)
    hidden = {at for part in PARTS for condition in getattr(split, part) for at in _positions(cells, condition)}
    random = random_level(rows.conditions, pools, len(cells.genes), settings.ks)
    ceilings = ceilings_of(split, pools, settings.ks, len(cells.genes))
    tables, genes = [], []
    for at, (name, model) in enumerate(models.items()):
        report(at / len(models), f"{name}: ranking genes for {len(rows.conditions):,} {settings.unit}s")
        ranker = _Ranker(model, settings.mask, frozenset(hidden), pools)
        found = score_rankings(ranker.places(rows), rows.conditions, settings.ks)
        tables.append(_table_of(name, found, random, ceilings, split))
        genes.append(_genes_of(name, ranker, profiles))
    untrained = [name for name, model in models.items() if _ranks_untrained(model, split)]
    columns = pd.concat(tables, ignore_index=True)[list(COLUMNS)]
    return Evaluation(columns, pd.concat(genes, ignore_index=True)[list(GENE_COLUMNS)], ceilings, tuple(untrained))


def _check(models: Mapping[str, FittedModel], cells: ExpressionSet, split: Split) -> None:
    for name, model in models.items():
        if model.genes != cells.genes:
            raise InputError(
                f"{name}: was fitted on {len(model.genes):,} genes, expected the same {len(cells.genes):,} as the cells"
            )
    require_conditions(split, cells.perturbed, "evaluation", parts=("test",))


def _positions(cells: ExpressionSet, condition: str) -> list[int]:
    """Return the columns of a condition's measured targets."""
    known = {gene: at for at, gene in enumerate(cells.genes)}
    return [known[gene] for gene in targets_in(condition) if gene in known]


def _cells_of(test: ExpressionSet, seed: int) -> _Rows:
    perturbed = test.take(~test.is_control)
    controls = match_controls(perturbed, test, np.random.default_rng(seed))
    targets = {condition: test.targets_of(condition) for condition in perturbed.perturbed}
    conditions = tuple(map(str, perturbed.conditions))
    return _Rows(perturbed.x, controls, conditions, tuple(targets[condition] for condition in conditions))


def _average(cells: _Rows) -> _Rows:
    """Return one row for each condition: the mean expression of its cells and of all their controls."""
    names, of_cell = np.unique(np.array(cells.conditions), return_inverse=True)
    x, controls = (np.zeros((len(names), cells.x.shape[1]), dtype=np.float32) for _ in range(2))
    for at in range(len(names)):
        own = np.flatnonzero(of_cell == at)
        x[at] = cells.x[own].mean(axis=0)
        controls[at] = cells.controls.take(own).means().mean(axis=0)
    targets = dict(zip(cells.conditions, cells.targets, strict=True))
    rows = np.arange(len(names), dtype=np.intp)[:, None]
    return _Rows(x, MatchedControls(controls, rows), tuple(map(str, names)), tuple(targets[str(name)] for name in names))


@dataclass(frozen=True, slots=True, eq=False)
class _Ranker:
    """A model with the limits on what it sees and ranks. hidden: the columns hidden by the mask "targets"."""

    model: FittedModel
    mask: Mask
    hidden: frozenset[int]
    pools: Pools | None

    def blocks(self, rows: _Rows) -> Iterator[tuple[slice, Floats, NDArray[np.bool_] | None]]:
        """Yield the scores of the rows in blocks, and flags of the ranked genes."""
        for start in range(0, len(rows.conditions), CELLS_AT_ONCE):
            block = slice(start, start + CELLS_AT_ONCE)
            controls = rows.controls.take(np.arange(len(rows.conditions))[block])
            x = mask_expression(rows.x[block], controls.means(), self.mask, self.hidden)
            conditions = rows.conditions[block]
            among = None if self.pools is None else pool_matrix(self.pools, conditions, self.model.genes)
            yield block, self.model.score(x, controls), among

    def places(self, rows: _Rows) -> list[list[Places]]:
        """Return the ranks of each row's targets."""
        return [each for block, scores, among in self.blocks(rows) for each in place_targets(scores, rows.targets[block], among)]


def _table_of(name: str, found: RankingScores, random: RankingScores, ceilings: Ceilings, split: Split) -> pd.DataFrame:
    conditions = np.array(found.clusters)
    stratum_of = {condition: _stratum(condition, split) for condition in split.test}
    strata = np.array([stratum_of[condition] for condition in found.clusters])
    lines: list[dict[str, Any]] = []
    for stratum in STRATA:
        chosen = np.ones(len(conditions), dtype=np.bool_) if stratum == "all" else strata == stratum
        if not chosen.any():
            continue
        own = conditions[chosen].tolist()
        n_rows = Counter(own)
        for (metric, k), values in found.rows.items():
            expected = random.rows[metric, k][chosen]
            score = clustered_interval(values[chosen], own)
            margin = clustered_interval(values[chosen] - expected, own, (-1.0, 1.0))
            lines.append(
                {
                    **{"model": name, "stratum": stratum, "metric": metric, "k": float("nan") if k is None else float(k)},
                    **{"estimate": score.estimate, "low": score.low, "high": score.high, "random": float(expected.mean())},
                    **{"margin": margin.estimate, "margin_low": margin.low, "margin_high": margin.high},
                    **{"ceiling": ceilings.value(metric, k, n_rows), "n": len(own), "conditions": len(n_rows)},
                }
            )
    return pd.DataFrame(lines)


def _stratum(condition: str, split: Split) -> str:
    targets = targets_in(condition)
    n_seen = sum(gene in split.trained_genes for gene in targets)
    return "unseen" if n_seen == 0 else "seen" if n_seen == len(targets) else "part seen"


def _genes_of(name: str, ranker: _Ranker, profiles: _Rows) -> pd.DataFrame:
    tables = []
    for block, scores, among in ranker.blocks(profiles):
        for at, condition in enumerate(profiles.conditions[block]):
            targets = profiles.targets[block][at]
            ranked = None if among is None else among[at]
            tables.append(_first_genes(scores[at], targets, ranked, ranker.model.genes).assign(model=name, condition=condition))
    return pd.concat(tables, ignore_index=True)


def _first_genes(scores: Floats, targets: Sequence[int], ranked: NDArray[np.bool_] | None, genes: Sequence[str]) -> pd.DataFrame:
    """Return the first TOP genes that a model can score, and the targets: rank (inf outside the pool), gene, is_target."""
    can_rank = np.isfinite(scores) if ranked is None else np.isfinite(scores) & ranked
    order = np.argsort(-scores, kind="stable")
    shown = list(dict.fromkeys([*order[can_rank[order]][:TOP], *targets]))
    [places] = place_targets(scores[None], [tuple(map(int, shown))], None if ranked is None else ranked[None])
    found = pd.DataFrame(
        {"rank": mid_ranks(places), "gene": [genes[at] for at in shown], "is_target": [at in targets for at in shown]}
    )
    return found.sort_values("rank", kind="stable")


def _ranks_untrained(model: FittedModel, split: Split) -> bool:
    return any(can and gene not in split.trained_genes for gene, can in zip(model.genes, model.rankable, strict=True))


def by_model(table: pd.DataFrame, metric: str, k: int | None, stratum: str = "all") -> pd.DataFrame:
    """Return one row for each model, for a metric at one k."""
    at_k = table["k"].isna() if k is None else table["k"] == k
    return table[(table["metric"] == metric) & at_k & (table["stratum"] == stratum)].reset_index(drop=True)
