"""The columns of a file of cells with the perturbations, and the value of the controls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from core.base.errors import InputError
from core.base.texts import list_some
from core.features.importing.perturbations import matches_control
from core.features.importing.symbols import clean, looks_like_control

PERTURBATION_NAMES = (  # the first that fits
    *(
        "gene",
        "perturbation",
        "target_gene",
        "guide_identity",
        "condition",
        "target",
        "gene_target",
        "perturbation_name",
        "pert",
    ),
)
BATCH_NAMES = ("batch", "gem_group", "lane", "library", "sample", "donor")
GUIDE_NAMES = ("guide", "guide_id", "guide_identity", "sgrna", "sgrna_id", "feature_call")
NO_BATCH = "none"  # the option for comparing cells of all batches together
MOST_CHARACTERS = 1_000  # of a name
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Columns:
    """The chosen columns of obs.

    control: a description of the values of `perturbation` that mean controls. batch, guide: None
    without one. given: the names of the fields chosen by a person; the others were found by name.
    others: further candidates for the column of perturbations.
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
    control: Sequence[str] = (),
    batch: str | None = None,
    guide: str | None = None,
) -> Columns:
    """Return the columns given, and finds the others by name and by the values in them (letters'
    case is ignored).

    control: values of the controls, or patterns. batch: NO_BATCH is none, unless a column has that
    name. Of several columns with a perturbation's name, the first one (PERTURBATION_NAMES) that has
    control cells counts. Raises InputError if there is no perturbation column, if no cell is a
    control, and for columns that obs does not have.
    """
    no_batch = batch == NO_BATCH and NO_BATCH not in obs.columns
    for option, name in (
        ("perturbation", perturbation),
        ("batch", None if no_batch else batch),
        ("guide", guide),
    ):
        if name is not None:
            require_column(obs, option, name)
    candidates = (
        [perturbation]
        if perturbation is not None
        else _find_named(obs, PERTURBATION_NAMES) or _find_named(obs, GUIDE_NAMES)
    )
    if not candidates:
        raise InputError(
            f"no perturbation column: obs has {_names(obs)}, expected one of"
            f" {', '.join(PERTURBATION_NAMES)}; say which with --perturbation"
        )
    with_controls = [
        (name, values) for name in candidates if (values := _control_values(obs[name], control))
    ]
    if not with_controls:
        raise InputError(_describe_no_controls(obs, candidates, control))
    chosen, values = with_controls[0]
    given = {
        "perturbation": perturbation,
        "control": control or None,
        "batch": batch,
        "guide": guide,
    }
    return Columns(
        chosen,
        list_some(values, _SHOWN),
        (
            None
            if no_batch
            else batch
            if batch is not None
            else _first_other(_find_named(obs, BATCH_NAMES), chosen)
        ),
        guide if guide is not None else _first_other(_find_named(obs, GUIDE_NAMES), chosen),
        tuple(name for name, answer in given.items() if answer is not None),
        tuple(name for name in candidates if name != chosen),
    )


def require_column(obs: pd.DataFrame, option: str, name: str) -> None:
    """Raise InputError for a column that obs does not have."""
    if name not in obs.columns:
        raise InputError(f"{option} column {name!r}: not in obs, which has {_names(obs)}")


def _names(obs: pd.DataFrame) -> str:
    return list_some([*map(str, obs.columns)], _SHOWN) or "none"


def _find_named(obs: pd.DataFrame, names: Sequence[str]) -> list[str]:
    by_name = {str(column).strip().lower(): str(column) for column in reversed(obs.columns)}
    return [by_name[name] for name in names if name in by_name]


def _first_other(names: Iterable[str], chosen: str) -> str | None:
    return next((name for name in names if name != chosen), None)


def _control_values(column: pd.Series, control: Sequence[str]) -> list[str]:
    """Return the values of a column that mean controls, largest number of cells first."""
    counts = pd.Series(texts(column)).value_counts()
    return [
        str(value)
        for value in counts.index
        if (
            any(matches_control(value, each) for each in control)
            if control
            else looks_like_control(value)
        )
    ]


def _describe_no_controls(
    obs: pd.DataFrame, candidates: Sequence[str], control: Sequence[str]
) -> str:
    name = candidates[0]
    found = sorted({value for value in pd.unique(texts(obs[name])) if value})
    expected = (
        " or ".join(map(repr, control))
        if control
        else "one of non-targeting, NT, control, ctrl and their spellings"
    )
    alike = [value for value in found if looks_like_control(value)]
    how = f"; those that look like controls are {list_some(alike, _SHOWN)}" if alike else ""
    how += "" if control else "; say with --control which value stands for controls"
    missing = int((texts(obs[name]) == "").sum())
    how += (
        f" (--control '' for the {missing:,} cells without a value)"
        if missing and not control
        else ""
    )
    values = list_some(found, _SHOWN) or "none"
    return (
        f"no control cells: column {name!r} has the values {values}, expected {expected} among"
        f" them{how}"
    )


def texts(column: pd.Series) -> np.ndarray:
    """Return a column's values as clean texts, of shape (n_cells,), dtype object; "" where a value
    is missing.

    Raise InputError for a value that is too long to be a name: arrays of names are as wide as the
    longest.
    """
    code, distinct = pd.factorize(column)  # each distinct value is looked at once
    cleaned = [*(clean(str(value)) for value in distinct), ""]  # the last for a missing value
    longest = max(map(len, cleaned))
    if longest > MOST_CHARACTERS:
        raise InputError(
            f"column {column.name!r}: a value of {longest:,} characters, expected at most"
            f" {MOST_CHARACTERS:,}"
        )
    return np.array(cleaned, dtype=object)[code]
