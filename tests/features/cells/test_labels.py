"""Labels at their thresholds, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError
from core.features.cells.columns import GeneNames
from core.features.cells.differential_expression import GeneChanges, GuideExpression
from core.features.cells.labels import (
    DOWN,
    LEFT_OUT,
    NONE,
    SPLITS,
    UP,
    Sample,
    SamplingSettings,
    Thresholds,
    knockdown_table,
    label_pairs,
    sample_pairs,
)
from tests.strength import examples

LIMIT = math.log2(1.5)


def changes(fdr: list[float], log2_fc: list[float]) -> GeneChanges:
    shape = (1, len(fdr))
    arrays = [np.array(values).reshape(shape) for values in (fdr, fdr, log2_fc)]
    return GeneChanges(*arrays, guides=())


@pytest.mark.parametrize(
    ("fdr", "log2_fc", "code"),
    [
        (0.049, LIMIT, UP),
        (0.049, -LIMIT, DOWN),
        (0.05, LIMIT, LEFT_OUT),  # not below 5%
        (0.049, LIMIT - 1e-9, LEFT_OUT),
        (0.05, 0.2499, NONE),
        (1.0, -0.2499, NONE),
        (0.049, 0.1, LEFT_OUT),  # significant, and small
        (0.9, 0.25, LEFT_OUT),
        (np.nan, np.nan, LEFT_OUT),
        (0.9, np.nan, LEFT_OUT),
    ],
)
def test_thresholds(fdr: float, log2_fc: float, code: int) -> None:
    assert label_pairs(
        changes([fdr], [log2_fc]), ["T"], GeneNames(("A",)), Thresholds()
    ).tolist() == [[code]]


def test_the_target_itself_has_no_label() -> None:
    codes = label_pairs(
        changes([0.001, 0.001], [-3, -3]), ["A"], GeneNames(("A", "B")), Thresholds()
    )
    assert codes.tolist() == [[LEFT_OUT, DOWN]]


def test_all_four_numbers_can_be_set() -> None:
    found = label_pairs(
        changes([0.09, 0.15, 0.3], [0.4, 0.1, 0.35]),
        ["T"],
        GeneNames(("A", "B", "C")),
        Thresholds(0.1, 0.4, 0.2, 0.4),
    )
    assert found.tolist() == [[UP, LEFT_OUT, NONE]]  # B is neither below 10% nor at least 20%


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((0.0,), "fdr: got 0.0, expected a number, more than 0, at most 1"),
        ((0.05, 0.1, 0.05, 0.2), "got 0.1 for an effect and 0.2 for none"),
        (
            (0.05, 0.5, 0.01, 0.2),
            r"FDR of none: got 0.01, expected at least the FDR of an effect \(0.05\)",
        ),
        ((0.05, math.nan), "log2_fc: got nan, expected a number, more than 0"),
    ],
)
def test_impossible_thresholds_are_refused(values: tuple[float, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Thresholds(*values)


def test_guides_fail_above_the_most_that_may_remain() -> None:
    guides = [
        GuideExpression("A", "", 60, 2.0, 8.0),
        GuideExpression("A", "A_1", 30, 7.2, 8.0),
        GuideExpression("A", "A_2", 30, 5.6, 8.0),
        GuideExpression("B", "", 30, 1.0, 0.0),
    ]
    table = knockdown_table(guides)
    assert table["remaining"].tolist()[:3] == pytest.approx([0.25, 0.9, 0.7])
    assert table["failed"].tolist()[:3] == [False, True, False]  # 0.7 is not above 0.7
    assert math.isnan(table["remaining"][3])
    assert table["failed"].isna().tolist() == [False, False, False, True]


SOME = SamplingSettings(most_effects=3, least_effects=2)


def screen(seed: int, n_perts: int, n_genes: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    codes = rng.choice(
        [UP, DOWN, NONE, LEFT_OUT], (n_perts, n_genes), p=[share / 2, share / 2, 0.9 - share, 0.1]
    )
    return codes.astype(np.int8), np.round(rng.random(codes.shape), 1)  # with ties


def sampled(codes: np.ndarray, fdr: np.ndarray, how: SamplingSettings) -> Sample | None:
    try:
        return sample_pairs(codes, fdr, how)
    except InputError:
        return None


screens = st.tuples(
    st.integers(0, 10**6), st.integers(1, 25), st.integers(2, 40), st.floats(0.05, 0.5)
)


@pytest.mark.soak
@examples(60)
@given(screens, st.booleans())
def test_any_sample(shape: tuple[int, int, int, float], all_pairs: bool) -> None:
    codes, fdr = screen(*shape)
    found = sampled(codes, fdr, SamplingSettings(all_pairs, 3, 2, seed=shape[0]))
    if found is None:
        return
    rows = found.rows
    assert not rows.duplicated(["pert", "gene"]).any()
    names = {UP: "up", DOWN: "down", NONE: "none"}
    for pert, gene, label, split in rows.itertuples(index=False):
        assert names[codes[pert, gene]] == label
        assert SPLITS[found.pert_split[pert]] == split == SPLITS[found.gene_split[gene]]
    for column in ("pert", "gene"):  # disjoint on both axes
        assert rows.groupby(column)["split"].nunique().max() == 1
    n_effects = np.isin(codes, [UP, DOWN]).sum(axis=1)
    assert ((found.pert_split >= 0) == (n_effects >= 2)).all()
    effects = rows[rows["label"] != "none"]
    if all_pairs:
        within = (found.pert_split[:, None] == found.gene_split) & (codes != LEFT_OUT)
        assert len(rows) == within.sum()
    else:
        assert effects.groupby("pert").size().max() <= 3
        assert_negatives(found, codes)


def assert_negatives(found: Sample, codes: np.ndarray) -> None:
    """Each gene is as often among the negatives as among the effects and no perturbation has fewer negatives than effects, but
    for what the sample says is missing."""
    rows = found.rows
    is_none = rows["label"] == "none"
    missing = 0
    for column, n in (("gene", codes.shape[1]), ("pert", codes.shape[0])):
        positives = np.bincount(rows.loc[~is_none, column], minlength=n)
        negatives = np.bincount(rows.loc[is_none, column], minlength=n)
        missing += int(np.maximum(positives - negatives, 0).sum())
    assert missing <= found.short
    if found.short == 0:
        assert missing == 0


def test_effects_with_the_lowest_fdr_are_kept() -> None:
    codes = np.array([[UP, DOWN, UP, NONE, NONE, NONE]], dtype=np.int8)
    fdr = np.array([[0.03, 0.01, 0.02, 0.9, 0.9, 0.9]])
    only = SamplingSettings(
        most_effects=2, least_effects=3, pert_shares=(1, 0, 0), gene_shares=(1, 0, 0)
    )
    rows = sample_pairs(codes, fdr, only).rows
    assert set(rows.loc[rows["label"] != "none", "gene"]) == {1, 2}
    # No other perturbation has a pair of genes 1 and 2, so that both negatives fill up, from genes without a kept effect.
    assert (rows["label"] == "none").sum() == 2


def test_a_gene_is_as_often_negative_as_positive() -> None:
    """Gene 0 changes under the first two of four perturbations, and has two negatives, under the other two."""
    codes = np.array(
        [[UP, NONE, NONE], [UP, NONE, NONE], [NONE, DOWN, NONE], [NONE, DOWN, NONE]], dtype=np.int8
    )
    only = SamplingSettings(
        most_effects=1, least_effects=1, pert_shares=(1, 0, 0), gene_shares=(1, 0, 0)
    )
    rows = sample_pairs(codes, np.full(codes.shape, 0.5), only).rows
    counts = rows.groupby(["gene", "label"]).size()
    assert counts.to_dict() == {(0, "up"): 2, (0, "none"): 2, (1, "down"): 2, (1, "none"): 2}


def test_perturbations_and_genes_are_split_in_the_shares() -> None:
    codes, fdr = screen(1, 200, 500, 0.3)
    found = sample_pairs(codes, fdr, SamplingSettings())
    assert np.bincount(found.pert_split[found.pert_split >= 0]).tolist() == [160, 20, 20]
    assert np.bincount(found.gene_split).tolist() == [300, 100, 100]


def test_a_seed_gives_one_sample() -> None:
    codes, fdr = screen(2, 30, 60, 0.3)
    first, again, other = (
        sample_pairs(codes, fdr, SamplingSettings(seed=seed)).rows for seed in (1, 1, 2)
    )
    assert first.equals(again)
    assert not first.equals(other)


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(
        InputError, match=r"no row is left: 0 of 1 perturbations change at least 9 genes"
    ):
        sample_pairs(np.array([[UP, NONE]], dtype=np.int8), np.ones((1, 2)), SamplingSettings())
    with pytest.raises(InputError, match="gene_shares: got"):
        SamplingSettings(gene_shares=(0.5, 0.5, 0.5))
    with pytest.raises(InputError, match="most_effects: got 0, expected a whole number, 1 or more"):
        SamplingSettings(most_effects=0)
    with pytest.raises(InputError, match="seed: got -1"):
        SamplingSettings(seed=-1)
