from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError
from core.transfer.row_index import EFFECT, LABELLED, UP, RowIndex

IDS = ("B_x", "a_B", "B_a", "c_x")


def some() -> RowIndex:
    """Symbols in alphabetical order: B, a, c, x; B and a are a perturbation and a target."""
    return RowIndex.build(
        IDS, ["B", "a", "B", "c"], ["x", "B", "a", "x"], ["up", None, "none", None]
    )


def test_one_table_of_symbols_for_both_axes() -> None:
    found = some()
    assert found.symbols == ("B", "a", "c", "x")
    assert [found.symbol(code) for code in found.rows.pert] == ["B", "a", "B", "c"]
    assert [found.symbol(code) for code in found.rows.gene] == ["x", "B", "a", "x"]
    assert found.pair_ids == IDS
    assert found.labels.tolist() == ["up", None, "none", None]


def test_labelled_rows_are_the_knowledge_base() -> None:
    found = some()
    assert found.known_positions.tolist() == [0, 2]
    np.testing.assert_array_equal(found.known.rows.gene, found.rows.gene[[0, 2]])
    np.testing.assert_array_equal(
        found.known.flags[:, [LABELLED, EFFECT, UP]], [[1, 1, 1], [1, 0, 0]]
    )


def test_rows_are_found_by_id_and_a_missing_one_is_named() -> None:
    found = some()
    assert found.positions_of(["c_x", "B_x", "c_x"]).tolist() == [3, 0, 3]
    assert found.positions_of([]).tolist() == []
    with pytest.raises(InputError, match=r"row 'no': not in this dataset \(2 of 3 ids are not\)"):
        found.positions_of(["B_x", "no", "nor"])


def test_a_dataset_without_labels_or_without_rows() -> None:
    unlabelled = RowIndex.build(IDS, ["B", "a", "B", "c"], ["x", "B", "a", "x"], [None] * 4)
    assert (len(unlabelled.known), len(unlabelled.rows)) == (0, 4)
    nothing = RowIndex.build([], [], [], [])
    assert (nothing.symbols, len(nothing.rows), len(nothing.known)) == ((), 0, 0)


@pytest.mark.parametrize("labels", [["up", "sideways", None, None], ["up"] * 3])
def test_labels_that_are_none_or_too_few_are_refused(labels: list[str | None]) -> None:
    with pytest.raises(InputError, match="labels"):
        RowIndex.build(IDS, ["B", "a", "B", "c"], ["x", "B", "a", "x"], labels)


SYMBOL = st.sampled_from(["A", "a", "b", "NA", "None", "1110038B12Rik"])
LABEL = st.sampled_from(["up", "down", "none", "de", None])


@given(st.lists(st.tuples(SYMBOL, SYMBOL, LABEL)))
def test_codes_and_labels_read_back_as_they_were(rows: list[tuple[str, str, str | None]]) -> None:
    pert, gene, labels = ([row[i] for row in rows] for i in range(3))
    found = RowIndex.build([str(i) for i in range(len(rows))], pert, gene, labels)
    assert list(found.symbols) == sorted({*pert, *gene})
    assert [found.symbol(code) for code in found.rows.pert] == pert
    assert [found.symbol(code) for code in found.rows.gene] == gene
    assert found.known_positions.tolist() == [
        i for i, label in enumerate(labels) if label is not None
    ]
    assert [labels[i] != "none" for i in found.known_positions] == found.known.flags[
        :, EFFECT
    ].tolist()
