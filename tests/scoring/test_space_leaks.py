"""What is found in spaces: in which split, for which axis, equal vectors, and orders of names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.scoring.leak_power import leak_power
from core.scoring.space_leaks import SpaceCheck, check_space, describe_space
from core.transfer.row_index import RowIndex
from core.transfer.similarity import Space
from tests.scoring.planted_leaks import Design, Screen, label_shares, leaking_spaces, loaded_record, simulate

SCREEN = simulate(np.random.default_rng(0), Design(60, 200, 30))
GENES = np.random.default_rng(1).normal(size=(200, 16))


def checked(space: Space, screen: Screen = SCREEN, splits: np.ndarray | None = None, kind: str = "loaded") -> SpaceCheck:
    named = np.full(len(screen.labels), "train", dtype=object) if splits is None else splits
    return check_space(replace(loaded_record(), kind=kind), lambda: space, screen.index, named)


def test_planted_spaces_are_named_with_their_axis() -> None:
    for name, space in leaking_spaces(np.random.default_rng(2), SCREEN):
        found = checked(space)
        of_perts = name in ("shares of perturbations", "perturbation x gene")
        units = "perturbations" if of_perts else "target genes"
        assert found.findings, name
        assert all(finding.startswith(f"vectors of {units} have seen labels, ") for finding in found.findings), name
        missing = "target genes" if of_perts else "perturbations"
        assert describe_space(found).startswith("has seen labels of this screen or a similar one; ")
        assert f"{missing} DE, {missing} DIR" in describe_space(found)


def test_labels_of_one_split_are_found_there() -> None:
    """Shares in a third of the perturbations do not show among all rows."""
    splits = np.where(SCREEN.pert < 20, "test", "train").astype(object)
    in_test = splits == "test"
    test = replace(SCREEN, labels=SCREEN.labels[in_test], pert=SCREEN.pert[in_test], gene=SCREEN.gene[in_test])
    shares = np.zeros((200, 2))
    found = label_shares(test, test.gene)
    shares[: len(found)] = found
    [finding, *_] = checked(SCREEN.space(np.hstack([GENES, shares]), None), splits=splits).findings
    assert finding.startswith("vectors of target genes have seen labels of test, ")


def renamed_index() -> RowIndex:
    """The screen's rows with names that do not begin alike."""
    names = [f"{chr(97 + g % 26)}{chr(97 + g // 26)}x{g}" for g in range(200)]
    return RowIndex.build(
        [str(row) for row in range(len(SCREEN.labels))],
        [f"P{p:04}" for p in SCREEN.pert],
        [names[g] for g in SCREEN.gene],
        SCREEN.labels,
    )


def twins_of(vectors: np.ndarray, kind: str = "loaded", entries: np.ndarray | None = None) -> tuple[int, int]:
    """The number of pairs named, and of other symbols that share a vector; vectors: by the index's symbols of genes."""
    index = renamed_index()
    columns = np.full((len(index.symbols), 16), np.nan)
    genes = np.flatnonzero([not symbol.startswith("P") for symbol in index.symbols])
    columns[genes] = vectors[: len(genes)]
    splits = np.full(len(SCREEN.labels), "train", dtype=object)
    place = None if entries is None else np.where(np.isnan(columns[:, 0]), -1, 0)
    if place is not None:
        place[genes] = entries[: len(genes)]
    found = check_space(replace(loaded_record(), kind=kind), lambda: Space("space", columns, entries=place), index, splits)
    return len(found.twins), found.ties


def test_equal_vectors_of_a_loaded_space_are_renamed_duplicates() -> None:
    vectors = GENES.copy()
    vectors[100] = vectors[0]
    assert twins_of(vectors) == (1, 0)
    assert twins_of(vectors, kind="network") == (0, 2)  # what was built here gives genes of equal partners one vector
    vectors[100] = 2 * vectors[0]
    assert twins_of(vectors) == (0, 2)
    vectors[100:160] = vectors[:60]  # where many share a vector, it is how the space is made
    assert twins_of(vectors)[0] == 0


def test_two_symbols_that_were_matched_to_one_vector_are_no_duplicates() -> None:
    vectors, entries = GENES.copy(), np.arange(200)
    vectors[100], entries[100] = vectors[0], entries[0]
    assert twins_of(vectors, entries=entries) == (0, 0)


def test_a_copy_of_rows_with_the_same_direction_is_a_duplicate_in_any_space() -> None:
    rows = np.flatnonzero(SCREEN.gene == 0)
    copied = Screen(
        np.concatenate([SCREEN.labels, SCREEN.labels[rows]]),
        np.concatenate([SCREEN.pert, SCREEN.pert[rows]]),
        np.concatenate([SCREEN.gene, np.full(len(rows), 200)]),
        SCREEN.of_pert,
        np.vstack([SCREEN.of_gene, SCREEN.of_gene[:1]]),
    )
    found = checked(copied.space(np.vstack([GENES, 2 * GENES[:1]]), None), copied, kind="text")
    assert found.findings == ["renamed duplicates: two names have one vector: G0000 = G0200"]


@pytest.mark.parametrize(("of", "name"), [(np.arange(200.0), "alphabetical order"), (None, "order in the file")])
def test_an_order_of_names_is_named(of: np.ndarray | None, name: str) -> None:
    shuffled = np.random.default_rng(3).permutation(len(SCREEN.labels))
    screen = Screen(SCREEN.labels[shuffled], SCREEN.pert[shuffled], SCREEN.gene[shuffled], SCREEN.of_pert, SCREEN.of_gene)
    first = np.full(200, len(shuffled))
    np.minimum.at(first, screen.gene, np.arange(len(shuffled)))
    vectors = np.hstack([GENES, (first.astype(float) if of is None else of)[:, None] ** 2])
    assert checked(screen.space(vectors, None), screen).findings == [f"column 17 is the {name} of target genes"]


@pytest.mark.soak
def test_the_power_is_that_of_planted_leaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.scoring.leak_power.NOISES", (0.25,))
    power = {(line.axis, line.task): line for line in leak_power(SCREEN.index)}
    assert set(power) == {("gene", "DE"), ("gene", "DIR"), ("pert", "DE"), ("pert", "DIR")}
    assert power["gene", "DIR"].columns == 60
    assert power["gene", "DIR"].matrix == 0.25
    assert power["gene", "DIR"].what.startswith("DIR of target genes: label shares found ")
    assert power["gene", "DIR"].turned == 0.25
    assert "would not be found" in replace(power["gene", "DE"], shares=float("nan")).what
    assert "found only without noise" in replace(power["gene", "DE"], matrix=0.0).what
    assert leak_power(RowIndex.build(["a_b"], ["a"], ["b"], [None])) == ()
