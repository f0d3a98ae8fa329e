"""The result of probing a gene space: its vectors of target genes and its vectors of perturbations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from core.errors import InputError, StateError
from core.scoring.row_leaks import SURE, CopyEvidence
from core.stats.arrays import Codes, Floats
from core.stats.scores_and_labels import outcome_of
from core.stats.share_probe import LEAST_OF_FIXED, ShareProbe, probe_shares
from core.stats.space_probe import Question, WithinProbe, probe_within
from core.stats.unit_rows import UnitRows
from core.stats.within_axis import Axis
from core.store.spaces import SpaceRecord
from core.texts import number_text
from core.transfer.row_index import RowIndex
from core.transfer.similarity import Space

SEED = 0  # of the probes' random draws
LOADED = "loaded"
AXES: tuple[Axis, ...] = ("gene", "pert")
TASKS: tuple[Question, ...] = ("DE", "DIR")
UNITS: dict[Axis, tuple[str, str]] = {"gene": ("target gene", "target genes"), "pert": ("perturbation", "perturbations")}
_KNOWN: dict[tuple[Axis, Question], str] = {
    ("gene", "DE"): "which perturbations change a target gene",
    ("gene", "DIR"): "which perturbations move a target gene up",
    ("pert", "DE"): "which target genes a perturbation changes",
    ("pert", "DIR"): "which target genes a perturbation moves up",
}
ALL_ROWS = "all labelled rows"
LEAST_ORDERED, ORDERED = 50, 0.99  # units, and |Spearman| from which a column is their order
_DECIMALS, _LEAST_COLUMNS, _FEW_TIED = 4, 8, 0.1  # of a direction; columns that are not 0; symbols that share a vector
_EQUAL = 1e-5  # relative difference of two lengths
_SHARED_STEM = 3  # letters that names of one family begin with
_SHOWN = 3  # pairs that a text names


@dataclass(frozen=True, slots=True)
class ProbedRows:
    """Both probes of one axis for one task (DE, DIR), on all labelled rows or on those of one split."""

    axis: Axis
    task: Question
    split: str
    shares: ShareProbe
    within: WithinProbe
    json_properties = ("has_seen_labels",)

    @property
    def has_seen_labels(self) -> bool:
        """Whether either probe finds that the vectors contain information from labels."""
        return self.shares.has_seen_labels or self.within.has_seen_labels

    @property
    def is_probed(self) -> bool:
        """Whether either probe had enough rows."""
        return self.shares.units > 0 or any(score.value == score.value for score in self.within.scores)


@dataclass(frozen=True, slots=True)
class SpaceCheck:
    """One space. built_from: as the space declares it; error: why its vectors cannot be read.

    twins: pairs of names with the same vector that are one gene by their rows, or have no reason for it; ties: the number
    of other symbols that share a vector. ordered: columns that are an order of names.
    """

    name: str
    built_from: str | None
    probes: tuple[ProbedRows, ...] = ()
    twins: tuple[tuple[str, str], ...] = ()
    ties: int = 0
    ordered: tuple[str, ...] = ()
    error: str | None = None
    json_properties = ("de", "dir")

    @property
    def findings(self) -> list[str]:
        """The findings as sentences; declared labels are not a finding."""
        seen = [] if self.built_from else [_probe_text(probe) for probe in self.probes if probe.has_seen_labels]
        return [
            *seen,
            *([f"renamed duplicates: two names have one vector: {self._twins_text()}"] if self.twins else []),
            *self.ordered,
        ]

    def _twins_text(self) -> str:
        more = len(self.twins) - _SHOWN
        return ", ".join(f"{a} = {b}" for a, b in self.twins[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")

    @property
    def de(self) -> float | None:
        """The plain similarity of target genes' vectors on all labelled rows, for DE; None if it was not probed."""
        return self._cosine("DE")

    @property
    def dir(self) -> float | None:
        """The same for DIR."""
        return self._cosine("DIR")

    def _cosine(self, task: Question) -> float | None:
        probes = {(each.axis, each.task, each.split): each for each in self.probes}
        probe = probes.get(("gene", task, ALL_ROWS))
        return None if probe is None else probe.within.cosine


