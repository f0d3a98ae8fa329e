"""Find the evidence that moved the answers of a run: leave out each tool, and compare with asking again without changes.

Let y be a row's original answer, b_r its answer when asked again under the seeds of repeat r, and w_r the same without a tool.
For a row, |Δ| without the tool is the mean over repeats of |w_r - y|, and |Δ| of asking again is the mean of |b_r - y|. If the
tool does not matter, w_r and b_r can be exchanged for all repeats of a row together, which flips the sign of the difference of
the two. So the sign-flip test is exact. It is one-sided, because "moved" means "moved more than asking again".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.errors import StateError
from core.experiments.attribution_arms import EVERY_TOOL, FIRST, ArmKey, AttributionSpec
from core.experiments.paired_replicates import PairedReplicates, compare_replicates
from core.experiments.seed_noise import read_answers, take_ids
from core.scoring.arm_loader import ArmLoader
from core.scoring.run_scores import RunRows
from core.stats.arrays import Bools, Floats
from core.stats.clustered_mean import means_within
from core.stats.comparison import Comparison
from core.stats.delong import Estimate
from core.stats.multiplicity import holm
from core.stats.power import LEVEL
from core.stats.sign_flips import SignFlips, sign_flip_test
from core.store.connection import Cursor

Arms = Mapping[ArmKey, str]  # arm → id of its run
_FLIP_SEED = 0


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """The answers of arms on the same rows. p_de, p_up: of shape (n_arms, n_rows), NaN for unreadable answers."""

    p_de: Floats
    p_up: Floats


@dataclass(frozen=True, slots=True)
class Movement:
    """The mean absolute changes of answers over rows. both: the mean of P(DE) and P(up | DE)."""

    both: Estimate
    de: Estimate
    up: Estimate


@dataclass(frozen=True, slots=True, eq=False)
class ToolEffect:
    """The effect of leaving out one tool. movement: of the answers without the tool, and floor: of asking again, both on the
    rows of the test. test: of |Δ| without the tool minus |Δ| of asking again; p_holm: over the tools. scores: of the answers
    without the tool against those of asking again, not tested; rows: number of rows with all of these answers readable.
    """

    name: str
    movement: Movement
    floor: Movement
    test: SignFlips
    p_holm: float
    scores: Comparison
    rows: int

    @property
    def is_confirmed(self) -> bool:
        """Whether leaving out the tool moves the answers more than asking again, at 5% over all tools."""
        return self.p_holm <= LEVEL


@dataclass(frozen=True, slots=True, eq=False)
class Attribution:
    """The result of an attribution. floor: movement by asking again, on all rows with readable answers in the arms with every
    tool; left_out: number of other rows. tokens: of all arms, None if unknown.
    """

    spec: AttributionSpec
    runs: Arms
    floor: Movement
    tools: tuple[ToolEffect, ...]
    left_out: int
    tokens: int | None

    def is_covered(self, tool: ToolEffect) -> bool:
        """Return whether a tool's |Δ| is within the noise: below the upper limit of |Δ| of asking again, on the same rows."""
        return not tool.movement.both.value > tool.floor.both.shown.high


def report_attribution(db: Cursor, spec: AttributionSpec, runs: Arms) -> Attribution:
    """Report an attribution whose arms are all done. Raise StateError if an arm is missing or all of its rows failed."""
    missing = [arm for arm in spec.arms if arm not in runs]
    if missing:
        raise StateError(f"attribution of {spec.name}: {len(missing)} of {len(spec.arms)} arms are missing, expected all done")
    loader = ArmLoader(db, spec.dataset)
    arms = _line_up({arm: loader.rows_of(runs[arm]) for arm in spec.arms}, spec)
    again = _arms_of(spec, EVERY_TOOL)
    first = ArmKey(EVERY_TOOL, FIRST)
    de, up = _changes(arms, first, again)
    floor = _movement(arms[first], de, up)
    effects = [_effect(arms, spec, tool) for tool in spec.tools]
    adjusted = holm([each.test.p for each in effects])
    tools = tuple(replace(each, p_holm=float(p)) for each, p in zip(effects, adjusted, strict=True))
    counts = [rows.run.tokens for rows in arms.values()]
    tokens = None if any(count is None for count in counts) else sum(count or 0 for count in counts)
    return Attribution(spec, runs, floor, tools, len(spec.rows) - int((~np.isnan(de)).sum()), tokens)


