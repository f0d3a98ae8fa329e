"""kNN as a method: what a row's prediction and trace say, against every row compared with every other."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from core.base.types import Flag, RowResult
from core.methods.knn import MOST_NEIGHBOURS, build_prediction, build_results
from core.transfer.knn import Weighting, knn_priors
from core.transfer.knn_settings import KnnSettings
from core.transfer.protocols import (
    EvaluationProtocol,
    KnnPrediction,
    QueryGroup,
    SimilaritySettings,
)
from core.transfer.row_index import RowIndex, rows_of
from tests.transfer.oracles import World, oracle, row_weights, some_space, worlds

NAN = float("nan")
LINE = re.compile(
    r"(.+): similarity ([\d.]+), ([\d.]+)% of the weight; (\d+) up, (\d+) down, (?:(\d+) changed, )?(\d+) none"
)


@pytest.mark.parametrize(
    ("priors", "stand_ins", "numbers", "flags"),
    [
        ((0.5, 0.25), (0.4, 0.7), (0.125, 0.375, 0.5, 0.25), ()),
        ((1.0, 1.0), (0.4, 0.7), (1.0, 0.0, 1.0, 1.0), ()),
        ((NAN, NAN), (0.5, 0.75), (0.375, 0.125, 0.5, 0.75), (Flag.UNCOVERED,)),
        (
            (NAN, NAN),
            (0.0, 0.75),
            (0.0, 0.0, 0.0, None),
            (Flag.UNCOVERED,),
        ),  # nothing that it may see has an effect
        ((0.25, NAN), (0.5, 0.75), (0.1875, 0.0625, 0.25, 0.75), (Flag.UNCOVERED_DIR,)),
        (
            (0.0, NAN),
            (0.4, 0.7),
            (0.0, 0.0, 0.0, None),
            (),
        ),  # no effect: there is no direction to know
        ((0.0, 0.5), (0.4, 0.7), (0.0, 0.0, 0.0, None), ()),
    ],
)
def test_priors_as_a_prediction(
    priors: tuple[float, float],
    stand_ins: tuple[float, float],
    numbers: tuple[float | None, ...],
    flags: tuple[Flag, ...],
) -> None:
    found = build_prediction("a_b", priors, stand_ins)
    assert (found.prediction_up, found.prediction_down, found.p_de, found.p_up_given_de) == numbers
    assert (found.pair_id, found.flags, found.p_source) == ("a_b", flags, "trace")
    assert (found.tokens, found.prompt_tokens, found.tool_calls) == (0, 0, 0)


def index_of(world: World) -> RowIndex:
    """The world's symbols are called s0, s1, …, and its rows r0, r1, …"""
    names = [f"s{code}" for code in range(len(world.spaces[0].columns))]
    pert, gene = ([names[code] for code in axis] for axis in (world.rows.pert, world.rows.gene))
    found = RowIndex.build([f"r{i}" for i in range(len(pert))], pert, gene, world.labels)
    # Codes of the index are those of the world, of which some symbols may be in no row.
    return replace(found, symbols=tuple(names), rows=world.rows)


def run_on(world: World, strength: float = 0.0) -> list[RowResult]:
    everyone = np.arange(len(world.rows))
    found = knn_priors(world.rows, world.known, world.similar, world.weighting, world.parts)
    view = QueryGroup(
        everyone, world.known, np.arange(len(world.known)), world.similar, world.parts
    )
    settings = KnnSettings(
        ("near",), EvaluationProtocol("loo"), SimilaritySettings(world.weighting, strength=strength)
    )
    return build_results(
        index_of(world), everyone, KnnPrediction(found, found, None, (view,)), settings
    )


def subject(world: World, row: int) -> str:
    pert, gene = f"s{world.rows.pert[row]}", f"s{world.rows.gene[row]}"
    return {"gene": gene, "pert": pert, "both": f"{pert} ⟶ {gene}"}[world.weighting.axis]


