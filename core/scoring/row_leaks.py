"""What the rows of a dataset give away by themselves: two names of one gene, ids, and the order in which they stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import log

import numpy as np
import pandas as pd

from core.scoring.copies import LEAST_ALIKE, SURE, CopyEvidence
from core.stats.arrays import Bools, Codes, Floats, sum_by_group
from core.stats.cell_auroc import auroc_within_cells
from core.stats.scores_and_labels import Task, outcome_of

LIMIT, LIMIT_OF_ALL = 0.75, 0.85  # AUROC of the rows' order inside an axis, and over all rows, whose perturbations stand together
LEAST = 20  # rows of each class
MOST_ALIKE = 30  # names with the same two rows of which any two are compared; of more, those that follow each other
SHOWN = 3
NEARLY = 2.0  # the log odds that a label gives which differs
_ROLES = {"gene": "target genes", "pert": "perturbations"}


@dataclass(frozen=True, slots=True)
class RowFinding:
    """What rows give away. where: the axis or the split; what: in words."""

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
        for what, values in _features(rows).items():
            found += [RowFinding(str(split), text) for text in _tell_labels(what, values, rows, codes)]
    return tuple(found)


def _features(rows: pd.DataFrame) -> dict[str, Floats]:
    """Numbers that a row has by its place and its id alone, by name."""
    features = {"the order of rows in the file": np.arange(len(rows), dtype=np.float64)}
    left = [
        key.replace(pert, "", 1).replace(gene, "", 1)
        for key, pert, gene in zip(rows["pair_id"], rows["pert"], rows["gene"], strict=True)
    ]
    if len(set(left)) > 1:
        digits = pd.Series(left).str.extract(r"(\d+)", expand=False)
        features["the number in ids"] = pd.to_numeric(digits, errors="coerce").fillna(-1.0).to_numpy(np.float64)
        features["the text in ids"] = np.unique(left, return_inverse=True)[1].astype(np.float64)
    return features


def _tell_labels(what: str, values: Floats, rows: pd.DataFrame, codes: dict[str, Codes]) -> Iterator[str]:
    outcome = outcome_of(rows["label"])
    for task, some, positive in (("DE", outcome.labelled, outcome.effect), ("DIR", outcome.directed, outcome.up)):
        if min((some & positive).sum(), (some & ~positive).sum()) < LEAST:
            continue
        for where, cells, limit in (
            ("over all rows", None, LIMIT_OF_ALL),
            ("within perturbations", codes["pert"], LIMIT),
            ("within target genes", codes["gene"], LIMIT),
        ):
            value = auroc_within_cells(Task(some, positive, values), cells)
            if abs(value - 0.5) >= limit - 0.5 and _pairs(some, positive, cells) >= LEAST**2:
                yield f"{what} gives labels away: {task} {value:.3f} {where}"
                break


def _pairs(some: Bools, positive: Bools, cells: Codes | None) -> float:
    inside = np.zeros(int(some.sum()), dtype=np.intp) if cells is None else cells[some]
    hits = sum_by_group(inside, int(inside.max()) + 1, positive[some])
    return float((hits * (sum_by_group(inside, int(inside.max()) + 1) - hits)).sum())


def _duplicates(labelled: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """By axis, the names that share most of their rows and every label there.

    Only names that share two rows in a row are compared: those of a copy that is whole or nearly so. Where half as many are
    nearly alike, with one other label, biology makes them so, such as that of a complex.
    """
    evidence: CopyEvidence[str] = CopyEvidence.of(labelled["label"], labelled["pert"].nunique(), labelled["gene"].nunique())
    for axis, other in (("gene", "pert"), ("pert", "gene")):
        rows = {name: dict(zip(some[other], some["label"], strict=True)) for name, some in labelled.groupby(axis, sort=True)}
        by_first: dict[tuple[str, ...], list[str]] = {}
        for name, known in rows.items():
            if len(known) >= LEAST_ALIKE:
                for key in _signatures(known):
                    by_first.setdefault(key, []).append(str(name))
        alike = (sorted(set(names)) for names in by_first.values())
        asked = {pair for names in alike for pair in (combinations(names, 2) if len(names) <= MOST_ALIKE else pairwise(names))}
        sure = SURE + log(max(1, len(rows) ** 2 / 2))  # among as many pairs of names
        likened = {(a, b): evidence.compare(rows[a], rows[b]) for a, b in asked}
        pairs = {pair for pair, (odds, differ) in likened.items() if odds >= sure and not differ}
        nearly = sum(odds >= sure - NEARLY and differ == 1 for odds, differ in likened.values())
        if len(pairs) > 2 * nearly:
            named = [f"{a} = {b}" for a, b in sorted(pairs)]
            more = f" and {len(named) - SHOWN:,} more" if len(named) > SHOWN else ""
            yield _ROLES[axis], ", ".join(named[:SHOWN]) + more


def _signatures(known: dict[str, str]) -> list[tuple[str, ...]]:
    """Three pairs of rows that a copy has too unless it lacks one of each: the first two, the last two, the middle two."""
    names = sorted(known)
    middle = len(names) // 2
    return [tuple(names[:2]), tuple(names[-2:]), tuple(names[middle - 1 : middle + 1])]
