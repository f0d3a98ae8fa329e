from __future__ import annotations

import numpy as np
import pytest

from core.base.errors import InputError
from core.base.types import Pair
from core.evidence.label_view import (
    Counts,
    LabelView,
    all_training,
    blinded_view,
    count_labels,
    fold_views,
    pool_counts,
)
from core.transfer.protocols import EvaluationProtocol, cells_of, parts_of
from core.transfer.row_index import rows_of
from tests.evidence.world import DE, DOWN, NONE, PAIRS, TEST, TRAINING, UP, pair


def screen(n: int = 400, seed: int = 0) -> list[Pair]:
    """Rows of 30 perturbations and 60 genes, each pair once."""
    rng = np.random.default_rng(seed)
    chosen = rng.choice(30 * 60, n, replace=False)
    labels = rng.choice([UP, DOWN, NONE], n)
    return [
        pair(f"P{cell // 60}_G{cell % 60}", label)
        for cell, label in zip(chosen.tolist(), labels, strict=True)
    ]


def test_all_training_rows_are_those_with_a_label_and_of_that_split() -> None:
    others = (TEST, pair("Jak1_Il6", None), pair("Jak1_Actb", UP, "test"))
    view = all_training((*TRAINING, *others))
    assert set(view.rows) == set(TRAINING)
    assert view.counts == Counts(n=9, de=5, up=3, down=2)
    assert len(view) == 9


@pytest.mark.parametrize(
    ("row", "got"), [(TEST, "label None"), (pair("Jak1_Actb", UP, "test"), "split 'test'")]
)
def test_a_view_refuses_rows_that_are_not_labelled_training_rows(row: Pair, got: str) -> None:
    with pytest.raises(
        InputError,
        match=rf"label view: {row.pair_id} has .*{got}.*, expected labelled training rows",
    ):
        LabelView((*TRAINING, row))


def test_blinding_hides_the_perturbations_and_the_genes_of_the_evaluated_rows() -> None:
    view = blinded_view(PAIRS, [TRAINING[0]])  # Stat1_Cxcl10: two rows of Stat1, one more of Cxcl10
    assert {row.pair_id for row in view.rows} == {row.pair_id for row in TRAINING[3:]}
    assert (
        blinded_view(PAIRS, [TEST]).name == all_training(PAIRS).name
    )  # shares nothing with the others
    assert len(blinded_view(PAIRS, TRAINING)) == 0


def test_blinding_takes_symbols_that_differ_in_case_only_for_the_same() -> None:
    evaluated = pair("STAT1_CXCL10", None, "test")
    assert blinded_view(PAIRS, [evaluated]).name == blinded_view(PAIRS, [TRAINING[0]]).name


def test_a_symbol_is_hidden_in_the_role_that_it_was_evaluated_in() -> None:
    rows = [pair("Stat1_Il6", UP), pair("Psmd1_Stat1", DOWN)]
    assert [row.pair_id for row in blinded_view(rows, [rows[0]]).rows] == ["Psmd1_Stat1"]


def test_the_name_is_that_of_the_content() -> None:
    view = all_training(PAIRS)
    assert view.name == all_training(PAIRS[::-1]).name
    assert all_training(PAIRS[::-1]).rows == view.rows
    relabelled = [*TRAINING[1:], pair("Stat1_Cxcl10", UP)]
    names = {
        view.name,
        all_training(relabelled).name,
        all_training(TRAINING[1:]).name,
        all_training(()).name,
    }
    assert len(names) == 4
    assert {len(name) for name in names} == {12}


def test_rows_by_perturbation_and_by_gene() -> None:
    view = all_training(PAIRS)
    assert {row.gene for row in view.by_pert.entries["Stat1"]} == {"Cxcl10", "Il6"}
    assert {row.pert for row in view.by_gene.entries["Cdkn1a"]} == {"Irf1", "Psmd1", "Psmd4"}
    assert view.pert_counts["Irf1"] == Counts(3, 2, 1, 1)
    assert "Jak1" not in view.by_pert.entries


def test_shares_are_none_where_there_is_nothing_to_divide_by() -> None:
    counts = count_labels([pair("A_B", UP), pair("A_C", DE), pair("A_D", NONE), pair("A_E", NONE)])
    assert counts == Counts(4, 2, 1, 0)
    assert (counts.p_de, counts.p_up_given_de) == (0.5, 1.0)
    assert (Counts(3, 0, 0, 0).p_de, Counts(3, 0, 0, 0).p_up_given_de) == (0.0, None)
    assert Counts(0, 0, 0, 0).p_de is None
    assert pool_counts([]) == Counts(0, 0, 0, 0)
    assert pool_counts([counts, Counts(3, 1, 0, 1)]) == Counts(7, 3, 1, 1)


def test_folds_leave_each_cell_the_rows_outside_both_of_its_parts() -> None:
    rows = screen()
    folds = fold_views(rows, 4, seed=3)
    assert len(folds.views) == 16
    assert set(folds.cells) == {row.pair_id for row in rows}
    for cell, view in enumerate(folds.views):
        inside = [row for row in rows if folds.cells[row.pair_id] == cell]
        perts, genes = {row.pert for row in inside}, {row.gene for row in inside}
        assert not perts & {row.pert for row in view.rows}
        assert not genes & {row.gene for row in view.rows}
        same_part = [row for row in rows if folds.cells[row.pair_id] // 4 == cell // 4]
        same_gene_part = [row for row in rows if folds.cells[row.pair_id] % 4 == cell % 4]
        # By hand: rows outside both parts = all − rows of the one − rows of the other + rows of both.
        assert len(view) == len(rows) - len(same_part) - len(same_gene_part) + len(inside)
        assert len(view) > len(rows) / 4


def test_folds_are_those_of_the_knn_protocol() -> None:
    rows = screen(seed=1)
    perts, genes = ([getattr(row, axis) for row in rows] for axis in ("pert", "gene"))
    coded = rows_of(*(np.unique(symbols, return_inverse=True)[1] for symbols in (perts, genes)))
    protocol = EvaluationProtocol("folds", 5, seed=7)
    expected = cells_of(protocol, coded, parts_of(protocol, coded))
    folds = fold_views(rows, 5, seed=7)
    assert [folds.cells[row.pair_id] for row in rows] == expected.tolist()


def test_folds_depend_on_symbols_and_seed_alone() -> None:
    rows = screen()
    first, again, other = (
        fold_views(rows, 3, 1),
        fold_views(rows[::-1], 3, 1),
        fold_views(rows, 3, 2),
    )
    assert first.cells == again.cells
    assert [view.name for view in first.views] == [view.name for view in again.views]
    assert first.cells != other.cells


def test_symbols_that_differ_in_case_only_stay_in_one_fold() -> None:
    rows = screen()
    twins = [pair(row.pair_id.lower(), row.label) for row in rows]
    folds = fold_views([*rows, *twins], 4)
    assert all(folds.cells[row.pair_id] == folds.cells[row.pair_id.lower()] for row in rows)


def test_unlabelled_rows_have_a_cell_and_are_seen_by_none() -> None:
    folds = fold_views(PAIRS, 2)
    assert TEST.pair_id in folds.cells
    assert all(TEST not in view.rows for view in folds.views)
    assert folds.view_of(TEST) is folds.views[folds.cells[TEST.pair_id]]
