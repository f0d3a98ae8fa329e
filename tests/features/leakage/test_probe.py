"""The probe: the noise ceiling of label shares, rows within units against loops, and scores of rows, whole and in part."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.features.leakage import probe
from core.features.leakage.probe import (
    NOT_PROBED,
    LabelledRows,
    ShareProbe,
    column_scores,
    describe_power,
    labelled_rows,
    place_scores,
    probe_score,
    probe_shares,
    probe_within,
)
from core.stats.arrays import Codes, Floats
from core.transfer.row_index import RowIndex
from tests.features.leakage.planted_leaks import (
    Design,
    Screen,
    checked_run,
    honest_runs,
    leaking_runs,
    simulate,
)

N_UNITS, N_OTHERS, ROWS = 200, 60, 10


def as_rows(positive: np.ndarray, unit: Codes, other: Codes) -> LabelledRows:
    return LabelledRows(positive, unit, other, np.arange(len(positive)))


def screen_of_rates(seed: int = 0) -> tuple[LabelledRows, Floats]:
    """Rows of units that differ in their rates, and these rates."""
    rng = np.random.default_rng(seed)
    rate = rng.beta(2, 2, N_UNITS)
    other = np.concatenate([rng.choice(N_OTHERS, ROWS, replace=False) for _ in range(N_UNITS)])
    unit = np.repeat(np.arange(N_UNITS), ROWS)
    return as_rows(rng.random(len(unit)) < rate[unit], unit, other), rate


def among_noise(column: Floats, n_columns: int = 20) -> Floats:
    vectors = np.random.default_rng(9).normal(size=(N_UNITS, n_columns))
    vectors[:, n_columns // 2] = column
    return vectors


def turned(vectors: Floats) -> Floats:
    return vectors @ np.random.default_rng(1).normal(size=(vectors.shape[1],) * 2)


def unit_vectors() -> Floats:
    vectors = np.random.default_rng(8).normal(size=(N_UNITS, 20))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def shares_probed(rows: LabelledRows, vectors: Floats) -> ShareProbe:
    return probe_shares(rows, vectors, np.random.default_rng(0))


@pytest.mark.parametrize(
    "encode",
    [
        pytest.param(among_noise, id="a column"),
        pytest.param(lambda share: among_noise(share, 300), id="one of more columns than units"),
        pytest.param(lambda share: among_noise(-1000 * share), id="on another scale"),
        pytest.param(lambda share: np.stack([np.cos(6 * share), np.sin(6 * share)], 1), id="angle"),
        pytest.param(
            lambda share: among_noise(np.abs(share - 0.5)) + among_noise(share), id="bent and mixed"
        ),
        pytest.param(lambda share: turned(among_noise(share, 120)), id="turned into 120"),
        pytest.param(lambda share: unit_vectors() * (0.2 + share[:, None]), id="as a length"),
        pytest.param(lambda share: turned(among_noise(share)), id="turned"),
    ],
)
def test_values_made_from_shares_have_seen_the_labels(encode) -> None:  # type: ignore[no-untyped-def]
    rows, _ = screen_of_rates()
    found = shares_probed(rows, encode(rows.shares(N_UNITS)[0]))
    assert found.has_seen_labels
    assert found.correlation > found.ceiling


@pytest.mark.parametrize("seed", range(5))
def test_the_true_rates_have_not(seed: int) -> None:
    """Nothing that has not seen labels can be better than the truth, whose correlation is the ceiling."""
    rows, rate = screen_of_rates(seed)
    for vectors in (among_noise(rate), turned(among_noise(rate - rate.mean(), 120))):
        found = shares_probed(rows, vectors)
        assert not found.has_seen_labels
    found = shares_probed(rows, among_noise(rate, 2))
    assert found.correlation == pytest.approx(found.ceiling, abs=0.1)


@pytest.mark.parametrize("columns", [30, 120])
def test_noise_has_not(columns: int) -> None:
    rows, _ = screen_of_rates()
    found = shares_probed(rows, np.random.default_rng(3).normal(size=(N_UNITS, columns)))
    assert not found.has_seen_labels
    assert abs(found.correlation) < 0.5


def test_shares_that_sampling_fixed_have_no_ceiling() -> None:
    """Every unit has four rows, and one, two or three of them are positive, whatever it is."""
    rng = np.random.default_rng(0)
    hits = [rng.permutation(4) < rng.choice([1, 2, 2, 2, 3]) for _ in range(N_UNITS)]
    unit = np.repeat(np.arange(N_UNITS), 4)
    rows = as_rows(np.concatenate(hits), unit, rng.integers(0, N_OTHERS, 4 * N_UNITS))
    leak = shares_probed(rows, among_noise(rows.shares(N_UNITS)[0]))
    assert leak.fixed
    assert leak.has_seen_labels
    for columns in (20, 400):
        honest = shares_probed(rows, np.random.default_rng(3).normal(size=(N_UNITS, columns)))
        assert honest.fixed
        assert not honest.has_seen_labels


def test_what_the_number_of_rows_says_is_no_leak() -> None:
    """The number of rows explains most of the shares, as in the challenge; the vectors may know what is left."""
    rng, n_rows = np.random.default_rng(0), np.arange(N_UNITS) // 25 + 4
    hits = np.where(n_rows < 8, 1, n_rows - 2) + rng.integers(0, 2, N_UNITS)
    positive = np.concatenate([rng.permutation(n) < k for n, k in zip(n_rows, hits, strict=True)])
    other = np.concatenate([rng.permutation(12)[:n] for n in n_rows])
    rows = as_rows(positive, np.repeat(np.arange(N_UNITS), n_rows), other)
    assert shares_probed(rows, among_noise(rows.shares(N_UNITS)[0])).has_seen_labels
    assert not shares_probed(rows, among_noise(n_rows.astype(np.float64))).has_seen_labels
    # columns by which a unit could be told from its group's others
    many = np.random.default_rng(3).normal(size=(N_UNITS, 400))
    assert not shares_probed(rows, many).has_seen_labels


def test_shares_of_as_few_units_as_a_dataset_has_gene_sets() -> None:
    rng, rate = np.random.default_rng(0), np.linspace(0.1, 0.9, 20)
    unit, other = (
        axis.ravel() for axis in np.meshgrid(np.arange(20), np.arange(300), indexing="ij")
    )
    rows = as_rows(rng.random(len(unit)) < rate[unit], unit, other)
    noise = rng.normal(size=(20, 30))
    assert not shares_probed(rows, np.column_stack([rate, noise])).has_seen_labels


def test_a_ridge_leaves_each_unit_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a refit without the unit, its columns centred anew."""
    rng = np.random.default_rng(0)
    columns, target = rng.normal(size=(30, 6)), rng.normal(size=30)
    columns -= columns.mean(axis=0)
    monkeypatch.setattr(probe, "_PENALTIES", (1.0,))
    found = probe._ridge(columns, target)
    penalty = np.linalg.eigvalsh(columns.T @ columns).sum() / 30
    for i in range(30):
        known = np.arange(30) != i
        middle = columns[known].mean(axis=0)
        x, y = columns[known] - middle, target[known] - target[known].mean()
        weights = np.linalg.solve(x.T @ x + penalty * np.eye(6), x.T @ y)
        by_hand = (columns[i] - middle) @ weights + target[known].mean() - target.mean()
        assert found[i] == pytest.approx(by_hand, abs=1e-9)


