"""What spaces, texts, and the rows of a dataset reveal."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from core.features.leakage import inputs
from core.features.leakage.inputs import check_rows, check_space, check_texts
from core.transfer.row_index import RowIndex
from tests.features.leakage.planted_leaks import (
    Design,
    honest_texts,
    label_shares,
    leaking_spaces,
    leaking_texts,
    orders,
    simulate,
)

SCREEN = simulate(np.random.default_rng(0), Design(60, 200, 30))


def test_planted_spaces_are_named_with_their_axis() -> None:
    for name, space in leaking_spaces(np.random.default_rng(2), SCREEN):
        of_perts = name in ("shares of perturbations", "perturbation x gene")
        units = "perturbations" if of_perts else "target genes"
        found = check_space(SCREEN.index, space.columns)
        assert found, name
        assert all(each.startswith(f"vectors of {units}: ") for each in found), name


def test_labels_of_one_split_are_found_there() -> None:
    """Shares in a third of the perturbations do not show among all rows."""
    in_test = SCREEN.pert < 20
    shares = np.zeros((200, 2))
    found = label_shares(test := SCREEN.take(in_test), test.gene)
    shares[: len(found)] = found
    vectors = np.hstack([np.random.default_rng(1).normal(size=(200, 16)), shares])
    index = SCREEN.index
    split = RowIndex.build(
        index.pair_ids,
        [index.symbol(code) for code in index.rows.pert],
        [index.symbol(code) for code in index.rows.gene],
        index.labels,
        np.where(in_test, "test", "train"),
    )
    [finding, *_] = check_space(split, SCREEN.space(vectors, None).columns)
    assert finding.startswith("vectors of target genes outside training: ")


def test_which_genes_have_a_vector_and_how_alike_those_of_a_row_are() -> None:
    effect = np.where(SCREEN.labels == "none", -1.0, 1.0)
    matrix = np.zeros((200, 60))
    matrix[SCREEN.gene, SCREEN.pert] = effect
    spread = np.random.default_rng(1).normal(size=(60, 256))
    alike = SCREEN.space(matrix @ spread / 16, spread)
    assert any(
        each.startswith("the product of both vectors reveals labels: DE ")
        for each in check_space(SCREEN.index, alike.columns)
    )


def test_texts() -> None:
    rng = np.random.default_rng(0)
    assert check_texts(SCREEN.index, honest_texts(rng, SCREEN)) == []
    starts = {"shared entries": "what both texts share reveals labels: DE "}
    for name, texts in leaking_texts(rng, SCREEN):
        found = check_texts(SCREEN.index, texts)
        start = starts.get(name, "words or numbers of target genes: their values predict DE shares")
        assert any(each.startswith(start) for each in found), name
    assert check_texts(SCREEN.index, {"G0001": ""}) == []


def test_orders_of_rows() -> None:
    rng = np.random.default_rng(4)
    assert check_rows(SCREEN.index) == []
    for name, order in orders(rng, SCREEN):
        [finding, *_] = check_rows(SCREEN.take(order).index)
        assert finding.startswith("the order of rows in the file (the labels of "), name


def test_names_in_the_order_of_their_shares() -> None:
    place = np.argsort(np.argsort(label_shares(SCREEN, SCREEN.gene)[:, 0], kind="stable"))
    index = RowIndex.build(
        [f"P{p}_G{place[g]:04}" for p, g in zip(SCREEN.pert, SCREEN.gene, strict=True)],
        [f"P{p}" for p in SCREEN.pert],
        [f"G{place[g]:04}" for g in SCREEN.gene],
        SCREEN.labels,
    )
    assert any(
        each.startswith("names and their order of target genes: ") for each in check_rows(index)
    )


def rows(genes: int = 100) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    pairs = [(f"P{p}", f"G{g}") for p in range(40) for g in rng.choice(genes, 12, replace=False)]
    frame = pd.DataFrame(pairs, columns=["pert", "gene"])
    return frame.assign(label=rng.choice(["up", "down", "none"], len(frame)))


def renamed(frame: pd.DataFrame) -> list[str]:
    ids = (frame["pert"] + "_" + frame["gene"]).tolist()
    pert, gene = frame["pert"].tolist(), frame["gene"].tolist()
    found = check_rows(RowIndex.build(ids, pert, gene, frame["label"].to_numpy(object)))
    return [each for each in found if each.startswith("renamed")]


@pytest.mark.parametrize("at_once", [1, 300, 4_000_000])
@pytest.mark.parametrize("axis", ["pert", "gene"])
def test_a_name_for_a_copy(axis: str, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many pairs of names are compared at once: a million rows have too many for memory."""
    monkeypatch.setattr(inputs, "_MOST_PAIRS", at_once)
    frame = rows()
    assert renamed(frame) == []
    name = frame[axis].value_counts().index[0]
    copy = frame[frame[axis] == name].assign(**{axis: "Zzz"})
    units = {"pert": "perturbations", "gene": "target genes"}[axis]
    [finding] = renamed(pd.concat([frame, copy], ignore_index=True))
    assert finding.startswith(f"renamed duplicates among {units}, ")
    assert finding.endswith(f": {name} = Zzz")


def test_genes_that_never_respond_are_no_copies_where_every_pair_was_measured() -> None:
    pairs = [(f"P{p}", f"G{g}") for p in range(20) for g in range(30)]
    frame = pd.DataFrame(pairs, columns=["pert", "gene"])
    moved = frame["gene"].isin(["G0", "G1"]) & (frame["pert"] < "P15")
    [finding] = renamed(frame.assign(label=np.where(moved, "up", "none")))
    assert finding.endswith(": G0 = G1")


def test_members_of_a_complex_are_no_renamed_duplicates() -> None:
    """80 complexes of three perturbations, whose labels of 20 pathways are alike but for one in thirty; a copy of one is."""
    rng = np.random.default_rng(0)
    shared = rng.integers(0, 3, (80, 20))
    codes = np.where(
        rng.random((240, 20)) < 1 / 30, rng.integers(0, 3, (240, 20)), np.repeat(shared, 3, axis=0)
    )
    frame = pd.DataFrame(
        {
            "pert": np.repeat([f"P{i:03}" for i in range(240)], 20),
            "gene": np.tile([f"pathway {i:02}" for i in range(20)], 240),
            "label": np.array(["up", "down", "none"], dtype=object)[codes.ravel()],
        }
    )
    assert sum((codes[a] == codes[b]).all() for a in range(240) for b in range(a)) > 50
    assert renamed(frame) == []
    copy = frame[frame["gene"] == "pathway 07"].assign(gene="Zzz9")
    [finding] = renamed(pd.concat([frame, copy], ignore_index=True))
    assert finding.endswith(": Zzz9 = pathway 07")