def _arms_of(spec: AttributionSpec, tool: str) -> list[ArmKey]:
    return [arm for arm in spec.arms if arm.tool == tool and arm.repeat != FIRST]


def _line_up(arms: Mapping[ArmKey, RunRows], spec: AttributionSpec) -> dict[ArmKey, RunRows]:
    """Return the common rows of all arms, from each arm, in the same order."""
    common = set(spec.rows).intersection(*(rows.frame["pair_id"] for rows in arms.values()))
    if not common:
        raise StateError(f"attribution of {spec.name}: no row was answered in every arm, expected at least one")
    return {arm: take_ids(rows, [row for row in spec.rows if row in common]) for arm, rows in arms.items()}


def _changes(arms: Mapping[ArmKey, RunRows], first: ArmKey, others: Sequence[ArmKey]) -> tuple[Floats, Floats]:
    """Return the mean over arms of |ΔP(DE)| and of |ΔP(up | DE)| of each row; NaN if an answer was unreadable."""
    parts = [
        (read_answers(rows, "p_de"), read_answers(rows, "p_up_given_de"))
        for rows in [arms[first], *(arms[arm] for arm in others)]
    ]
    found = Answers(np.stack([de for de, _ in parts]), np.stack([up for _, up in parts]))
    de, up = (np.abs(p[1:] - p[0]).mean(axis=0) for p in (found.p_de, found.p_up))
    return de, up


def _of_both(de: Floats, up: Floats) -> Floats:
    """Return |Δ| of each row: the mean of both, or that of P(DE) if no direction was readable."""
    return np.where(np.isnan(up), de, (de + up) / 2)


def _movement(rows: RunRows, de: Floats, up: Floats) -> Movement:
    """Return the movement of answers, as means over rows. de, up: |Δ| of each row, NaN if unknown."""
    return Movement(*(_mean(values, rows) for values in (_of_both(de, up), de, up)))


def _mean(values: Floats, rows: RunRows) -> Estimate:
    known = ~np.isnan(values)
    if not known.any():
        raise StateError("attribution: no row has only readable answers, expected at least one")
    perts, genes = (np.unique(codes[known], return_inverse=True)[1] for codes in (rows.pert, rows.gene))
    return means_within(values[known], np.zeros(len(perts), dtype=np.intp), perts, genes)[0]


def _effect(arms: Mapping[ArmKey, RunRows], spec: AttributionSpec, tool: str) -> ToolEffect:
    """Return the effect of one tool, with its p not yet adjusted.

    Only rows with all answers readable count, so the choice of rows does not depend on the side of an answer.
    """
    first, again, without = ArmKey(EVERY_TOOL, FIRST), _arms_of(spec, EVERY_TOOL), _arms_of(spec, tool)
    sides = [_changes(arms, first, others) for others in (again, without)]
    unread, undirected = (np.isnan(np.sum(both, axis=0)) for both in zip(*sides, strict=True))
    (again_de, again_up), (de, up) = (
        (np.where(unread, np.nan, of_de), np.where(unread | undirected, np.nan, of_up)) for of_de, of_up in sides
    )
    read = ~unread
    differences = _of_both(de - again_de, up - again_up)[read]
    test = sign_flip_test(differences, arms[first].pert[read], np.random.default_rng(_FLIP_SEED))
    movement, floor = _movement(arms[first], de, up), _movement(arms[first], again_de, again_up)
    return ToolEffect(tool, movement, floor, test, test.p, _scores(arms, again, without, read), int(read.sum()))


def _scores(arms: Mapping[ArmKey, RunRows], again: Sequence[ArmKey], without: Sequence[ArmKey], read: Bools) -> Comparison:
    """Return DE and DIR without the tool compared with asking again, as means over repeats."""
    sides = [tuple(arms[arm].take(read) for arm in each) for each in (again, without)]
    replicates = tuple((0, arm.repeat) for arm in again)
    return compare_replicates(PairedReplicates(replicates, sides[0], sides[1], 0, int((~read).sum()))).comparison
