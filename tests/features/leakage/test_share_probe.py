"""The noise ceiling: what predicts label shares better than is possible without having seen these labels."""

from __future__ import annotations

import numpy as np
import pytest

from core.features.leakage import share_probe
from core.features.leakage.share_probe import NOT_PROBED, ShareProbe, probe_shares
from core.features.leakage.unit_rows import UnitRows
from core.stats.arrays import Floats

N_UNITS, N_OTHERS, ROWS = 200, 60, 10


def screen(seed: int = 0) -> tuple[UnitRows, Floats]:
    """Rows of units that differ in their rates, and these rates."""
    rng = np.random.default_rng(seed)
    rate = rng.beta(2, 2, N_UNITS)
    other = np.concatenate([rng.choice(N_OTHERS, ROWS, replace=False) for _ in range(N_UNITS)])
    unit = np.repeat(np.arange(N_UNITS), ROWS)
    return UnitRows(rng.random(len(unit)) < rate[unit], unit, other), rate


def shares(rows: UnitRows) -> Floats:
    return rows.shares(np.ones(len(rows), dtype=np.bool_), N_UNITS)[0]


def among_noise(column: Floats, n_columns: int = 20) -> Floats:
    vectors = np.random.default_rng(9).normal(size=(N_UNITS, n_columns))
    vectors[:, n_columns // 2] = column
    return vectors


def unit_vectors() -> Floats:
    vectors = np.random.default_rng(8).normal(size=(N_UNITS, 20))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def probed(rows: UnitRows, vectors: Floats) -> ShareProbe:
    return probe_shares(rows, vectors, np.random.default_rng(0))


@pytest.mark.parametrize(
    "encode",
    [
        pytest.param(among_noise, id="a column"),
        pytest.param(lambda share: among_noise(share, 300), id="one of more columns than units"),
        pytest.param(lambda share: among_noise(-1000 * share), id="on another scale"),
        pytest.param(
            lambda share: np.stack([np.cos(6 * share), np.sin(6 * share)], axis=1), id="as an angle"
        ),
        pytest.param(
            lambda share: among_noise(np.abs(share - 0.5)) + among_noise(share), id="bent and mixed"
        ),
        pytest.param(
            lambda share: (
                among_noise(share, 120) @ np.random.default_rng(1).normal(size=(120, 120))
            ),
            id="turned into 120",
        ),
        pytest.param(lambda share: unit_vectors() * (0.2 + share[:, None]), id="as a length"),
        pytest.param(
            lambda share: among_noise(share) @ np.random.default_rng(1).normal(size=(20, 20)),
            id="turned",
        ),
    ],
)
def test_vectors_made_from_shares_have_seen_the_labels(encode) -> None:  # type: ignore[no-untyped-def]
    rows, _ = screen()
    found = probed(rows, encode(shares(rows)))
    assert found.has_seen_labels
    assert found.correlation > found.ceiling


@pytest.mark.parametrize("seed", range(5))
def test_the_true_rates_have_not(seed: int) -> None:
    """Nothing that has not seen labels can be better than the truth, whose correlation is the ceiling."""
    rows, rate = screen(seed)
    found = probed(rows, among_noise(rate))
    assert not found.has_seen_labels
    assert found.correlation == pytest.approx(found.ceiling, abs=0.1)


@pytest.mark.parametrize("columns", [30, 120])
def test_noise_has_not(columns: int) -> None:
    rows, rate = screen()
    noise = np.random.default_rng(3).normal(size=(N_UNITS, columns))
    found = probed(rows, noise)
    assert not found.has_seen_labels
    assert abs(found.correlation) < 0.5
    noise[:, 0] = rate - rate.mean()
    assert not probed(
        rows, noise @ np.random.default_rng(1).normal(size=(columns, columns))
    ).has_seen_labels


def fixed_by_sampling(seed: int = 0) -> UnitRows:
    """Every unit has four rows, and one, two or three of them are positive, whatever it is."""
    rng = np.random.default_rng(seed)
    positive = np.concatenate(
        [rng.permutation(4) < rng.choice([1, 2, 2, 2, 3]) for _ in range(N_UNITS)]
    )
    return UnitRows(
        positive, np.repeat(np.arange(N_UNITS), 4), rng.integers(0, N_OTHERS, 4 * N_UNITS)
    )


def test_shares_that_sampling_fixed_have_no_ceiling() -> None:
    rows = fixed_by_sampling()
    leak = probed(rows, among_noise(shares(rows)))
    assert leak.fixed
    assert leak.has_seen_labels
    for columns in (20, 400):
        honest = probed(rows, np.random.default_rng(3).normal(size=(N_UNITS, columns)))
        assert honest.fixed
        assert not honest.has_seen_labels


def test_shares_that_sampling_fixed_by_the_number_of_rows_are_compared_among_units_of_as_many() -> (
    None
):
    """The number of rows explains most of the shares, as in the challenge; what is left of them is in the vectors."""
    rng, n_rows = np.random.default_rng(0), np.arange(N_UNITS) // 25 + 4
    hits = np.where(n_rows < 8, 1, n_rows - 2) + rng.integers(0, 2, N_UNITS)
    positive = np.concatenate([rng.permutation(n) < k for n, k in zip(n_rows, hits, strict=True)])
    rows = UnitRows(
        positive,
        np.repeat(np.arange(N_UNITS), n_rows),
        np.concatenate([rng.permutation(12)[:n] for n in n_rows]),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(share_probe._Shares, "reliability", 0.0)
        assert probed(rows, among_noise(shares(rows))).correlation > 0.9
        assert abs(probed(rows, among_noise(n_rows.astype(np.float64))).correlation) < 0.3
        many = np.random.default_rng(3).normal(
            size=(N_UNITS, 400)
        )  # by which a unit could be told from its group's others
        assert abs(probed(rows, many).correlation) < 0.3


def test_shares_of_as_few_units_as_a_dataset_has_gene_sets() -> None:
    rng, rate = np.random.default_rng(0), np.linspace(0.1, 0.9, 20)
    unit, other = (
        axis.ravel() for axis in np.meshgrid(np.arange(20), np.arange(300), indexing="ij")
    )
    rows = UnitRows(rng.random(len(unit)) < rate[unit], unit, other)
    share, noise = rows.shares(np.ones(len(rows), dtype=np.bool_), 20)[0], rng.normal(size=(20, 30))
    assert probed(rows, np.column_stack([share, noise])).has_seen_labels
    assert not probed(rows, np.column_stack([rate, noise])).has_seen_labels


def test_a_ridge_leaves_each_unit_out() -> None:
    """Against a refit without the unit, its columns centred anew."""
    rng = np.random.default_rng(0)
    columns, target = rng.normal(size=(30, 6)), rng.normal(size=30)
    columns -= columns.mean(axis=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(share_probe, "_PENALTIES", (1.0,))
        found = share_probe._ridge(columns, target[:, None])[:, 0]
    penalty = np.linalg.eigvalsh(columns.T @ columns).sum() / 30
    for i in range(30):
        known = np.arange(30) != i
        middle = columns[known].mean(axis=0)
        x, y = columns[known] - middle, target[known] - target[known].mean()
        weights = np.linalg.solve(x.T @ x + penalty * np.eye(6), x.T @ y)
        by_hand = (columns[i] - middle) @ weights + target[known].mean() - target.mean()
        assert found[i] == pytest.approx(by_hand, abs=1e-9)


def test_few_units_and_constant_vectors_are_not_probed() -> None:
    rows, rate = screen()
    assert probed(rows.take(rows.unit < 14), among_noise(rate)) == NOT_PROBED
    assert probed(rows, np.full((N_UNITS, 2), np.nan)) == NOT_PROBED
    assert probed(rows, np.ones((N_UNITS, 2))) == NOT_PROBED
    assert not NOT_PROBED.has_seen_labels
