from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError
from core.transfer.knn import Similarities, Weighting, knn_priors
from core.transfer.prior_provenance import Provenance, explain_prior, heaviest_symbols
from core.transfer.row_index import knowledge_of, rows_of
from tests.transfer.oracles import World, row_weights, worlds


def explained(world: World, i: int, without: np.ndarray | None = None) -> Provenance:
    row = int(world.rows.pert[i]), int(world.rows.gene[i])
    return explain_prior(row, world.known, world.similar, world.weighting, world.parts, without)


@given(worlds(), st.data())
def test_shares_sum_to_one_and_to_the_priors(world: World, data: st.DataObject) -> None:
    i = data.draw(st.integers(0, len(world.rows) - 1))
    found, prior = (
        explained(world, i),
        knn_priors(world.rows, world.known, world.similar, world.weighting, world.parts),
    )
    assert (found.prior_de, found.prior_up) == pytest.approx(
        (prior.de[i], prior.up[i]), abs=1e-9, nan_ok=True
    )
    flags = world.known.flags[found.neighbours]
    for share, mean, label in ((found.share, prior.de[i], 1), (found.share_up, prior.up[i], 3)):
        if not np.isnan(mean):
            assert share.sum() == pytest.approx(1, abs=1e-9)
            assert share @ flags[:, label] == pytest.approx(mean, abs=1e-9)


@given(worlds(), st.data())
def test_every_row_with_a_weight_is_named(world: World, data: st.DataObject) -> None:
    i = data.draw(st.integers(0, len(world.rows) - 1))
    found = explained(world, i)
    labelled = np.flatnonzero([label is not None for label in world.labels])
    expected = row_weights(world, world.weighting.powers[0])[i, labelled]
    given_weights = np.zeros(len(labelled))
    given_weights[found.neighbours] = found.weight
    np.testing.assert_allclose(given_weights, expected, atol=1e-9)
    assert (np.diff(found.similarity) <= 0).all()


@given(worlds(), st.data())
def test_without_some_neighbours_as_if_they_had_never_been_there(
    world: World, data: st.DataObject
) -> None:
    i = data.draw(st.integers(0, len(world.rows) - 1))
    neighbours = explained(world, i).neighbours
    if not len(neighbours):
        return
    out = np.array(
        data.draw(st.lists(st.sampled_from(neighbours.tolist()), min_size=1, unique=True))
    )
    found = explained(world, i, out)
    left = np.delete(np.arange(len(world.known)), out)
    again = knn_priors(
        world.rows, world.known.take(left), world.similar, world.weighting, world.parts
    )
    assert (found.prior_de, found.prior_up) == pytest.approx(
        (again.de[i], again.up[i]), abs=1e-9, nan_ok=True
    )


def test_an_axis_without_a_similarity_is_refused() -> None:
    known = knowledge_of(["up"], rows_of([0], [0]))
    with pytest.raises(InputError, match="none for the pert axis"):
        explain_prior((0, 0), known, Similarities(), Weighting(axis="pert"))


@given(worlds(), st.data())
def test_the_heaviest_symbols_are_those_that_every_row_explained_by_itself_adds_up_to(
    world: World, data: st.DataObject
) -> None:
    axis = world.weighting.axis
    if axis == "both":
        with pytest.raises(InputError, match="got the axis both"):
            heaviest_symbols(
                world.rows, world.known, world.similar, world.weighting, world.parts, 3
            )
        return
    i = data.draw(st.integers(0, len(world.rows) - 1))
    found = heaviest_symbols(
        world.rows, world.known, world.similar, world.weighting, world.parts, 3
    )
    assert len(found) == len(world.rows)
    why, mine = explained(world, i), found[i]
    symbols = getattr(world.known.rows, axis)[why.neighbours]
    shares = np.bincount(symbols, why.share, minlength=1)
    assert mine.n_rows == len(why.neighbours)
    np.testing.assert_allclose(mine.share, np.sort(shares[shares > 0])[::-1][:3], atol=1e-9)
    for code, share, similarity, counts in zip(
        mine.symbols, mine.share, mine.similarity, mine.counts, strict=True
    ):
        own = symbols == code
        assert share == pytest.approx(shares[code], abs=1e-9)
        np.testing.assert_allclose(why.similarity[own], similarity, rtol=1e-6)
        np.testing.assert_array_equal(world.known.flags[why.neighbours[own]].sum(axis=0), counts)
