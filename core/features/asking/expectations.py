"""What people expected of pairs before they saw the label: a quiet game, counted in the audit log.

An answer counts once for a person and a pair: the first, and only if the label was not shown to
them here before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.base.errors import InputError, StateError
from core.base.types import Label
from core.runs.workspace import Workspace
from core.store import changes, pairs, runs

Expected = Literal["up", "down", "none"]
EXPECTED: tuple[Expected, ...] = ("up", "down", "none")
ACTION = "expect"  # of its lines in the audit log


@dataclass(frozen=True, slots=True)
class Expectation:
    """A person's answer for a pair, None if they asked for the label, and the label."""

    expected: Expected | None
    label: Label

    @property
    def is_right(self) -> bool:
        """Whether the label is the expected one; any direction is right if the label has none."""
        return self.expected is not None and (
            self.expected == self.label or (self.label == Label.DE and self.expected != "none")
        )


@dataclass(frozen=True, slots=True)
class Tally:
    """A person's answers.

    said: the number of pairs; right: of them; commonest: the number right with the best single
    answer for all of them. Pairs whose label they asked for do not count.
    """

    said: int = 0
    right: int = 0
    commonest: int = 0


def has_label(workspace: Workspace, run: str, pair_id: str) -> bool:
    """Return whether a row of a run has a label, without telling which."""
    return _label_of(workspace, run, pair_id)[1] is not None


def expect(workspace: Workspace, run: str, pair_id: str, expected: Expected | None) -> Expectation:
    """Record what a person expects of a row, or that they ask for its label (None); return it with
    the label.

    Raise InputError if the row has no label, StateError if the label was shown to the person
    before.
    """
    workspace.refuse_if_read_only(ACTION, pair_id)
    dataset, label = _label_of(workspace, run, pair_id)
    if label is None:
        raise InputError(f"row {pair_id}: has no label, expected a labelled row")
    if expectation_of(workspace, run, pair_id) is not None:
        raise StateError(
            f"row {pair_id}: its label was shown to {workspace.settings.author} before; the first"
            " answer counts"
        )
    with workspace.change(ACTION, pair_id) as (_, detail):
        detail |= {"dataset": dataset, "run": run, "expected": expected, "label": str(label)}
    return Expectation(expected, label)


def expectation_of(workspace: Workspace, run: str, pair_id: str) -> Expectation | None:
    """Return this person's answer for a row, None before it."""
    dataset, _ = _label_of(workspace, run, pair_id)
    return _of_author(workspace).get((dataset, pair_id))


def tally(workspace: Workspace) -> Tally:
    """Return this person's answers in all datasets, counted."""
    said = [each for each in _of_author(workspace).values() if each.expected is not None]
    alike = (sum(Expectation(answer, each.label).is_right for each in said) for answer in EXPECTED)
    return Tally(len(said), sum(each.is_right for each in said), max(alike))


def _of_author(workspace: Workspace) -> dict[tuple[str, str], Expectation]:
    """Return (dataset, pair id) → this person's first answer."""
    with workspace.store.read() as db:
        lines = changes.of_action(db, ACTION, workspace.settings.author)
    found: dict[tuple[str, str], Expectation] = {}
    for pair_id, detail in lines:
        found.setdefault(
            (detail["dataset"], pair_id), Expectation(detail["expected"], Label(detail["label"]))
        )
    return found


def _label_of(workspace: Workspace, run: str, pair_id: str) -> tuple[str, Label | None]:
    """Return the dataset (id) of a run and the label of one of its rows, which may not be predicted
    yet."""
    with workspace.store.read() as db:
        dataset = runs.find(db, run).dataset
        pair = pairs.by_id(db, dataset, pair_id)
    return dataset, pair.label if pair else None
