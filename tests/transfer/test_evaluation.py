from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from core.base.types import Flag
from core.methods.knn import build_prediction
from core.stats.official_score import score_with_intervals
from core.stats.scores_and_labels import ranked_scores
from core.transfer.knn import Similarities, Weighting, knn_priors
from core.transfer.protocols import EvaluationProtocol, SimilaritySettings, predict_priors
from core.transfer.row_index import knowledge_of, visible_rows
from core.transfer.run_cells import evaluate, fill_with_base_rates, scores_with_stand_ins
from core.transfer.similarity import ConstantSimilarity, Space
from tests.transfer.oracles import World, worlds
from tests.transfer.test_protocols import KNOWN, LABELS, ROWS


def test_coverage_counts_rows_with_a_prior() -> None:
    half = Space("half", np.where(np.arange(300)[:, None] < 150, 1.0, np.nan))
    found = evaluate(LABELS, ROWS, predict_priors(EvaluationProtocol(), ROWS, KNOWN, [half]))
    assert found.coverage == pytest.approx((ROWS.gene < 150).mean())
    assert found.covered.n == (ROWS.gene < 150).sum()
    assert found.score.n == found.null.n == len(ROWS)


@given(worlds())
def test_base_rates_stand_in_where_there_is_no_prior(world: World) -> None:
    """Counted row by row over the labelled rows that each row may see; half where that says nothing."""
    constant = Similarities(ConstantSimilarity(), ConstantSimilarity())
    priors = knn_priors(world.rows, world.known, world.similar, world.weighting, world.parts)
    null = knn_priors(world.rows, world.known, constant, world.weighting, world.parts)
    filled = fill_with_base_rates(priors, null)
    known, labels = world.known.rows, world.labels[[label is not None for label in world.labels]]
    for i, pair in enumerate(zip(world.rows.pert.tolist(), world.rows.gene.tolist(), strict=True)):
        seen = labels[visible_rows(pair, known, world.parts)]
        directed = seen[np.isin(seen, ["up", "down"])]
        rates = (
            np.mean(seen != "none") if len(seen) else 0.5,
            np.mean(directed == "up") if len(directed) else 0.5,
        )
        assert filled.de[i] == pytest.approx(rates[0] if np.isnan(priors.de[i]) else priors.de[i])
        assert filled.up[i] == pytest.approx(rates[1] if np.isnan(priors.up[i]) else priors.up[i])


def test_scores_with_stand_ins_are_those_of_the_predictions_that_a_run_holds() -> None:
    labels = np.where((LABELS != "none") & (ROWS.gene % 3 > 0), "de", LABELS)
    half = Space(
        "half",
        np.where(
            np.arange(300)[:, None] < 150, np.random.default_rng(2).normal(size=(300, 3)), np.nan
        ),
    )
    predicted = predict_priors(
        EvaluationProtocol(),
        ROWS,
        knowledge_of(labels, ROWS),
        [half],
        SimilaritySettings(Weighting(k=1)),
    )
    rates = fill_with_base_rates(predicted.null, predicted.null)
    numbers = zip(predicted.priors.de, predicted.priors.up, rates.de, rates.up, strict=True)
    rows = [
        build_prediction("a_b", (de, up), (rate_de, rate_up))
        for de, up, rate_de, rate_up in numbers
    ]
    assert {flag for row in rows for flag in row.flags} == {Flag.UNCOVERED, Flag.UNCOVERED_DIR}
    assert any(row.p_up_given_de is None for row in rows)
    held = ranked_scores([row.prediction_up for row in rows], [row.prediction_down for row in rows])
    found = scores_with_stand_ins(predicted.priors, predicted.null)
    np.testing.assert_array_equal(found.p_de, held.p_de)
    np.testing.assert_array_equal(found.p_up, held.p_up)
    assert (
        evaluate(labels, ROWS, predicted).score.de.value
        == score_with_intervals(LABELS, held, ROWS.pert, ROWS.gene, predicted.cells).de.value
    )
