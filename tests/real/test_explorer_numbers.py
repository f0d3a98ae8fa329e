"""The explorer of What-if on the published labelled pool: a browser computes what the server computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from core.features.fuse.explorer.content import make_content, noise_of_cuts
from core.features.fuse.page import results
from core.runs.workspace import Workspace
from core.scoring.compare_runs import add_cut_noise
from core.transfer.fusion import weights_of
from core.transfer.knn_settings import KnnSettings
from core.transfer.protocols import EvaluationProtocol, SimilaritySettings
from tests.features.fuse.test_numbers_in_browser import ASK, ATOL, case_of, flat
from tests.real.test_what_if import prepare, workspace  # noqa: F401
from tests.ui.conftest import browser  # noqa: F401

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.real, pytest.mark.browser]
WEIGHTS = [(0.0, 0.0), (0.35, 0.7), (0.5, 0.5), (1.0, 0.01)]  # of the neighbours in DE and in DIR


@pytest.mark.soak
def test_a_browser_computes_the_same_on_the_pool(workspace: Workspace, browser: Browser) -> None:  # noqa: F811
    choice, live = prepare(
        workspace,
        KnnSettings(("text",), EvaluationProtocol("folds"), SimilaritySettings(centre=True)),
    )
    noise = results.find_noise(choice, choice.base)
    assert noise is not None
    cuts = [noise.scores_at(weights_of([w_de], [w_dir])) for w_de, w_dir in WEIGHTS]
    content = make_content(live, results.name_rows(choice, choice.base))
    sent = [
        case_of(content, both, noise_of_cuts(noise.before, after))
        for both, after in zip(WEIGHTS, cuts, strict=True)
    ]
    page = browser.new_page()
    page.add_script_tag(content=content.script())
    for (w_de, w_dir), after, answer in zip(
        WEIGHTS, cuts, page.evaluate(ASK, [1, sent]), strict=True
    ):
        found = add_cut_noise(live.score_at(weights_of([w_de], [w_dir])), noise.before, after)
        expected = [
            [flat(one) for one in (part.before, part.after, part.change)]
            for part in found.parts.values()
        ]
        np.testing.assert_allclose(answer["score"], expected, rtol=0, atol=ATOL)