def check_space(record: SpaceRecord, load: Callable[[], Space], index: RowIndex, splits: NDArray[np.object_]) -> SpaceCheck:
    """Probe a space on a dataset; load: returns its vectors over the index's symbols; splits: of shape (n_rows,)."""
    try:
        space = load()
    except (InputError, StateError) as error:
        return SpaceCheck(record.name, record.built_from, error=str(error))
    vectors = space.columns
    probes = tuple(_probe(vectors, index, splits))
    twins, ties = _find_twins(space, index, is_loaded=record.kind == LOADED)
    return SpaceCheck(record.name, record.built_from, probes, twins, ties, tuple(_find_orders(vectors, index)))


def describe_space(space: SpaceCheck) -> str:
    """Return the findings about a space and the probes that were impossible, in a few words."""
    if space.error:
        return f"cannot be read: {space.error}"
    seen = any(probe.has_seen_labels for probe in space.probes)
    words = ["has seen labels of this screen or a similar one" if seen else "no label found by these probes"]
    words += [f"declared as built from the labels of {space.built_from}"] if space.built_from else []
    words += [f"{space.ties:,} other symbols share a vector"] if space.ties else []
    missing = [f"{UNITS[each.axis][1]} {each.task}" for each in space.probes if each.split == ALL_ROWS and not each.is_probed]
    words += [f"too few rows to probe: {', '.join(missing)}"] if missing else []
    return "; ".join(words)


def task_rows(index: RowIndex, axis: Axis, task: Question) -> tuple[Codes, UnitRows]:
    """Return the positions of a task's rows among all rows, and these rows, whose units are codes of the index's symbols."""
    outcome = outcome_of(index.labels)
    rows, positive = (outcome.labelled, outcome.effect) if task == "DE" else (outcome.directed, outcome.up)
    at = np.flatnonzero(rows)
    perts, genes = index.rows.pert[at], index.rows.gene[at]
    unit, other = (genes, perts) if axis == "gene" else (perts, genes)
    return at, UnitRows(positive[at], unit, other)


def _probe(vectors: Floats, index: RowIndex, splits: NDArray[np.object_]) -> Iterator[ProbedRows]:
    """Yield every axis and task; where several splits have labels, each of them too if nothing was found on all rows."""
    for axis in AXES:
        for task in TASKS:
            at, rows = task_rows(index, axis, task)
            whole = _probe_rows(vectors, rows, axis, task, ALL_ROWS)
            yield whole
            names = dict.fromkeys(splits[at].tolist())
            if len(names) > 1 and not whole.has_seen_labels:
                for name in names:
                    yield _probe_rows(vectors, rows.take(splits[at] == name), axis, task, str(name))


def _probe_rows(vectors: Floats, rows: UnitRows, axis: Axis, task: Question, split: str) -> ProbedRows:
    rng = np.random.default_rng(SEED)
    return ProbedRows(axis, task, split, probe_shares(rows, vectors, rng), probe_within(task, rows, vectors, rng))


def shares_text(axis: Axis, task: Question, probe: ShareProbe) -> str:
    """Describe how well label shares are predicted."""
    predicted = f"they predict the {task} shares of {UNITS[axis][1]}"
    if probe.fixed:
        fixed = f"at a correlation of {probe.correlation:.2f} (suspect from {LEAST_OF_FIXED:.2f})"
        return f"{predicted}, which sampling fixed, {fixed}"
    above = f"{probe.excess:.0f} standard errors above the noise ceiling of {probe.ceiling:.2f}"
    return f"{predicted} at a correlation of {probe.correlation:.2f}, {above}"


def _probe_text(found: ProbedRows) -> str:
    units = UNITS[found.axis][1]
    parts = [shares_text(found.axis, found.task, found.shares)] if found.shares.has_seen_labels else []
    parts += [
        f"they reveal {_KNOWN[found.axis, found.task]}: {found.task} {number_text(score.value)} by {score.kind}, suspect from "
        f"{score.limit:.2f}"
        for score in found.within.scores
        if score.has_seen_labels
    ]
    where = "" if found.split == ALL_ROWS else f" of {found.split}"
    return f"vectors of {units} have seen labels{where}, of this screen or a similar one: {'; '.join(parts)}"


