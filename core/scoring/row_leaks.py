"""Leaks in the rows of a dataset: two names of one gene, ids, and the order of rows.

Two names are one gene if their rows agree more than by chance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import log
from typing import Generic, TypeVar

import numpy as np
import pandas as pd

from core.stats.arrays import Bools, Codes, Floats, sum_by_group
from core.stats.cell_auroc import auroc_within_cells
from core.stats.scores_and_labels import Task, outcome_of
from core.texts import list_some

K = TypeVar("K")
LEAST_ALIKE, ALIKE = 2, 0.8  # number and share of common rows
SURE = log(1000)  # of the odds against chance


@dataclass(frozen=True, slots=True)
class CopyEvidence(Generic[K]):
    """The evidence from a common row. surprise: −log of each label's share; of_row: −log of the share of measured pairs."""

    surprise: Mapping[object, float]
    of_row: float

    @classmethod
    def of(cls, labels: Iterable[object], n_perts: int, n_genes: int) -> CopyEvidence[K]:
        """Return the evidence on labelled rows with these numbers of perturbations and target genes."""
        counts = Counter(labels)
        n = counts.total()
        if not n:
            return cls({}, 0.0)
        return cls({label: -log(count / n) for label, count in counts.items()}, max(0.0, -log(n / (n_perts * n_genes))))

    def weigh(self, one: Mapping[K, object], other: Mapping[K, object]) -> float:
        """Return the log odds that two names are copies rather than alike by chance, 0 if they are not alike."""
        odds, differ = self.compare(one, other)
        return 0.0 if differ else odds

    def compare(self, one: Mapping[K, object], other: Mapping[K, object]) -> tuple[float, int]:
        """Return the log odds of the rows in common with equal labels, 0 if too few are in common; and how many labels differ."""
        both = one.keys() & other.keys()
        if len(both) < max(LEAST_ALIKE, ALIKE * len(one.keys() | other.keys())):
            return 0.0, 0
        alike = [one[key] for key in both if one[key] == other[key]]
        return sum(self.surprise[label] + self.of_row for label in alike), len(both) - len(alike)


LIMIT, LIMIT_OF_ALL = 0.75, 0.85  # AUROC of the rows' order inside an axis, and over all rows, whose perturbations stand together
LEAST = 20  # rows of each class
MOST_ALIKE = 30  # up to this many names with the same two rows, all pairs are compared; above it, only consecutive names
SHOWN = 3
NEARLY = 2.0  # the log odds that a label gives which differs
ORDER, NUMBER = "the order of rows in the file", "the number in ids"
DIVISORS, CHARACTERS = range(2, 9), (*range(8), *range(-8, 0))
MOST_CODED, SEED = 20_000, 0  # rows of a split whose codes are tried
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
        features = _features(rows)
        for what, values in features.items():
            found += [RowFinding(str(split), text) for text in _tell_labels(what, values, rows, codes)]
        found += [RowFinding(str(split), text) for text in _codes_tell_labels(rows, features)]
    return tuple(found)


def _features(rows: pd.DataFrame) -> dict[str, Floats]:
    """Return numbers that follow from a row's position and id, by name."""
    features = {ORDER: np.arange(len(rows), dtype=np.float64)}
    left = _without_symbols(rows)
    if len(set(left)) > 1:
        digits = pd.Series(left).str.extract(r"(\d+)", expand=False)
        features[NUMBER] = pd.to_numeric(digits, errors="coerce").fillna(-1.0).to_numpy(np.float64)
        features["the text in ids"] = np.unique(left, return_inverse=True)[1].astype(np.float64)
    return features


def _without_symbols(rows: pd.DataFrame) -> list[str]:
    """Return the ids without their symbols."""
    return [
        key.replace(pert, "", 1).replace(gene, "", 1)
        for key, pert, gene in zip(rows["pair_id"], rows["pert"], rows["gene"], strict=True)
    ]


def _row_codes(rows: pd.DataFrame, features: dict[str, Floats]) -> Iterator[tuple[str, Codes]]:
    """Yield codes from a row's position and id: remainders of numbers by small divisors, and characters."""
    for what in (ORDER, NUMBER):
        if what in features:
            yield from ((f"{what} modulo {by}", np.mod(features[what], by).astype(np.intp)) for by in DIVISORS)
    left = np.array(_without_symbols(rows), dtype=object)
    for at in CHARACTERS:
        codes = pd.factorize(pd.Series(left).str.get(at).fillna(""))[0].astype(np.intp)
        if codes.any():
            where = f"{at + 1} from the start" if at >= 0 else f"{-at} from the end"
            yield f"character {where} of what ids add to symbols", codes


def _codes_tell_labels(rows: pd.DataFrame, features: dict[str, Floats]) -> Iterator[str]:
    """Yield the first code that reveals labels, found in a random half of the rows and tested in the other.

    Inside perturbations and inside genes, since a dense screen lists the same genes for each perturbation: there a place is a
    gene.
    """
    rng = np.random.default_rng(SEED)
    drawn = np.sort(rng.permutation(len(rows))[:MOST_CODED])
    some, first = rows.iloc[drawn], rng.random(len(drawn)) < 0.5
    outcome, cells = outcome_of(some["label"]), [pd.factorize(some[axis])[0].astype(np.intp) for axis in _ROLES]
    tasks = (("DE", outcome.labelled, outcome.effect), ("DIR", outcome.directed, outcome.up))
    for task, known, positive in tasks:
        for what, codes in _row_codes(rows, features):
            value = _value_of_codes(codes[drawn], known, positive, first, cells)
            if value >= LIMIT:
                yield f"{what} reveals labels: {task} {value:.3f} within perturbations and target genes"
                break


def _value_of_codes(codes: Codes, known: Bools, positive: Bools, first: Bools, cells: list[Codes]) -> float:
    """Return the smaller AUROC inside the cells of each axis of the shares of positives by code; 0 from too few rows or pairs."""
    if min((known & positive).sum(), (known & ~positive).sum()) < LEAST:
        return 0.0
    values, n_codes = np.zeros(len(codes)), int(codes.max()) + 1
    for half in (first, ~first):
        counts = sum_by_group(codes[known & ~half], n_codes)
        hits = sum_by_group(codes[known & ~half], n_codes, positive[known & ~half])
        overall = hits.sum() / max(1.0, counts.sum())
        values[half] = np.divide(hits, counts, out=np.full(n_codes, overall), where=counts > 0)[codes[half]]
    if min(_pairs(known, positive, each) for each in cells) < LEAST**2:
        return 0.0
    return min(auroc_within_cells(Task(known, positive, values), each) for each in cells)


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
                yield f"{what} reveals labels: {task} {value:.3f} {where}"
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
            yield _ROLES[axis], list_some(named, SHOWN)


def _signatures(known: dict[str, str]) -> list[tuple[str, ...]]:
    """Return three pairs of rows (first two, last two, middle two); a copy shares one unless it lacks a row of each."""
    names = sorted(known)
    middle = len(names) // 2
    return [tuple(names[:2]), tuple(names[-2:]), tuple(names[middle - 1 : middle + 1])]
