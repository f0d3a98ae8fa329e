"""The experiment of a file: its rows, and its arms."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError
from core.base.types import Label, Pair
from core.evidence.label_view import fold_views
from core.features.experiments.kinds.file import FileRows, choose_labelled_rows, draw_stratified

ROWS = [
    Pair(f"P{p}_G{g}", f"P{p}", f"G{g}", Label(("up", "none", "none", "down")[g % 4]), "train")
    for p in range(6)
    for g in range(8)
]
TEST = [Pair("Q_H", "Q", "H", None, "test")]


@given(st.lists(st.sampled_from(["up", "down", "none"]), min_size=1, max_size=60), st.data())
def test_each_label_keeps_its_share_to_a_row(labels: list[str], data: st.DataObject) -> None:
    n = data.draw(st.integers(1, len(labels)))
    drawn = draw_stratified(labels, n, data.draw(st.integers(0, 3)))
    assert len(set(drawn)) == n
    assert drawn == sorted(drawn)
    taken, every = Counter(labels[i] for i in drawn), Counter(labels)
    assert all(abs(taken[label] - n * count / len(labels)) < 1 for label, count in every.items())


@given(st.integers(2, 4), st.integers(0, 20), st.integers(8, 40))
def test_no_label_of_a_rows_perturbation_or_gene_is_in_its_view(
    k: int, cut: int, sample: int
) -> None:
    """Folds blind for each row: with all of them blinded at once, nothing would be left to see."""
    chosen = set(choose_labelled_rows(ROWS + TEST, FileRows(sample=sample), None))
    folds = fold_views(ROWS, k, cut)
    for row in (row for row in ROWS if row.pair_id in chosen):
        seen = folds.view_of(row).rows
        assert not any(other.pert == row.pert or other.gene == row.gene for other in seen)


def test_rows_are_labelled_ones() -> None:
    assert choose_labelled_rows(ROWS + TEST, FileRows(), None) == tuple(row.pair_id for row in ROWS)
    assert choose_labelled_rows(ROWS + TEST, FileRows(run="r"), ["Q_H", "P1_G1"]) == ("P1_G1",)
    with pytest.raises(InputError, match="none of run r has a label"):
        choose_labelled_rows(ROWS + TEST, FileRows(run="r"), ["Q_H"])
    with pytest.raises(
        InputError, match="a sample of 49, expected at most the number of labelled rows, 48"
    ):
        choose_labelled_rows(ROWS + TEST, FileRows(sample=49), None)
