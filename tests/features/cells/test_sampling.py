"""Properties of samples that hold for any labels, and small samples by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError
from core.features.cells.labels import (
    DOWN,
    LEFT_OUT,
    NONE,
    SPLITS,
    UP,
    Sample,
    SamplingSettings,
    sample_pairs,
)
from tests.strength import examples

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
