"""The explorer's numbers in a browser are those of `core.transfer` and `core.stats`, whatever is fused."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from core.base.errors import InputError
from core.features.fuse.explorer import content
from core.features.fuse.explorer.content import noise_of_cuts
from core.features.fuse.weight_grid import move_one, weight_grid
from core.scoring.compare_runs import add_cut_noise
from core.stats.arrays import Floats
from core.stats.delong import Estimate
from core.stats.intervals import p_gt_0
from core.stats.ranks import ranks_from_top
from core.stats.row_changes import agreement
from core.transfer.fusion import FusionComparison, shares_of, weights_of
from tests.features.fuse.fusion_cases import Case, cases

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser
EVERY = 20  # of so many cases one has its plane computed, too
MOVERS, ATOL = 7, 1e-12
# What the script of the explorer says of each case; `score` as flat lists in the order of `expected`.
ASK = """([movers, cases]) => cases.map(({ content, de, up, noise, position, plane }) => {
  const fusion = new Fusion(content);
  fusion.fuse(toShares(de), toShares(up));
  const flat = ({ value, ...by }) => [value, ...["row", "pert", "gene", "twoWay", "shown"].flatMap(unit =>
    [by[unit].low, by[unit].high, by[unit].se])];
  const found = { fused: [[...fusion.fused.de], [...fusion.fused.up]], scores: [[...fusion.scores.de], [...fusion.scores.up]] };
  if (content.outcome) {
    const score = fusion.score(noise);
    found.score = Object.values(score).map(({ before, after, change }) => [before, after, change].map(flat));
    found.better = Object.values(score).map(({ change }) => change.better);
  }
  found.movers = ["de", "up"].map(key => fusion.movers(key, movers).map(([row, places]) => [row, places]));
  found.agreement = fusion.agreement();
  if (plane && content.outcome) {
    const curves = GRID.map((_, i) => fusion.gridValues(position, { de, up }, i));
    found.plane = fusion.plane(position, { de, up }, curves.map(each => each[0]), curves.map(each => each[1]));
  }
  return found;
})"""


@pytest.fixture(scope="module")
def page(browser: Browser) -> Page:
    """An empty page with the explorer's script."""
    opened = browser.new_page()
    opened.add_script_tag(content=content.script())
    return opened


def flat(found: Estimate) -> list[float]:
    """An estimate as the browser is asked for it."""
    each = (found.row, found.pert, found.gene, found.two_way, found.shown)
    return [found.value, *(value for one in each for value in (one.low, one.high, one.se))]


def case_of(
    content: dict[str, Any], weights: tuple[Any, Any], noise: dict[str, dict[str, float]] | None
) -> dict[str, Any]:
    """What the browser is asked about one fusion; weights: of its other components in DE and in DIR, a number if one."""
    de, up = ([each] if isinstance(each, float) else list(each) for each in weights)
    return {"content": content, "de": de, "up": up, "noise": noise, "position": 0, "plane": False}


def noise_of(rng: np.random.Generator) -> Floats:
    """DE and DIR of a run under ten cuts."""
    return rng.random((10, 2)) / 50


def compare_scores(case: Case, noise: tuple[Floats, Floats] | None, answer: dict[str, Any]) -> bool:
    """Compare what is computed at the weights of a case; whether it has a score."""
    found = case.live.score_at(weights_of(shares_of(case.w_de), shares_of(case.w_dir)))
    scores = found.fused.scores()
    np.testing.assert_array_equal(answer["fused"], [found.fused.p_de, found.fused.p_up])
    np.testing.assert_array_equal(answer["scores"], [scores.p_de, scores.p_up])
    compare_ranks(case, found, answer)
    if not found.n_labelled:
        assert "score" not in answer
        return False
    if noise is not None:
        found = add_cut_noise(found, *noise)
    parts = list(found.parts.values())
    expected = [[flat(one) for one in (each.before, each.after, each.change)] for each in parts]
    np.testing.assert_allclose(answer["score"], expected, rtol=0, atol=ATOL)
    np.testing.assert_allclose(
        answer["better"], [p_gt_0(each.change.shown) for each in parts], rtol=0, atol=ATOL
    )
    return not math.isnan(found.mean.change.value)


def compare_ranks(case: Case, found: FusionComparison, answer: dict[str, Any]) -> None:
    """Compare which rows move most, and how far the ranks agree."""
    percentiles = case.live.percentiles
    for moved, base, fused in zip(
        answer["movers"],
        (percentiles.de[0], percentiles.up[0]),
        (found.fused.p_de, found.fused.p_up),
        strict=True,
    ):
        places = ranks_from_top(base) - ranks_from_top(np.where(np.isnan(base), np.nan, fused))
        farthest = np.argsort(-np.abs(np.nan_to_num(places)), kind="stable")[:MOVERS]
        assert moved == [
            [row, places[row]]
            for row in farthest.tolist()
            if places[row] and not np.isnan(places[row])
        ]
    both = ~np.isnan(case.live.baseline.p_de)
    expected = agreement(case.live.baseline.take(both), found.fused.scores().take(both))
    assert answer["agreement"] == pytest.approx([expected.de, expected.up], abs=ATOL, nan_ok=True)


def compare_planes(case: Case, answer: dict[str, Any]) -> bool:
    """Compare the plane of weights, if it was asked for; whether there is one."""
    if "plane" not in answer:
        return False
    try:
        grid = weight_grid(case.live, move_one(case.position, case.w_de, case.w_dir))
    except InputError:
        assert answer["plane"] is None
        return False
    plane = answer["plane"]
    np.testing.assert_allclose(plane["mean"], grid.mean, rtol=0, atol=ATOL)
    assert tuple(plane["best"]) == grid.best
    assert plane["se"] == pytest.approx(grid.se, abs=ATOL, nan_ok=True)
    np.testing.assert_array_equal(plane["plateau"], grid.plateau)
    return True


@pytest.mark.parametrize("n", [60, pytest.param(1000, marks=pytest.mark.soak)])
def test_every_number_is_that_of_the_server(page: Page, n: int) -> None:
    rng = np.random.default_rng(5)
    all_cases = list(cases(n, seed=1))
    noises = [(noise_of(rng), noise_of(rng)) if i % 3 == 0 else None for i in range(n)]
    sent = [
        case_of(
            case.content(),
            (case.w_de, case.w_dir),
            None if noise is None else noise_of_cuts(*noise),
        )
        | {"position": case.position, "plane": i % EVERY == 0}
        for i, (case, noise) in enumerate(zip(all_cases, noises, strict=True))
    ]
    answers = page.evaluate(ASK, [MOVERS, sent])
    scored = planes = 0
    for case, noise, answer in zip(all_cases, noises, answers, strict=True):
        scored += compare_scores(case, noise, answer)
        planes += compare_planes(case, answer)
    assert scored > n / 2
    assert planes > n / EVERY / 2
