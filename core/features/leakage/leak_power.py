"""How weak a leak the probes of gene spaces still find on a dataset: leaks are planted in it, with
more and more noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from core.features.leakage.share_probe import probe_shares
from core.features.leakage.space_leaks import AXES, TASKS, UNITS, task_rows
from core.features.leakage.space_probe import Question, probe_within
from core.features.leakage.unit_rows import UnitRows
from core.stats.arrays import Floats
from core.stats.within_axis import Axis
from core.transfer.row_index import RowIndex

NOISES = (0.0, 0.25, 0.5, 0.75, 1.0)
TRIES = 2  # of which both have to be found
NOISE_COLUMNS = 16
TURNED_COLUMNS = 96  # into which shares are turned, each a mixture of the shares and of noise
MOST_ROWS = 3_000  # of the perturbations (or genes) whose labels are planted as columns
SEED = 0


@dataclass(frozen=True, slots=True)
class LeakPower:
    """The largest noise of planted leaks of one axis and task that are found in both of two tries;
    NaN if none is found.

    shares: noise in standard deviations of the shares, in one of 17 columns; turned: for shares
    rotated into TURNED_COLUMNS columns, none equal to the shares. matrix: standard deviation of the
    noise that is added to each label (1 and -1, or 1 and 0), with a column for each of `columns`
    symbols of the other axis.
    """

    axis: Axis
    task: Question
    shares: float
    turned: float
    matrix: float
    columns: int
    json_properties = ("what",)

    @property
    def what(self) -> str:
        """The power in words."""
        units = UNITS[self.axis][1]
        shares = (
            f"label shares {_upto(self.shares, ' SD')}, turned into {TURNED_COLUMNS} columns"
            f" {_upto(self.turned, ' SD')}"
        )
        return f"{self.task} of {units}: {shares}; a matrix of labels {_upto(self.matrix, '')}"


def leak_power(index: RowIndex) -> tuple[LeakPower, ...]:
    """Return the power of every probe on the labelled rows of a dataset; empty without labels."""
    powers = []
    for axis in AXES:
        for task in TASKS:
            rows = task_rows(index, axis, task)[1].renumber()
            if rows.positive.any() and not rows.positive.all():
                some = rows.some_of_other(MOST_ROWS, np.random.default_rng(SEED)).renumber()
                leaks = (
                    partial(_is_share_leak_found, rows),
                    partial(_is_turned_found, rows),
                    partial(_is_matrix_found, task, some),
                )
                shares, turned, matrix = map(_most_noise, leaks)
                powers.append(
                    LeakPower(axis, task, shares, turned, matrix, int(some.other.max()) + 1)
                )
    return tuple(powers)


def _is_share_leak_found(rows: UnitRows, noise: float, rng: np.random.Generator) -> bool:
    return probe_shares(
        rows, _with_shares(rows, NOISE_COLUMNS + 1, noise, rng), rng
    ).has_seen_labels


def _is_turned_found(rows: UnitRows, noise: float, rng: np.random.Generator) -> bool:
    turn = np.linalg.qr(rng.normal(size=(TURNED_COLUMNS, TURNED_COLUMNS)))[0]
    return probe_shares(
        rows, _with_shares(rows, TURNED_COLUMNS, noise, rng) @ turn, rng
    ).has_seen_labels


def _with_shares(rows: UnitRows, n_columns: int, noise: float, rng: np.random.Generator) -> Floats:
    """Return columns of noise, of which the first is the standardised shares with noise."""
    n_units = int(rows.unit.max()) + 1
    shares, _ = rows.shares(np.ones(len(rows), dtype=np.bool_), n_units)
    vectors = rng.normal(size=(n_units, n_columns))
    vectors[:, 0] = (shares - shares.mean()) / max(shares.std(), 1e-12) + noise * vectors[:, 0]
    return vectors


def _is_matrix_found(
    task: Question, rows: UnitRows, noise: float, rng: np.random.Generator
) -> bool:
    vectors = noise * rng.normal(size=(int(rows.unit.max()) + 1, int(rows.other.max()) + 1))
    vectors[rows.unit, rows.other] += np.where(rows.positive, 1.0, 0.0 if task == "DE" else -1.0)
    return any(
        score.reaches_limit
        for score in probe_within(task, rows, vectors, rng, permutations=0).scores
    )


def _most_noise(is_found: Callable[[float, np.random.Generator], bool]) -> float:
    """Return the largest noise up to which leaks are found; the first missed leak ends the
    search."""
    most = float("nan")
    for noise in NOISES:
        if not all(is_found(noise, np.random.default_rng([SEED, seed])) for seed in range(TRIES)):
            break
        most = noise
    return most


def _upto(noise: float, unit: str) -> str:
    if np.isnan(noise):
        return "would not be found"
    return f"found with noise up to {noise:g}{unit}" if noise else "found only without noise"
