"""Columns found by name, or given."""

from __future__ import annotations

import pandas as pd
import pytest

from core.base.errors import InputError
from core.features.cells.columns import Columns, choose_columns


def obs(**columns: list[str | None]) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Categorical(values) for name, values in columns.items()})


def test_columns_are_found_by_name() -> None:
    found = choose_columns(obs(Batch=["1", "2"], Gene=["NT", "A"], guide=["x", "y"], n=["1", "2"]))
    assert found == Columns("Gene", "NT", "Batch", "guide")


def test_the_first_column_with_controls_counts() -> None:
    """`gene` stands before `condition`, but holds no control."""
    found = choose_columns(obs(gene=["A", "B"], condition=["ctrl", "A+ctrl"]))
    assert (found.perturbation, found.control, found.others) == ("condition", "ctrl", ("gene",))


def test_what_is_given_counts() -> None:
    found = choose_columns(
        obs(gene=["NT", "A"], hit=["safe", "A"], run=["1", "2"]), "hit", ("safe",), "run"
    )
    assert found == Columns("hit", "safe", "run", None, ("perturbation", "control", "batch"))


@pytest.mark.parametrize(
    ("columns", "given", "message"),
    [
        (
            {"cluster": ["1", "2"]},
            {},
            "no perturbation column: obs has cluster, expected one of gene",
        ),
        (
            {"gene": ["A", "B"]},
            {},
            "no control cells: column 'gene' has the values A, B, expected one of non-targeting",
        ),
        (
            {"gene": ["A", "NT"]},
            {"control": ("ctrl",)},
            "expected 'ctrl' among them; those that look like controls are NT$",
        ),
        (
            {"gene": ["A", "NT"]},
            {"perturbation": "hit"},
            "perturbation column 'hit': not in obs, which has gene",
        ),
        ({"gene": ["A", "NT"]}, {"batch": "day"}, "batch column 'day': not in obs"),
        ({"gene": [None, None]}, {}, "no control cells"),
    ],
)
def test_what_is_missing_is_named(
    columns: dict[str, list[str | None]], given: dict[str, str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        choose_columns(obs(**columns), **given)
