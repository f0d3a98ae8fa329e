"""Which columns of a file of cells say what was done to a cell, and which value stands for the controls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from core.errors import InputError

PERTURBATION_NAMES = ("gene", "perturbation", "target_gene", "guide_identity", "condition")  # the first that fits
CONTROL_NAMES = ("non-targeting", "control", "nt", "ctrl", "non_targeting", "nontargeting", "negctrl")
BATCH_NAMES = ("batch", "gem_group", "lane", "library", "sample", "donor")
GUIDE_NAMES = ("guide", "guide_id", "guide_identity", "sgrna", "sgrna_id", "feature_call")
MOST_CHARACTERS = 1_000  # of a name
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Columns:
    """What was chosen of obs. control: the value of `perturbation` that stands for controls. batch, guide: None without one.

    given: the names of the fields that a person chose; the others were found by name. others: columns that could have been the
    perturbation's too.
    """

    perturbation: str
    control: str
    batch: str | None = None
    guide: str | None = None
    given: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


def choose_columns(
    obs: pd.DataFrame,
    perturbation: str | None = None,
    control: str | None = None,
    batch: str | None = None,
    guide: str | None = None,
) -> Columns:
    """Returns the columns given, and finds the others by name and by the values in them (letters' case is ignored).

    Of several columns with a perturbation's name, the first one (PERTURBATION_NAMES) that has control cells counts. Raises
    InputError if there is no perturbation column, if no cell is a control, and for columns that obs does not have.
    """
    for option, name in (("perturbation", perturbation), ("batch", batch), ("guide", guide)):
        if name is not None and name not in obs.columns:
            raise InputError(f"{option} column {name!r}: not in obs, which has {_list(obs.columns)}")
    candidates = [perturbation] if perturbation is not None else _named(obs, PERTURBATION_NAMES)
    if not candidates:
        raise InputError(
            f"no perturbation column: obs has {_list(obs.columns)}, expected one of {', '.join(PERTURBATION_NAMES)}; "
            "say which with --perturbation"
        )
    with_controls = [(name, value) for name in candidates if (value := _control_value(obs[name], control)) is not None]
    if not with_controls:
        raise InputError(_describe_no_controls(obs, candidates, control))
    chosen, value = with_controls[0]
    given = {"perturbation": perturbation, "control": control, "batch": batch, "guide": guide}
    return Columns(
        chosen,
        value,
        batch if batch is not None else _first_other(_named(obs, BATCH_NAMES), chosen),
        guide if guide is not None else _first_other(_named(obs, GUIDE_NAMES), chosen),
        tuple(name for name, answer in given.items() if answer is not None),
        tuple(name for name in candidates if name != chosen),
    )


def _named(obs: pd.DataFrame, names: Sequence[str]) -> list[str]:
    by_name = {str(column).lower(): str(column) for column in reversed(obs.columns)}
    return [by_name[name] for name in names if name in by_name]


def _first_other(names: Iterable[str], chosen: str) -> str | None:
    return next((name for name in names if name != chosen), None)


def _control_value(column: pd.Series, control: str | None) -> str | None:
    values = texts(column)
    distinct = {value for value in pd.unique(values) if value}
    if control is not None:
        return control if control in distinct else None
    by_name = {value.lower(): value for value in sorted(distinct, reverse=True)}
    return next((by_name[name] for name in CONTROL_NAMES if name in by_name), None)


def _describe_no_controls(obs: pd.DataFrame, candidates: Sequence[str], control: str | None) -> str:
    name = candidates[0]
    found = sorted({value for value in pd.unique(texts(obs[name])) if value})
    expected = repr(control) if control is not None else f"one of {', '.join(CONTROL_NAMES)}"
    how = "" if control is not None else "; say with --control which value stands for controls"
    return f"no control cells: column {name!r} has the values {_list(found)}, expected {expected} among them{how}"


def texts(column: pd.Series) -> np.ndarray:
    """Returns a column's values as str, of shape (n_cells,), dtype object; "" where a value is missing.

    Raises InputError for a value that is too long to be a name: arrays of names are as wide as the longest.
    """
    values = column.astype(object)
    found = np.array([str(value).strip() for value in values.where(column.notna(), "")], dtype=object)
    longest = max(map(len, found), default=0)
    if longest > MOST_CHARACTERS:
        raise InputError(f"column {column.name!r}: a value of {longest:,} characters, expected at most {MOST_CHARACTERS:,}")
    return found


def targets_of(value: str, control: str) -> tuple[str, ...]:
    """Returns the genes that a value of the perturbation column names, sorted: "A+ctrl" is A, "A+B" is A and B.

    The control's value, and parts of a value that name a control, are no genes.
    """
    parts = {part.strip() for part in value.split("+")} - {""}
    return tuple(sorted(part for part in parts if part != control and part.lower() not in CONTROL_NAMES))


def _list(names: Iterable[object]) -> str:
    shown = [str(name) for name in names]
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return (", ".join(shown[:_SHOWN]) or "none") + more
