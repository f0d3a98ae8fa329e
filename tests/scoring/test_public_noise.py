"""The noise of a public score."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from core.runs.workspace import Workspace
from core.scoring.run_scores import score_run
from core.scoring.standing import public_noise
from tests.scoring.test_run_scores import loaded


def test_it_is_the_standard_error_of_labelled_runs_on_half_of_the_rows_without_a_label(
    demo_workspace: Workspace,
) -> None:
    found = score_run(loaded(demo_workspace, "simulated debate"))
    noise = public_noise([found], 300)
    assert (noise.rows, noise.runs) == (150, 1)
    assert noise.se == pytest.approx(
        found.whole.mean.shown.se * math.sqrt(found.whole.n_labelled / 150)
    )
    assert "150 rows (half of those without a label)" in noise.describe()


def test_runs_over_all_rows_come_first_and_the_median_counts(demo_workspace: Workspace) -> None:
    runs = [
        score_run(loaded(demo_workspace, name))
        for name in ("simulated debate", "simulated collapsed debate")
    ]
    inside = replace(runs[0], whole=replace(runs[0].whole, scored="inside 5×5 cells, cut 0"))
    alone, both, only_inside = (
        public_noise(some, 300) for some in ([runs[1], inside], runs, [inside])
    )
    assert (alone.runs, both.runs, only_inside.runs) == (1, 2, 1)
    first, second = (public_noise([each], 300) for each in runs)
    assert both.se == pytest.approx((first.se + second.se) / 2)


def test_without_labelled_runs_or_rows_it_is_not_known(demo_workspace: Workspace) -> None:
    unlabelled = score_run(loaded(demo_workspace, "simulated debate test"))
    assert public_noise([unlabelled], 300) is None
    assert public_noise([score_run(loaded(demo_workspace, "simulated debate"))], 0) is None
