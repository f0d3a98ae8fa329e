"""The benchmarks compare what they say they compare."""

from __future__ import annotations

import numpy as np
import pytest

from bench import knn, whatif
from core.stats.cell_auroc import influence_within_cells
from core.stats.delong import two_way_delong
from core.stats.scores_and_labels import Task
from core.transfer.knn import Similarities, knn_priors
from core.transfer.protocols import EvaluationProtocol, parts_of, predict_priors
from core.transfer.row_index import EFFECT, visible_rows
from core.transfer.similarity import cosine_similarity


def test_the_reference_is_the_definition() -> None:
    known, spaces = knn.make_table(300, 15, 60, (8, 4))
    found = knn_priors(
        known.rows,
        known,
        Similarities(cosine_similarity(spaces)),
        parts=parts_of(EvaluationProtocol("loo"), known.rows),
    )
    de, up = knn.by_definition(known, spaces)
    assert np.isnan(de).any()
    np.testing.assert_allclose(found.de, de, atol=1e-12)
    np.testing.assert_allclose(found.up, up, atol=1e-12)


def test_a_plain_cut_is_the_protocol_of_folds() -> None:
    known, spaces = knn.make_table(400, 15, 60, (8, 4))
    protocol = EvaluationProtocol("folds", 2, 1)
    parts, found = (
        parts_of(protocol, known.rows),
        predict_priors(protocol, known.rows, known, spaces),
    )
    assert parts is not None
    assert found.cells is not None
    apart = np.stack(
        [
            visible_rows(pair, known.rows, parts)
            for pair in zip(known.rows.pert, known.rows.gene, strict=True)
        ]
    )
    priors, rates = knn.by_definition(known, spaces, apart), knn.base_rates(known, apart)
    np.testing.assert_allclose(priors, [found.priors.de, found.priors.up], atol=1e-12)
    np.testing.assert_allclose(rates, [found.null.de, found.null.up], atol=1e-12)
    effect, values = known.flags[:, EFFECT], np.round(np.random.default_rng(0).random(400), 1)
    task = Task(np.ones(400, dtype=bool), effect, values)
    expected = influence_within_cells([task], found.cells).values[0, 0]
    assert knn.auroc_in_cells(effect, values, found.cells) == pytest.approx(expected)


def test_the_notebooks_standard_error_is_delongs() -> None:
    rng = np.random.default_rng(0)
    positive, values = rng.random(200) < 0.4, np.round(rng.random(200), 2)
    rows = np.arange(len(values))
    assert whatif.delong_se(positive, values) == pytest.approx(
        two_way_delong(positive, values, rows, rows).row.se, abs=1e-12
    )
