"""Leaks in the rows of a dataset: two names of one gene, ids, and the order of rows.

Two names are one gene if their rows agree more than by chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import log

import numpy as np
import pandas as pd

from core.base.texts import list_some
from core.stats.arrays import Bools, Codes, Floats, codes_or_one, sum_by_group
from core.stats.cell_auroc import auroc_within_cells
from core.stats.scores_and_labels import Task, outcome_of

LEAST_ALIKE, ALIKE = 2, 0.8  # number and share of common rows
SURE = log(1000)  # of the odds against chance
# AUROC of the rows' order inside an axis, and over all rows, whose perturbations stand together
LIMIT, LIMIT_OF_ALL = 0.75, 0.85
LEAST = 20  # rows of each class
# up to this many names with the same two rows, all pairs are compared; above it, only consecutive
# names
MOST_ALIKE = 30
SHOWN = 3
NEARLY = 2.0  # the log odds that a label gives which differs
_ROLES = {"gene": "target genes", "pert": "perturbations"}


@dataclass(frozen=True, slots=True)
class RowFinding:
    """A leak in rows. where: the axis or the split; what: a description."""

    where: str
    what: str


def check_rows(pairs: pd.DataFrame) -> tuple[RowFinding, ...]:
    """Find what rows give away; pairs: `store.pairs.frame`."""
    labelled = pairs[pairs["label"].notna()]
    found = [
        RowFinding(role, f"renamed duplicates: two names have the same rows and labels: {names}")
        for role, names in _duplicates(labelled)
    ]
    for split, rows in labelled.groupby("split", sort=False):
        codes = {axis: pd.factorize(rows[axis])[0].astype(np.intp) for axis in _ROLES}
        features = {"the order of rows in the file": np.arange(len(rows), dtype=np.float64)}
        keys = zip(rows["pair_id"], rows["pert"], rows["gene"], strict=True)
        without_symbols = [
            key.replace(pert, "", 1).replace(gene, "", 1) for key, pert, gene in keys
        ]
        if len(set(without_symbols)) > 1:
            digits = pd.Series(without_symbols).str.extract(r"(\d+)", expand=False)
            features["the number in ids"] = (
                pd.to_numeric(digits, errors="coerce").fillna(-1.0).to_numpy(np.float64)
            )
            features["the text in ids"] = np.unique(without_symbols, return_inverse=True)[1].astype(
                np.float64
            )
        for what, values in features.items():
            found += [
                RowFinding(str(split), text) for text in _tell_labels(what, values, rows, codes)
            ]
    return tuple(found)


def _tell_labels(
    what: str, values: Floats, rows: pd.DataFrame, codes: dict[str, Codes]
) -> Iterator[str]:
    outcome = outcome_of(rows["label"])
    for task, some, positive in (
        ("DE", outcome.labelled, outcome.effect),
        ("DIR", outcome.directed, outcome.up),
    ):
        if min((some & positive).sum(), (some & ~positive).sum()) < LEAST:
            continue
        for where, cells, limit in (
            ("over all rows", None, LIMIT_OF_ALL),
            ("within perturbations", codes["pert"], LIMIT),
            ("within target genes", codes["gene"], LIMIT),
        ):
            value = auroc_within_cells(Task(some, positive, values), cells)
            if abs(value - 0.5) >= limit - 0.5 and _pairs(some, positive, cells) >= LEAST**2:
                yield f"{what} reveals labels: {task} {value:.3f} {where}"
                break


def _pairs(some: Bools, positive: Bools, cells: Codes | None) -> float:
    inside = codes_or_one(cells, len(some))[some]
    hits = sum_by_group(inside, int(inside.max()) + 1, positive[some])
    return float((hits * (sum_by_group(inside, int(inside.max()) + 1) - hits)).sum())


def _duplicates(labelled: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """By axis, the names that share most of their rows and every label there.

    Only names that share two rows in a row are compared: those of a copy that is whole or nearly
    so. Where half as many are nearly alike, with one other label, biology makes them so, such as
    that of a complex.
    """
    # By label, the log odds that a common row with it gives for a copy: −log of the label's share
    # and of the share of pairs that were measured
    n, measured = (
        len(labelled),
        len(labelled) / max(1, labelled["pert"].nunique() * labelled["gene"].nunique()),
    )
    weights = {
        str(label): -log(count / n) + max(0.0, -log(measured))
        for label, count in labelled["label"].value_counts().items()
    }
    for axis, other in (("gene", "pert"), ("pert", "gene")):
        rows = {
            name: dict(zip(some[other], some["label"], strict=True))
            for name, some in labelled.groupby(axis, sort=True)
        }
        by_first: dict[tuple[str, ...], list[str]] = {}
        for name, known in rows.items():
            if len(known) >= LEAST_ALIKE:
                # A copy shares one of three pairs of rows, unless it lacks a row of each.
                names = sorted(known)
                middle = len(names) // 2
                for key in [
                    tuple(names[:2]),
                    tuple(names[-2:]),
                    tuple(names[middle - 1 : middle + 1]),
                ]:
                    by_first.setdefault(key, []).append(str(name))
        alike = (sorted(set(names)) for names in by_first.values())
        asked = {
            pair
            for names in alike
            for pair in (combinations(names, 2) if len(names) <= MOST_ALIKE else pairwise(names))
        }
        sure = SURE + log(max(1, len(rows) ** 2 / 2))  # among as many pairs of names
        likened = {(a, b): _compare(rows[a], rows[b], weights) for a, b in asked}
        pairs = {pair for pair, (odds, differ) in likened.items() if odds >= sure and not differ}
        nearly = sum(odds >= sure - NEARLY and differ == 1 for odds, differ in likened.values())
        if len(pairs) > 2 * nearly:
            named = [f"{a} = {b}" for a, b in sorted(pairs)]
            yield _ROLES[axis], list_some(named, SHOWN)


def _compare(
    one: Mapping[str, str], other: Mapping[str, str], weights: Mapping[str, float]
) -> tuple[float, int]:
    """Return the log odds that two names are copies, from the rows in common with equal labels, and
    how many labels differ.

    The log odds are 0 if too few rows are in common.
    """
    both = one.keys() & other.keys()
    if len(both) < max(LEAST_ALIKE, ALIKE * len(one.keys() | other.keys())):
        return 0.0, 0
    alike = [one[key] for key in both if one[key] == other[key]]
    return sum(weights[label] for label in alike), len(both) - len(alike)
