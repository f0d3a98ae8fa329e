"""Pools of candidate genes that limit a ranking."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from core.base.errors import InputError
from core.base.file_io import read_file
from core.base.records import parse
from core.base.texts import list_some
from core.features.targets.expression import Flags, parse_condition
from core.features.targets.metrics import Pools

MAX_BYTES: Final = 100_000_000


def read_candidates(path: Path, conditions: Collection[str]) -> dict[str, frozenset[str]]:
    """Return the pool of genes of each condition.

    The file is a JSON object of condition → list of genes, or one pool for all conditions: a JSON
    list, or a text with one gene per line. Raise InputError for other content, and for a condition
    without candidates.
    """
    content = read_file(path, MAX_BYTES).strip()
    pools: dict[str, frozenset[str]]
    if content.startswith(b"{"):
        by_name = parse(dict[str, frozenset[str]], content, path.name)
        pools = {parse_condition(name): genes for name, genes in by_name.items()}
    elif content.startswith(b"["):
        pools = dict.fromkeys(conditions, parse(frozenset[str], content, path.name))
    else:
        lines = content.decode(errors="replace").splitlines()
        pools = dict.fromkeys(conditions, frozenset(line.strip() for line in lines if line.strip()))
    missing = sorted(condition for condition in conditions if not pools.get(condition))
    if missing:
        raise InputError(
            f"{path.name}: no candidates for {len(missing):,} test conditions, such as"
            f" {missing[0]}, expected some"
        )
    return {condition: pools[condition] for condition in conditions}


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