@given(worlds())
def test_every_row_has_one_event_that_names_its_heaviest_neighbours(world: World) -> None:
    de, up, support = oracle(world)
    weights = row_weights(world, world.weighting.powers[0])
    rows = run_on(world)
    assert [row.prediction.pair_id for row in rows] == [f"r{i}" for i in range(len(world.rows))]
    for i, row in enumerate(rows):
        [event] = row.events
        assert (event.stage, event.role, event.kind, event.tokens) == (
            "knn",
            "NEIGHBOURS",
            "neighbours",
            0,
        )
        kept = [
            event.meta[name] if event.meta[name] is not None else NAN
            for name in ("prior_de", "prior_up", "support")
        ]
        assert kept == pytest.approx([de[i], up[i], support[i]], abs=1e-9, nan_ok=True)
        if not weights[i].any():
            assert event.content.startswith(
                f"No labelled row is similar to {subject(world, i)} (near · "
            )
            assert row.prediction.flags == (Flag.UNCOVERED,)
            continue
        head, title, *lines = event.content.splitlines()
        assert head.startswith(
            f"{np.count_nonzero(weights[i]):,} labelled rows are similar to {subject(world, i)} (near · "
        )
        assert float(head.partition("total weight ")[2].rstrip(".")) == pytest.approx(
            support[i], rel=1e-3
        )
        assert title == "The heaviest:"
        if row.prediction.flags == (Flag.UNCOVERED_DIR,):
            assert lines.pop().startswith(
                "None has a direction: the base rate of the labelled rows that it may see stands in"
            )
        _check_named(world, weights[i], [LINE.fullmatch(line) for line in lines])


def _check_named(world: World, weights: np.ndarray, lines: list[re.Match[str] | None]) -> None:
    """Shares fall, and each name has the share, the similarity and the labels of its rows that the row may see."""
    expected = _by_name(world, weights)
    top = sorted((share for share, *_ in expected.values()), reverse=True)[:MOST_NEIGHBOURS]
    assert len(lines) == len(top)
    for line, share in zip(lines, top, strict=True):
        assert float(line[3]) == pytest.approx(100 * share, abs=0.051)
        if world.weighting.axis == "both":  # repeated rows of a pair stand there one by one
            continue
        own, similarity, *counts = expected[line[1]]
        assert float(line[3]) == pytest.approx(100 * own, abs=0.051)
        assert float(line[2]) == pytest.approx(similarity, abs=0.00051)
        assert [int(line[i] or 0) for i in (4, 5, 6, 7)] == counts


def _by_name(world: World, weights: np.ndarray) -> dict[str, list[float]]:
    """Name → share, similarity, and rows that are up, down, changed, none; for both axes every row is a name of its own."""
    axis = world.weighting.axis
    found = {}
    for j in np.flatnonzero(weights):
        name = f"row {j}" if axis == "both" else f"s{getattr(world.rows, axis)[j]}"
        entry = found.setdefault(
            name, [0.0, weights[j] ** (1 / world.weighting.powers[0]), 0, 0, 0, 0]
        )
        entry[0] += weights[j] / weights.sum()
        entry[2 + ["up", "down", "de", "none"].index(str(world.labels[j]))] += 1
    return found


def test_support_that_draws_to_a_half_is_told() -> None:
    rng = np.random.default_rng(0)
    labels = np.array(["up", "none", "down", "none"], dtype=object)
    world = World(
        rows_of([0, 1, 2, 3], [0, 1, 2, 3]),
        labels,
        (some_space(rng, 4, 2),),
        None,
        Weighting(de_power=1.0),
    )
    texts = [
        row.events[0].content
        for row in run_on(world, strength=0.5)
        if "The heaviest" in row.events[0].content
    ]
    assert texts
    assert all("power 2 (DE 1) · support strength 0.5" in text for text in texts)
    assert all(
        "An effect's prior is drawn to a half by support, strength 0.5." in text for text in texts
    )
