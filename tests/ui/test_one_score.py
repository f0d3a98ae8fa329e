"""One run has one score: every page and every command that shows one shows that, with how it was scored."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from core.base.texts import estimate_text
from core.runs.workspace import Workspace
from core.scoring import run_scores, sentences
from core.scoring.run_scores import RunScore
from core.scoring.sentences import scored_text
from core.stats.official_score import ScoreIntervals
from tests.commands import core_json
from tests.features.fuse import explorer_view
from tests.ui.conftest import FUSED, KNN, LABELLED, Visit
from tests.ui.test_apptest import numbers, text_of, the_run

INSIDE, WHOLE = "inside 5×5 cells, cut 2", "all rows"
WAYS = {LABELLED: WHOLE, KNN: INSIDE, FUSED: INSIDE}


def score_of(workspace: Workspace, name: str) -> RunScore:
    with workspace.store.read() as db:
        return run_scores.score_run(run_scores.load_scored_rows(db, name))


def texts(score: ScoreIntervals) -> dict[str, str]:
    return {name: sentences.interval_text(part.shown) for name, part in score.parts.items()}


def values(score: ScoreIntervals) -> dict[str, str]:
    return {name: f"{part.value:.3f}" for name, part in score.parts.items()}


def test_every_command_prints_it(fused_copy: Workspace) -> None:
    place = fused_copy.settings.workspace
    for name, scored in WAYS.items():
        found = score_of(fused_copy, name)
        assert found.whole.scored == scored
        printed = core_json(place, "score", name)
        assert printed["scored"] == scored
        for key, part in (
            ("de", found.whole.de),
            ("dir", found.whole.dir),
            ("mean", found.whole.mean),
        ):
            shown = part.shown
            known = shown.columns | {"se": shown.se, "clusters": shown.clusters}
            assert {name: printed[key][name] for name in known} == known
        slices = core_json(place, "score", name, "--by", "split")
        assert slices["scored"] == scored
        assert slices["slices"][0]["mean"]["estimate"] == pytest.approx(
            found.whole.mean.value, abs=1e-12
        )
    saved = core_json(place, "knn --space simulated --seed 2 --permutations 0")["saved"]
    knn = score_of(fused_copy, KNN)
    assert (saved["de"], saved["dir"], saved["seed"]) == (
        knn.whole.de.value,
        knn.whole.dir.value,
        2,
    )
    assert list(knn.cuts[2]) == pytest.approx([saved["de"], saved["dir"]], abs=1e-12)
    compared = core_json(place, "compare", KNN, FUSED)
    assert compared["scored"] == INSIDE
    if not compared[
        "all_rows"
    ]:  # both cover all rows of the debate: the difference is that of the two scores
        change = score_of(fused_copy, FUSED).whole.mean.value - _on_rows_of(fused_copy, KNN, FUSED)
        assert compared["delta_mean"]["estimate"] == pytest.approx(change, abs=1e-12)


def _on_rows_of(workspace: Workspace, name: str, other: str) -> float:
    """The mean of a run on the rows of another."""
    with workspace.store.read() as db:
        rows, wanted = (run_scores.load_scored_rows(db, each) for each in (name, other))
    position = {at: i for i, at in enumerate(rows.positions.tolist())}
    chosen = rows.take(np.array([position[at] for at in wanted.positions.tolist()]))
    return run_scores.score_run(chosen).whole.mean.value


@pytest.mark.soak
def test_every_page_shows_it(glance: Visit, fused_demo: Workspace) -> None:
    overview = glance(fused_demo, "overview")
    table = next(
        each.value
        for each in overview.dataframe
        if "run" in each.value and "group" not in each.value
    ).set_index("run")
    for name, scored in WAYS.items():
        found = score_of(fused_demo, name)
        line = table.loc[name]
        assert {part: line[part] for part in ("DE", "DIR", "mean")} == texts(found.whole)
        assert line["scored"] == scored
        breakdown = glance(fused_demo, "scores", run=name)
        assert {part: numbers(breakdown)[part] for part in ("DE", "DIR", "mean")} == values(
            found.whole
        )
        sentence = found.caveats[0]
        assert sentence in text_of(breakdown).replace("\\", "")


@pytest.mark.soak
def test_what_if_shows_the_score_of_the_run_that_it_would_save(
    glance: Visit, fused_demo: Workspace
) -> None:
    found = score_of(fused_demo, FUSED).whole
    app = glance(fused_demo, "fuse", run=LABELLED, **{"with": the_run(fused_demo, KNN).id})
    assert f"scored {INSIDE}" in text_of(app)
    for part, estimate in explorer_view.shown(app).parts.items():
        ours, stored = estimate.after.shown, found.parts[part].shown
        assert (ours.estimate, ours.low, ours.high) == pytest.approx(
            (stored.estimate, stored.low, stored.high), abs=1e-12
        )
    assert explorer_view.content_of(app)["reach"]["mean"]["said"].startswith(sentences.TWO_WAY)


@pytest.mark.soak
def test_what_if_says_what_its_intervals_allow_for_where_the_run_alone_has_none(
    glance: Visit, demo_workspace: Workspace
) -> None:
    """Of neighbours that weigh nothing: next to no row changes its place, so that this change has no interval."""
    app = glance(demo_workspace, "fuse", run=LABELLED)
    assert explorer_view.content_of(app)["reach"]["mean"]["said"].startswith(sentences.TWO_WAY)


@pytest.mark.soak
def test_compare_scores_both_alike_and_says_how(glance: Visit, fused_demo: Workspace) -> None:
    app = glance(fused_demo, "compare", run=FUSED, baseline=the_run(fused_demo, LABELLED).id)
    assert f"Both are scored {sentences.UNSEEN} ({INSIDE})." in text_of(app)
    printed = core_json(fused_demo, "compare", LABELLED, FUSED)
    estimate = printed["delta_mean"]
    text = estimate_text(estimate["estimate"], estimate["low"], estimate["high"], "+.3f")
    assert text in text_of(app).replace("\\", "")
    several = glance(
        fused_demo,
        "compare",
        run=FUSED,
        baseline=the_run(fused_demo, LABELLED).id,
        also=the_run(fused_demo, KNN).id,
        margin="0.3",
    )
    assert "equal within ±0.3" in text_of(several)
    table = next(each.value for each in several.dataframe if "Holm" in each.value)
    assert table["a"].tolist() == [LABELLED, KNN]
    both = core_json(fused_demo, "compare", FUSED, f"{LABELLED},{KNN}")["comparisons"]
    assert table["p"].astype(float).tolist() == pytest.approx(
        [each["p"] for each in both], abs=1e-4
    )
    assert table["Holm"].astype(float).tolist() == pytest.approx(
        [each["p_holm"] for each in both], abs=1e-4
    )


def tables_with(app: AppTest, *columns: str) -> list[pd.DataFrame]:
    """The tables of a page with these columns: those behind its figures, which their CSV exports, included."""
    return [each.value for each in app.dataframe if set(columns) <= set(each.value)]


@pytest.mark.soak
def test_every_figure_draws_and_exports_it_and_says_how_it_was_scored(
    glance: Visit, fused_demo: Workspace
) -> None:
    overview = glance(fused_demo, "overview")
    ladder = pd.concat(tables_with(overview, "run", "kind", "estimate", "low", "high")).set_index(
        "run"
    )
    for name, scored in WAYS.items():
        found = score_of(fused_demo, name).whole
        mean = found.mean.shown
        line = ladder.loc[name]
        assert line[["estimate", "low", "high"]].tolist() == pytest.approx(
            [mean.estimate, mean.low, mean.high], abs=1e-12
        )
        assert f"labelled rows · {scored}" in line["group"]
        curves = glance(fused_demo, "scores", run=name, part="Curves")
        [table] = tables_with(curves, "task", "who", "auroc")
        drawn = table[table["who"] == name].groupby("task")["auroc"].first()
        assert drawn.to_dict() == pytest.approx(
            {"DE": found.de.value, "DIR": found.dir.value}, abs=1e-12
        )
        assert scored_text(scored) in text_of(curves)
        assert scored_text(scored) in text_of(glance(fused_demo, "scores", run=name))
    compared = glance(fused_demo, "compare", run=FUSED, baseline=the_run(fused_demo, LABELLED).id)
    [changes] = tables_with(compared, "metric", "unit", "estimate")
    [both] = changes[
        (changes["metric"] == "mean") & (changes["unit"] == "perturbation and gene")
    ].to_dict("records")
    printed = core_json(fused_demo, "compare", LABELLED, FUSED)["delta_mean"]
    assert [both[key] for key in ("estimate", "low", "high")] == pytest.approx(
        [printed[k] for k in ("estimate", "low", "high")]
    )
    assert scored_text(INSIDE) in text_of(compared)
