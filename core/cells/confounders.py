"""Columns of obs that say where cells come from: cell line, donor, batch. Their values may differ between controls and perturbed
cells, and a comparison of these is then one of lines, donors or batches as well."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from core.cells.columns import BATCH_NAMES, texts
from core.errors import InputError
from core.stats.arrays import Bools

# Cells of several lines are no one thing: which is meant has to be said. The others are named where they differ.
LINES: Final = (
    "cell_line",
    "cellline",
    "cell_lines",
    "cell_line_id",
    "cell_type_id",
    "cell_type",
    "celltype",
    "cell_types",
    "celltypes",
    "tissue",
    "species",
)
_ORIGINS: Final = (
    *("organism", "patient", "individual", "subject", "replicate", "plate", "run", "experiment", "dataset", "day", "timepoint"),
    *("time", "treatment", "stimulation", "dose", "channel", "gem", "donor_id", "sample_id", "batch_id", "library_id"),
)
MOST_VALUES: Final = 200
LEAST_DISTANCE: Final = 0.1  # half the sum of absolute differences of shares from which on a column is named
_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Confounder:
    """A column with several values. counts: value → its control cells and its perturbed cells, most cells first. is_line: of
    LINES. distance: between both distributions, from 0 to 1."""

    column: str
    counts: Mapping[str, tuple[int, int]]
    is_line: bool
    distance: float

    def line(self) -> str:
        """The table of the column in one line."""
        totals = [sum(pair[i] for pair in self.counts.values()) for i in (0, 1)]
        shown = [
            f"{value} ({n_control:,} of {totals[0]:,} controls, {n_perturbed:,} of {totals[1]:,} perturbed cells)"
            for value, (n_control, n_perturbed) in list(self.counts.items())[:_SHOWN]
        ]
        more = f" and {len(self.counts) - _SHOWN:,} more" if len(self.counts) > _SHOWN else ""
        return f"{self.column}: {', '.join(shown)}{more}"


def find_confounders(
    obs: pd.DataFrame, is_control: Bools, is_perturbed: Bools, others: Collection[str]
) -> tuple[tuple[Confounder, ...], tuple[Confounder, ...]]:
    """Returns the columns of LINES with several values and further ones of origin that differ between controls and the rest, and
    those of origin that are even between both.

    is_control, is_perturbed: of shape (n_cells,). others: columns that say what was done to a cell.
    """
    found, even = list[Confounder](), list[Confounder]()
    for name in map(str, obs.columns):
        folded = name.lower().replace(" ", "_").replace(".", "_")
        is_line = folded in LINES
        if name in others or not (is_line or folded in _ORIGINS or folded in BATCH_NAMES):
            continue
        one = _compare(name, texts(obs[name]), is_control, is_perturbed, is_line)
        if one is not None:
            (found if is_line or one.distance >= LEAST_DISTANCE else even).append(one)
    return tuple(found), tuple(one for one in even if any(n_control for n_control, _ in one.counts.values()))


def describe_even(even: Collection[Confounder]) -> list[str]:
    """Returns in one line which columns are even between controls and perturbed cells; none without any."""
    if not even:
        return []
    shown = ", ".join(f"{one.column} ({len(one.counts):,} values)" for one in even)
    return [f"even between controls and perturbed cells, and pooled: {shown}; --within {next(iter(even)).column} compares inside"]


def _compare(name: str, values: np.ndarray, is_control: Bools, is_perturbed: Bools, is_line: bool) -> Confounder | None:
    table = pd.DataFrame(
        {"control": pd.Series(values[is_control]).value_counts(), "rest": pd.Series(values[is_perturbed]).value_counts()}
    )
    table = table.fillna(0).astype(int)
    if not 1 < len(table) <= MOST_VALUES:
        return None
    shares = table / table.sum().clip(lower=1)
    table = table.loc[table.sum(axis=1).sort_values(ascending=False, kind="stable").index]
    counts = {str(value): (int(control), int(rest)) for value, control, rest in table.itertuples(name=None)}
    distance = float((shares["control"] - shares["rest"]).abs().sum() / 2) if table["control"].any() else 0.0
    return Confounder(name, counts, is_line, distance)


def refuse_mixed_lines(where: str, found: Collection[Confounder], handled: Collection[str], *, within: bool = False) -> None:
    """Raises InputError for cells of several lines unless the column is among those that were handled. within: whether they can
    be compared inside each line."""
    mixed = next((each for each in found if each.is_line and each.column not in handled), None)
    if mixed is None:
        return
    inside = f", compare inside each with --within {mixed.column}" if within else ""
    raise InputError(
        f"{where}: {mixed.column} has several values, {mixed.line().partition(': ')[2]}; choose one with --where "
        f"{mixed.column}={next(iter(mixed.counts))}{inside}, or take them together with --across {mixed.column}"
    )