def test_few_units_and_constant_values_are_not_probed() -> None:
    rows, rate = screen_of_rates()
    assert shares_probed(rows.take(rows.unit < 14), among_noise(rate)) == NOT_PROBED
    assert shares_probed(rows, np.full((N_UNITS, 2), np.nan)) == NOT_PROBED
    assert shares_probed(rows, np.ones((N_UNITS, 2))) == NOT_PROBED
    assert not NOT_PROBED.has_seen_labels


def test_contrasts_by_hand() -> None:
    # one perturbation; the vectors of genes 0 and 1 are equal, that of gene 2 is at a right angle; 0 and 2 are positive
    vectors = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    rows = as_rows(np.array([True, False, True]), np.arange(3), np.zeros(3, dtype=int))
    # row 0: cosine 0 to row 2, 1 to row 1. Row 1: mean of 1 and 0, but no other negative row. Row 2: 0 and 0
    found = probe._contrasts(rows, vectors)
    assert found[[0, 2]].tolist() == [-1.0, 0.0]
    assert math.isnan(found[1])


@given(st.integers(1, 40), st.floats(0.1, 0.9), st.integers(0, 2**31))
def test_contrasts_equal_those_of_a_loop(n: int, share: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = probe._of_length_1(rng.normal(size=(8, 3)))
    rows = as_rows(rng.random(n) < share, rng.integers(0, 8, n), rng.integers(0, 5, n))
    expected = np.full(n, np.nan)
    for i in range(n):
        cosines = {True: [], False: []}
        for j in range(n):
            if j != i and rows.other[j] == rows.other[i]:
                cosine = float(vectors[rows.unit[i]] @ vectors[rows.unit[j]])
                cosines[bool(rows.positive[j])].append(cosine)
        if cosines[True] and cosines[False]:
            expected[i] = np.mean(cosines[True]) - np.mean(cosines[False])
    np.testing.assert_allclose(probe._contrasts(rows, vectors), expected, atol=1e-12)


def columns_by_loop(positive: np.ndarray, columns: Floats) -> Floats:
    """Scores of one group: of each row, from the column that correlates most with the labels of the others."""
    label, n = positive.astype(float), len(positive)
    scores = np.empty(n)
    for i in range(n):
        others = np.arange(n) != i
        correlations = [np.corrcoef(column[others], label[others])[0, 1] for column in columns.T]
        best = int(np.abs(correlations).argmax())
        of_others = columns[others, best]
        scores[i] = (
            np.sign(correlations[best]) * (columns[i, best] - of_others.mean()) / of_others.std()
        )
    return scores - scores.mean()


def test_columns_equal_those_of_a_loop() -> None:
    rng = np.random.default_rng(2)
    positive, columns = np.arange(12) % 3 == 0, rng.normal(size=(12, 5))
    columns[:, 3] += 2 * positive
    group, order = np.zeros(12, dtype=int), np.arange(12)
    found = column_scores(positive, group, order, columns)
    np.testing.assert_allclose(found, columns_by_loop(positive, columns), atol=1e-9)
    # a group of seven rows, and one with a single positive row, say too little
    assert np.isnan(column_scores(positive[:7], group[:7], order[:7], columns)).all()
    assert np.isnan(column_scores(order == 0, group, order, columns)).all()


def made_rows() -> LabelledRows:
    """40 perturbations of genes among 120; units are genes."""
    rng = np.random.default_rng(3)
    pert, gene = np.array([(p, g) for p in range(40) for g in rng.choice(120, 20, replace=False)]).T
    return as_rows(rng.random(len(pert)) < 0.6, gene, pert)


MADE = made_rows()


def label_matrix(noise: float = 0.0) -> Floats:
    """Genes × perturbations: 1 for up, -1 for down."""
    matrix = noise * np.random.default_rng(1).normal(size=(120, 40))
    matrix[MADE.unit, MADE.other] += np.where(MADE.positive, 1.0, -1.0)
    return matrix


def within(rows: LabelledRows, vectors: Floats) -> list[probe.ScoreProbe]:
    return probe_within("DIR", rows, vectors, np.random.default_rng(0))


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_a_matrix_of_labels_has_seen_them(noise: float) -> None:
    similarity, column = within(MADE, label_matrix(noise))
    assert (similarity.what, column.what) == ("similarity", "column")
    assert (similarity.tail, column.tail) == ("labels", "labels")
    assert min(similarity.same, column.same) > 0.8


@pytest.mark.parametrize(
    "vectors", [np.random.default_rng(4).normal(size=(120, 16)), np.tile([[0.6, 0.8]], (120, 1))]
)
def test_noise_and_equal_vectors_have_not(vectors: Floats) -> None:
    found = within(MADE, vectors)
    assert abs(found[0].auroc - 0.5) < 0.06
    assert not any(each.tail for each in found)


def test_a_space_that_knows_which_genes_always_respond_has_not() -> None:
    """Genes differ in how often they respond, and the space has the responsive ones together, as a network does."""
    rng = np.random.default_rng(5)
    rate = rng.choice([0.02, 0.6], 150, p=[0.8, 0.2])
    pert, gene = (
        axis.ravel() for axis in np.meshgrid(np.arange(80), np.arange(150), indexing="ij")
    )
    vectors = np.stack([rate > 0.1, rate < 0.1], axis=1) + rng.normal(scale=0.3, size=(150, 2))
    found = within(as_rows(rng.random(len(gene)) < rate[gene], gene, pert), vectors)
    assert found[0].auroc > 0.75
    assert not any(each.tail for each in found)


def test_units_without_a_vector_do_not_count() -> None:
    vectors = label_matrix()
    vectors[::3] = np.nan
    some = within(MADE, vectors)
    assert some == within(MADE.take(MADE.unit % 3 > 0), vectors)
    assert some[0].n < len(MADE)
    assert within(MADE, np.full((120, 3), np.nan)) == []


SCREENS = [
    pytest.param(simulate(np.random.default_rng(1), design), id=name)
    for name, design in (
        ("drawn at random", Design(100, 200, 25)),
        ("matched", Design(60, 200, 40, matched=True)),
    )
]


@pytest.mark.parametrize("screen", SCREENS)
def test_oracles_are_found_and_means_of_other_labels_are_not(screen: Screen) -> None:
    """Noisy ones, inverted ones, and those of a part of the rows."""
    rng = np.random.default_rng(0)
    for name, scores in leaking_runs(rng, screen):
        tail = "inverted labels" if name == "inverted labels" else "labels"
        assert set(checked_run(screen, scores).values()) == {tail}, name
    for name, scores in honest_runs(rng, screen):
        assert checked_run(screen, scores) == {}, name


def test_labels_of_some_rows_are_found_at_either_end() -> None:
    rng = np.random.default_rng(2)
    rows = labelled_rows(simulate(rng, Design(100, 300, 40)).index, "DE")
    known = rng.random(len(rows)) < 0.2
    values = np.where(known, 2.0 * rows.positive - 0.5 + 0.1 * rng.random(len(rows)), 0.0)
    values += rng.random(len(values))
    for sign, tail in ((1, "labels"), (-1, "inverted labels")):
        found = probe_score("run", rows, sign * values)
        assert (found.tail, found.part) == (tail, "at both ends of the ranking")


def test_a_share_that_counts_the_row_itself_has_seen_its_label() -> None:
    rows = labelled_rows(simulate(np.random.default_rng(3), Design(60, 400, 25)).index, "DE")
    share = rows.shares(int(rows.unit.max()) + 1)[0][rows.unit]
    found = probe_score("run", rows, share)
    # of two genes with equal rates in the other rows, the positive row's has the larger share
    assert found.tail == "labels"


def test_few_rows_accuse_nobody() -> None:
    few = as_rows(np.array([True, True, False, False]), np.arange(4), np.arange(4))
    assert probe_score("run", few, -np.arange(4.0)).tail == ""
    nothing = probe_score("run", few, np.full(4, np.nan))
    assert (nothing.n, nothing.tail) == (0, "")


def test_the_place_of_a_row_says_nothing_at_random() -> None:
    rows = labelled_rows(simulate(np.random.default_rng(3), Design(60, 400, 25)).index, "DE")
    scores = place_scores(rows)
    assert len(scores) == 4
    assert not any(probe_score(what, rows, values).tail for what, values in scores.items())
    assert place_scores(rows.take(np.arange(20))) == {}


@pytest.mark.soak
def test_the_power_is_that_of_planted_leaks() -> None:
    screen = simulate(np.random.default_rng(0), Design(60, 200, 30))
    power = list(describe_power(screen.index))
    assert len(power) == 10  # shares and a matrix for both axes and questions, and two runs
    assert all("found with" in line for line in power if "matrix" in line)
    assert list(describe_power(RowIndex.build(["a_b"], ["a"], ["b"], [None]))) == []