def _find_twins(space: Space, index: RowIndex, *, is_loaded: bool) -> tuple[tuple[tuple[str, str], ...], int]:
    """Return pairs of duplicate symbols with the same direction, and the number of other symbols that share a direction.

    Two symbols are duplicates if the rows of one are those of the other. In a space that was loaded, and in which few symbols
    share a direction, equal vectors of different families are enough: texts and networks that were built here give one vector to
    genes about which they know the same.
    """
    vectors, lengths = space.columns, np.linalg.norm(space.columns, axis=1)
    covered = np.flatnonzero(lengths > 0)
    if space.entries is not None:  # symbols that were matched to one vector are no two vectors
        covered = np.sort(covered[np.unique(space.entries[covered], return_index=True)[1]])
    directions = np.round(vectors[covered] / lengths[covered, None], _DECIMALS) + 0.0  # adding 0 makes -0 a 0
    keys = np.ascontiguousarray(directions.astype(np.float32)).view(f"V{4 * vectors.shape[1]}").ravel()
    _, group, size = np.unique(keys, return_inverse=True, return_counts=True)
    tied = int(size[size > 1].sum())
    dense = (np.count_nonzero(vectors, axis=1) >= _LEAST_COLUMNS) & is_loaded & (tied <= _FEW_TIED * len(covered))
    pairs = [tuple(covered[group == each].tolist()) for each in np.flatnonzero(size == 2)]
    labels, evidence = (_labels_by_symbol(index) if pairs else {}), _evidence(index)
    twins = []
    for a, b in pairs:
        names = index.symbols[a], index.symbols[b]
        are_equal = dense[a] and abs(lengths[a] / lengths[b] - 1) < _EQUAL and not _are_family(*names)
        odds = max((evidence.weigh(rows.get(a, {}), rows.get(b, {})) for rows in labels.values()), default=0.0)
        if are_equal or odds >= SURE:
            twins.append(names)
    return tuple(twins), tied - 2 * len(twins)


def _evidence(index: RowIndex) -> CopyEvidence[int]:
    at = index.labelled_positions
    perts, genes = (len(np.unique(codes[at])) for codes in (index.rows.pert, index.rows.gene))
    return CopyEvidence.of(index.labels[at].tolist(), max(1, perts), max(1, genes))


def _labels_by_symbol(index: RowIndex) -> dict[Axis, dict[int, dict[int, object]]]:
    """Return the labels of each symbol's rows by the other symbol."""
    found: dict[Axis, dict[int, dict[int, object]]] = {"gene": {}, "pert": {}}
    at = index.labelled_positions
    for pert, gene, label in zip(index.rows.pert[at].tolist(), index.rows.gene[at].tolist(), index.labels[at], strict=True):
        found["gene"].setdefault(gene, {})[pert] = label
        found["pert"].setdefault(pert, {})[gene] = label
    return found


def _are_family(a: str, b: str) -> bool:
    return a[:_SHARED_STEM].casefold() == b[:_SHARED_STEM].casefold()


def _find_orders(vectors: Floats, index: RowIndex) -> Iterator[str]:
    """Yield columns that are the order of the names, or of their first rows."""
    for axis in AXES:
        codes = index.rows.gene if axis == "gene" else index.rows.pert
        used, first = np.unique(codes, return_index=True)
        covered = ~np.isnan(vectors[used, 0])
        if covered.sum() < LEAST_ORDERED:
            continue
        values = vectors[used[covered]].astype(np.float64)
        ranks = _centre(rankdata(values, axis=0))
        for name, order in (("alphabetical order", used), ("order in the file", first)):
            agreement = ranks.T @ _centre(rankdata(order[covered])[:, None])[:, 0]
            column = int(np.abs(agreement).argmax())
            if abs(agreement[column]) >= ORDERED:
                yield f"column {column + 1} is the {name} of {UNITS[axis][1]}"


def _centre(ranks: Floats) -> Floats:
    """Return ranks minus their mean, scaled to length 1."""
    left = ranks - ranks.mean(axis=0)
    length = np.sqrt((left**2).sum(axis=0))
    return np.asarray(np.divide(left, length, out=np.zeros_like(left), where=length > 0))
