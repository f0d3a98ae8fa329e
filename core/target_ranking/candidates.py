"""Pools of candidate genes that limit a ranking, and the score of a random ranking within a pool."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError
from core.file_io import read_file
from core.target_ranking.expression import parse_condition, targets_in
from core.target_ranking.metrics import KS, Floats, Metric, RankingScores, Tie, expected_metrics
from core.texts import parse_json

MOST_BYTES: Final = 100_000_000
_SHOWN = 5


def read_candidates(path: Path, conditions: Collection[str]) -> dict[str, frozenset[str]]:
    """Return the pool of genes of each condition.

    The file is a JSON object of condition → list of genes, or one pool for all conditions: a JSON list, or a text with one gene
    per line. Raise InputError for other content, an empty pool, a gene twice in a pool, and a condition without a pool.
    """
    content = read_file(path, MOST_BYTES)
    values = _parse(content, path)
    if isinstance(values, list):
        pool = _pool(values, path.name, "the list")
        return dict.fromkeys(conditions, pool)
    pools = {parse_condition(name): _pool(genes, path.name, name) for name, genes in values.items()}
    missing = sorted(set(conditions) - set(pools))
    if missing:
        raise InputError(f"{path.name}: no candidates for {len(missing):,} test conditions, such as {missing[0]}, expected some")
    return {condition: pools[condition] for condition in conditions}


def _parse(content: bytes, path: Path) -> list[Any] | dict[str, Any]:
    try:
        text = content.decode()
        is_json = text.lstrip().startswith(("[", "{"))
        values = parse_json(text) if is_json else [line.strip() for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise InputError(f"{path.name}: cannot be read ({error}), expected JSON or one gene per line") from error
    if not isinstance(values, list | dict) or not values:
        raise InputError(f"{path.name}: contains no genes, expected a pool for each condition or one for all")
    return values


def _pool(genes: object, where: str, name: str) -> frozenset[str]:
    if not isinstance(genes, list) or not genes or not all(isinstance(gene, str) and gene for gene in genes):
        raise InputError(f"{where}: {name}: got {genes!r:.80}, expected a list of genes")
    if len(set(genes)) < len(genes):
        raise InputError(f"{where}: {name}: {len(genes) - len(set(genes)):,} genes are listed twice, expected each once")
    return frozenset(genes)


def pool_matrix(
    pools: Mapping[str, Collection[str]], conditions: Sequence[str], genes: Sequence[str], where: str = "candidates"
) -> NDArray[np.bool_]:
    """Return flags of the genes in the pool of each row's condition, of shape (n_rows, n_genes).

    Raise InputError for a candidate that is not among the genes.
    """
    positions = {gene: at for at, gene in enumerate(genes)}
    rows: dict[str, NDArray[np.bool_]] = {}
    for condition in dict.fromkeys(conditions):
        unknown = sorted(set(pools[condition]) - set(positions))
        if unknown:
            raise InputError(
                f"{where}: {condition}: {', '.join(unknown[:_SHOWN])} not among the {len(genes):,} genes measured, expected "
                "genes that can be ranked"
            )
        rows[condition] = np.zeros(len(genes), dtype=np.bool_)
        rows[condition][[positions[gene] for gene in pools[condition]]] = True
    return np.stack([rows[condition] for condition in conditions])


def random_level(
    conditions: Sequence[str], pools: Mapping[str, Collection[str]] | None, n_genes: int, ks: Sequence[int] = KS
) -> RankingScores:
    """Return the expected metrics of a random order of the ranked genes for each row, where all genes tie.

    conditions: of each row. pools: the candidates of each condition, None if all n_genes are ranked.
    """
    known: dict[str, dict[Metric, float]] = {}
    for condition in dict.fromkeys(conditions):
        targets = targets_in(condition)
        n_ranked = n_genes if pools is None else len(pools[condition])
        n_inside = len(targets) if pools is None else sum(gene in pools[condition] for gene in targets)
        ties = [Tie(1, n_ranked, n_inside)] if n_inside else []
        known[condition] = expected_metrics(ties, len(targets), ks)
    metrics = next(iter(known.values()))
    rows: dict[Metric, Floats] = {name: np.array([known[condition][name] for condition in conditions]) for name in metrics}
    return RankingScores(rows, tuple(conditions))
