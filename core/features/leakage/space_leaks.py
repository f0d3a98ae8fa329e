"""The result of probing a gene space: its vectors of target genes and its vectors of
perturbations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.base.errors import InputError, StateError
from core.base.texts import number_text
from core.features.leakage.share_probe import LEAST_OF_FIXED, ShareProbe, probe_shares
from core.features.leakage.space_probe import Question, WithinProbe, probe_within
from core.features.leakage.unit_rows import UnitRows
from core.stats.arrays import Codes, Floats
from core.stats.scores_and_labels import outcome_of
from core.stats.within_axis import Axis
from core.store.spaces import SpaceRecord
from core.transfer.row_index import RowIndex
from core.transfer.similarity import Space

SEED = 0  # of the probes' random draws
AXES: tuple[Axis, ...] = ("gene", "pert")
TASKS: tuple[Question, ...] = ("DE", "DIR")
UNITS: dict[Axis, tuple[str, str]] = {
    "gene": ("target gene", "target genes"),
    "pert": ("perturbation", "perturbations"),
}
_KNOWN: dict[tuple[Axis, Question], str] = {
    ("gene", "DE"): "which perturbations change a target gene",
    ("gene", "DIR"): "which perturbations move a target gene up",
    ("pert", "DE"): "which target genes a perturbation changes",
    ("pert", "DIR"): "which target genes a perturbation moves up",
}
ALL_ROWS = "all labelled rows"


@dataclass(frozen=True, slots=True)
class ProbedRows:
    """Both probes of one axis for one task (DE, DIR), on all labelled rows or on those of one
    split."""

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
        return self.shares.units > 0 or any(
            score.value == score.value for score in self.within.scores
        )


@dataclass(frozen=True, slots=True)
class SpaceCheck:
    """One space. built_from: as the space declares it; error: why its vectors cannot be read."""

    name: str
    built_from: str | None
    probes: tuple[ProbedRows, ...] = ()
    error: str | None = None
    json_properties = ("de", "dir")

    @property
    def findings(self) -> list[str]:
        """The findings as sentences; declared labels are not a finding."""
        return (
            []
            if self.built_from
            else [_probe_text(probe) for probe in self.probes if probe.has_seen_labels]
        )

    @property
    def de(self) -> float | None:
        """The plain similarity of target genes' vectors on all labelled rows, for DE; None if it
        was not probed."""
        return self._cosine("DE")

    @property
    def dir(self) -> float | None:
        """The same for DIR."""
        return self._cosine("DIR")

    def _cosine(self, task: Question) -> float | None:
        probes = {(each.axis, each.task, each.split): each for each in self.probes}
        probe = probes.get(("gene", task, ALL_ROWS))
        return None if probe is None else probe.within.cosine


def check_space(
    record: SpaceRecord, load: Callable[[], Space], index: RowIndex, splits: NDArray[np.object_]
) -> SpaceCheck:
    """Probe a space on a dataset; load: returns its vectors over the index's symbols; splits: of
    shape (n_rows,)."""
    try:
        space = load()
    except (InputError, StateError) as error:
        return SpaceCheck(record.name, record.built_from, error=str(error))
    return SpaceCheck(record.name, record.built_from, tuple(_probe(space.columns, index, splits)))


def describe_space(space: SpaceCheck) -> str:
    """Return the findings about a space and the probes that were impossible, in a few words."""
    if space.error:
        return f"cannot be read: {space.error}"
    seen = any(probe.has_seen_labels for probe in space.probes)
    words = [
        (
            "has seen labels of this screen or a similar one"
            if seen
            else "no label found by these probes"
        )
    ]
    words += (
        [f"declared as built from the labels of {space.built_from}"] if space.built_from else []
    )
    missing = [
        f"{UNITS[each.axis][1]} {each.task}"
        for each in space.probes
        if each.split == ALL_ROWS and not each.is_probed
    ]
    words += [f"too few rows to probe: {', '.join(missing)}"] if missing else []
    return "; ".join(words)


def task_rows(index: RowIndex, axis: Axis, task: Question) -> tuple[Codes, UnitRows]:
    """Return the positions of a task's rows among all rows, and these rows, whose units are codes
    of the index's symbols."""
    outcome = outcome_of(index.labels)
    rows, positive = (
        (outcome.labelled, outcome.effect) if task == "DE" else (outcome.directed, outcome.up)
    )
    at = np.flatnonzero(rows)
    perts, genes = index.rows.pert[at], index.rows.gene[at]
    unit, other = (genes, perts) if axis == "gene" else (perts, genes)
    return at, UnitRows(positive[at], unit, other)


def _probe(vectors: Floats, index: RowIndex, splits: NDArray[np.object_]) -> Iterator[ProbedRows]:
    """Yield every axis and task; where several splits have labels, each of them too if nothing was
    found on all rows."""
    for axis in AXES:
        for task in TASKS:
            at, rows = task_rows(index, axis, task)
            whole = _probe_rows(vectors, rows, axis, task, ALL_ROWS)
            yield whole
            names = dict.fromkeys(splits[at].tolist())
            if len(names) > 1 and not whole.has_seen_labels:
                for name in names:
                    yield _probe_rows(vectors, rows.take(splits[at] == name), axis, task, str(name))


def _probe_rows(
    vectors: Floats, rows: UnitRows, axis: Axis, task: Question, split: str
) -> ProbedRows:
    rng = np.random.default_rng(SEED)
    return ProbedRows(
        axis, task, split, probe_shares(rows, vectors, rng), probe_within(task, rows, vectors, rng)
    )


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
    parts = (
        [shares_text(found.axis, found.task, found.shares)] if found.shares.has_seen_labels else []
    )
    parts += [
        f"they reveal {_KNOWN[found.axis, found.task]}: {found.task} {number_text(score.value)} by"
        f" {score.kind}, suspect from {score.limit:.2f}"
        for score in found.within.scores
        if score.has_seen_labels
    ]
    where = "" if found.split == ALL_ROWS else f" of {found.split}"
    return (
        f"vectors of {units} have seen labels{where}, of this screen or a similar one:"
        f" {'; '.join(parts)}"
    )
