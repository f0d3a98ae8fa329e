"""Pools of candidate genes that limit a ranking."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from core.errors import InputError
from core.file_io import read_file
from core.target_ranking.expression import Flags, parse_condition
from core.target_ranking.metrics import Pools
from core.texts import list_some, parse_json

MAX_BYTES: Final = 100_000_000


def read_candidates(path: Path, conditions: Collection[str]) -> dict[str, frozenset[str]]:
    """Return the pool of genes of each condition.

    The file is a JSON object of condition → list of genes, or one pool for all conditions: a JSON
    list, or a text with one gene per line. Raise InputError for other content, an empty pool, a
    gene twice in a pool, and a condition without a pool.
    """
    content = read_file(path, MAX_BYTES)
    try:
        text = content.decode()
        is_json = text.lstrip().startswith(("[", "{"))
        values = parse_json(text) if is_json else [line.strip() for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise InputError(f"{path.name}: cannot be read ({error}), expected JSON or one gene per line") from error
    if not values:
        raise InputError(f"{path.name}: contains no genes, expected a pool for each condition or one for all")
    if isinstance(values, list):
        return dict.fromkeys(conditions, _pool(values, f"{path.name}: the list"))
    pools = {parse_condition(name): _pool(genes, f"{path.name}: {name}") for name, genes in values.items()}
    missing = sorted(set(conditions) - set(pools))
    if missing:
        raise InputError(f"{path.name}: no candidates for {len(missing):,} test conditions, such as {missing[0]}, expected some")
    return {condition: pools[condition] for condition in conditions}


def _pool(genes: object, where: str) -> frozenset[str]:
    if not isinstance(genes, list) or not genes or not all(isinstance(gene, str) and gene for gene in genes):
        raise InputError(f"{where}: got {genes!r:.80}, expected a list of genes")
    if n_repeated := len(genes) - len(set(genes)):
        raise InputError(f"{where}: {n_repeated:,} genes are listed twice, expected each once")
    return frozenset(genes)


def pool_matrix(pools: Pools, conditions: Sequence[str], genes: Sequence[str]) -> Flags:
    """Return flags of the genes in the pool of each row's condition, of shape (n_rows, n_genes).

    Raise InputError for a candidate that is not among the genes.
    """
    rows: dict[str, Flags] = {}
    for condition in dict.fromkeys(conditions):
        unknown = sorted(pools[condition] - set(genes))
        if unknown:
            raise InputError(
                f"candidates: {condition}: {list_some(unknown)} not among the {len(genes):,} genes "
                "measured, expected genes that can be ranked"
            )
        rows[condition] = np.isin(genes, list(pools[condition]))
    return np.stack([rows[condition] for condition in conditions])
