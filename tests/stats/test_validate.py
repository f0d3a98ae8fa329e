from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError
from core.base.types import Label
from core.stats import validate


@given(st.lists(st.integers(-1, 12)))
def test_codes_of_small_numbers_are_those_of_a_sort(values: list[int]) -> None:
    names, codes = validate.names_and_codes("gene", np.array(values, dtype=np.intp))
    distinct, inverse = np.unique(np.array(values, dtype=np.intp), return_inverse=True)
    assert (names.tolist(), codes.tolist()) == (distinct.tolist(), inverse.tolist())


def test_named_rows_counts_what_it_does_not_name() -> None:
    assert validate.named_rows(np.array([False, True])) == "row 1"
    assert (
        validate.named_rows(np.ones(7, dtype=bool), list("abcdefg"))
        == "rows a, b, c, d, e and 2 more"
    )


def test_same_length() -> None:
    assert validate.same_length(a=[1, 2], b=[3, 4]) == 2
    with pytest.raises(InputError, match="a has 2, b has 1 rows"):
        validate.same_length(a=[1, 2], b=[3])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0.1, np.nan, np.nan], "p: rows 1, 2: got nan; expected a finite number"),
        ([np.inf], "p: row 0: got inf"),
        (["x"], "p: could not convert"),
        ([[0.1]], r"shape \(1, 1\)"),
    ],
)
def test_numbers_names_the_rows(values: list[object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        validate.numbers("p", values)  # type: ignore[arg-type]


def test_numbers_lets_missing_values_pass_where_allowed() -> None:
    assert np.isnan(validate.numbers("p", [np.nan], missing=True)[0])
    with pytest.raises(InputError, match="row 0: got -inf"):
        validate.numbers("p", [-np.inf, np.nan], missing=True)


@pytest.mark.parametrize("bad", [-0.1, 1.1, np.nan])
def test_probabilities_names_the_ids(bad: float) -> None:
    assert validate.probabilities("p", [0, 1]).tolist() == [0.0, 1.0]
    with pytest.raises(InputError, match=f"p: row Myc_Cd9: got {bad}"):
        validate.probabilities("p", [0.5, bad], ids=["Atg7_Cd9", "Myc_Cd9"])


def test_flags() -> None:
    assert validate.flags("y", [0, 1, 1]).tolist() == [False, True, True]
    assert validate.flags("y", np.array([True])).tolist() == [True]
    with pytest.raises(InputError, match="y: row 1: got 2"):
        validate.flags("y", [1, 2])
    with pytest.raises(InputError, match=r"shape \(1, 1\)"):
        validate.flags("y", [[True]])


def test_codes_of_names_and_of_numbers_agree() -> None:
    assert validate.codes("gene", ["b", "a", "b"]).tolist() == [1, 0, 1]
    assert validate.codes("gene", np.array(["b", "a", "b"], dtype=object)).tolist() == [1, 0, 1]
    assert validate.codes("gene", [7, 3, 7]).tolist() == [1, 0, 1]
    assert validate.names_and_codes("gene", ["nan", "NA"])[0].tolist() == [
        "NA",
        "nan",
    ]  # names like any other


@pytest.mark.parametrize("missing", [None, np.nan])
def test_codes_refuse_a_missing_name(missing: object) -> None:
    with pytest.raises(InputError, match=r"gene: row 1: got (None|nan); expected a name"):
        validate.codes("gene", np.array(["a", missing], dtype=object))
    with pytest.raises(InputError, match="gene: row 0: got nan"):
        validate.codes("gene", [np.nan, 1.0])


def test_labels_take_every_way_of_not_knowing() -> None:
    found = validate.labels(["up", Label.DOWN, "none", "de", None, "", np.nan])
    assert found.tolist() == [0, 1, 2, 3, -1, -1, -1]


@pytest.mark.parametrize("bad", ["Up", "1", 1, "nan"])
def test_labels_refuse_anything_else(bad: object) -> None:
    with pytest.raises(InputError, match=r"labels: row 1: got .* expected up, down, none, de"):
        validate.labels(["up", bad])  # type: ignore[list-item]


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "3"])
def test_whole_number(bad: object) -> None:
    assert validate.whole_number("bins", 1, 1) == 1
    with pytest.raises(InputError, match="bins: got"):
        validate.whole_number("bins", bad, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [0.0, 1.0, np.nan])
def test_between_excludes_its_ends(bad: float) -> None:
    assert validate.between("power", 0.8, 0, 1) == 0.8
    with pytest.raises(InputError, match="power: got"):
        validate.between("power", bad, 0, 1)
