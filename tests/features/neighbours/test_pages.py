"""Neighbours and What-if, without a browser: on a little demo, whose space is called "simulated"."""

from __future__ import annotations

import numpy as np
import pytest

from core.features.neighbours import spaces
from core.methods.fusion_settings import FusionSettings
from core.runs import component_loader
from core.runs.component_loader import WorkspaceComponents
from core.runs.workspace import Workspace
from core.scoring import run_scores
from core.stats.official_score import point_score
from core.stats.scores_and_labels import scores_from_probabilities
from core.store import pairs, runs
from core.transfer.knn_settings import KnnSettings
from core.transfer.protocols import EvaluationProtocol
from tests.derived import save_fusion, save_knn
from tests.features.fuse import explorer_view
from tests.features.fuse.explorer_view import move
from tests.features.submissions.test_page import problems
from tests.little_demo import LABELLED_ROWS
from tests.ui.conftest import FUSED, LABELLED, Visit
from tests.ui.test_apptest import drawn, numbers, press, text_of, the_run
from tests.ui.test_confirmation import confirmation_of

TEST = "simulated debate test"


@pytest.mark.soak
def test_neighbours_shows_the_priors_that_the_command_gives(
    glance: Visit, little_demo: Workspace
) -> None:
    dataset = component_loader.default_dataset(little_demo, None)
    with little_demo.store.read() as db:
        pair_ids = pairs.frame(db, dataset.id)["pair_id"].iloc[:20]
    found = {
        key: component_loader.neighbours_of(
            little_demo, dataset, key, KnnSettings(("simulated",))
        ).why
        for key in pair_ids
    }
    pair_id, why = next((key, why) for key, why in found.items() if why.prior_up > 0)
    app = glance(little_demo, "neighbours", row=pair_id)
    assert numbers(app)["Prior P(DE)"] == f"{why.prior_de:.3f}"
    assert numbers(app)["Prior P(up | DE)"] == f"{why.prior_up:.3f}"
    text = text_of(app).replace("\\", "")
    n_genes = numbers(app)["Neighbour genes"]
    assert f"of {n_genes} genes, highest share first" in text  # the table
    assert f"{n_genes} genes with {len(why.neighbours):,} labelled rows" in text  # the figure
    loo = glance(
        little_demo, "neighbours", row=pair_id, protocol="leave-one-out", per="row", power="3.0"
    )
    assert numbers(loo)["Prior P(DE)"] != numbers(app)["Prior P(DE)"]
    assert f"of {numbers(loo)['Neighbour rows']} rows, highest share first" in text_of(loo).replace(
        "\\", ""
    )
    assert "share its perturbation" in text_of(loo)


@pytest.mark.soak
def test_a_test_row_sees_all_labelled_rows(glance: Visit, little_demo: Workspace) -> None:
    dataset = component_loader.default_dataset(little_demo, None)
    with little_demo.store.read() as db:
        frame = pairs.frame(db, dataset.id)
    pair_id = frame[frame["label"].isna()]["pair_id"].iloc[0]
    app = glance(little_demo, "neighbours", row=pair_id)
    assert f"it may use all {LABELLED_ROWS:,} labelled rows" in text_of(app)
    assert not [box for box in app.selectbox if box.label == "Protocol"]


def test_a_link_to_an_unknown_row_says_so(glance: Visit, little_demo: Workspace) -> None:
    app = glance(little_demo, "neighbours", row="nobody_nothing")
    assert "does not have the linked row" in app.warning[0].value


@pytest.mark.soak
def test_a_space_from_these_labels_is_not_offered(visit: Visit, little_copy: Workspace) -> None:
    spaces.embed(
        little_copy,
        "coresponse",
        "co",
        {"dataset": "simulated", "of": "gene", "columns": 4, "seed": 0},
    )
    for page in ("neighbours", "fuse"):
        app = visit(little_copy, page, run=LABELLED)
        assert "co" not in app.get("pills")[0].options if app.get("pills") else True
    assert "It must be rebuilt for each fold" in text_of(visit(little_copy, "neighbours"))


def test_moving_a_weight_moves_the_numbers_to_those_of_the_saved_run(
    visit: Visit, little_copy: Workspace
) -> None:
    app = visit(little_copy, "fuse", run=LABELLED)
    before = explorer_view.numbers(app)["DE"]
    move(app, w_de_knn=0.8)
    after = explorer_view.numbers(app)["DE"]
    assert before != after
    explorer_view.opened(app, "saving").text_input(key="mix_name").input("mixed")
    press(app, "Save")
    assert not app.error
    run = the_run(little_copy, "mixed")
    with little_copy.store.read() as db:
        saved = run_scores.load_scored_rows(db, run.id)
        parent = runs.find(db, run.parents[1])
    assert after == f"{run_scores.score_run(saved).whole.de.value:.3f}"
    assert [run.spec["options"][name] for name in ("w_de", "w_dir")] == ["0.8", "0.5"]
    assert parent.method == "knn"
    loo = visit(little_copy, "fuse", run=LABELLED, protocol="leave-one-out", w_de_knn="0.8")
    assert explorer_view.numbers(loo)["DE"] != after  # other neighbours
    # The page scores inside the cells of folds; the weights 0 and 0 leave the base alone, whatever the neighbours say.
    alone = visit(
        little_copy, "fuse", run=LABELLED, protocol="leave-one-out", w_de_knn="0.0", w_dir_knn="0.0"
    )
    base = the_run(little_copy, LABELLED)
    with little_copy.store.read() as db:
        own = run_scores.load_scored_rows(db, base.id)
    # from the trace: the file's sums are rounded
    ranked = scores_from_probabilities(own.frame["p_de"], own.frame["p_up_given_de"])
    assert explorer_view.numbers(alone)["DE"] == f"{point_score(own.labels, ranked).de:.3f}"
    assert len(saved) == len(own)


@pytest.mark.soak
def test_the_same_on_a_test_run(visit: Visit, little_copy: Workspace) -> None:
    app = visit(little_copy, "fuse", run=LABELLED)
    explorer_view.opened(app, "twin").selectbox(key="id-twin").set_value(
        the_run(little_copy, TEST).id
    ).run()
    app.text_input(key="twin_name").input("to submit")
    press(app, "Apply and save")
    assert not app.error
    assert "Check and export the submission" in text_of(app)
    run, base = the_run(little_copy, "to submit"), the_run(little_copy, TEST)
    with little_copy.store.read() as db:
        parent = runs.find(db, run.parents[1])
    assert run.parents[0] == base.id
    assert parent.spec["options"]["protocol"] == "test"
    assert run.total == base.total
    submit = visit(little_copy, "share", tab="Package a run", run=run.id, fusion_trace="true")
    rules = {rule for _, rule, _ in problems(submit)}
    assert "trace_differs" not in rules
    assert "prompt_missing" in rules  # the demo's debates were not made here


@pytest.mark.soak
def test_a_run_without_labels_has_ranks_and_no_score(glance: Visit, little_demo: Workspace) -> None:
    app = glance(little_demo, "fuse", run=TEST)
    content, state = explorer_view.content_of(app), explorer_view.state_of(app)
    assert (content["outcome"], content["reach"], state["noise"], state["caution"]) == (
        None,
        None,
        None,
        "",
    )
    assert np.isnan(explorer_view.shown(app).mean.after.value)


@pytest.mark.soak
def test_percentiles_against_labelled_rows_need_a_reference(
    glance: Visit, little_demo: Workspace
) -> None:
    app = glance(little_demo, "fuse", run=TEST, over="labelled rows")
    assert "has no reference run on labelled rows" in app.error[0].value
    app.selectbox(key=f"id-reference_{the_run(little_demo, TEST).id}").set_value(
        the_run(little_demo, LABELLED).id
    ).run()
    assert not app.error
    assert "does not depend on the other rows" in text_of(app)
    assert "depends on which other rows" in text_of(glance(little_demo, "fuse", run=TEST))


@pytest.mark.soak
def test_weights_by_support_are_the_same_on_the_page_in_a_link_and_in_the_run(
    visit: Visit, little_copy: Workspace
) -> None:
    app = visit(little_copy, "fuse", run=LABELLED)
    even = explorer_view.numbers(app)["DE"]
    app.segmented_control(key="by_support").set_value("more with support").run()
    more = explorer_view.numbers(app)["DE"]
    assert more != even
    by_link = visit(little_copy, "fuse", run=LABELLED, by_support="more with support")
    assert explorer_view.numbers(by_link)["DE"] == more
    explorer_view.opened(by_link, "saving").text_input(key="mix_name").input("scaled")
    press(by_link, "Save")
    run = the_run(little_copy, "scaled")
    with little_copy.store.read() as db:
        saved = run_scores.load_scored_rows(db, run.id)
    assert f"{run_scores.score_run(saved).whole.de.value:.3f}" == more
    assert run.spec["options"]["by_support"] == "more"
    visit(little_copy, "rows", run="scaled")


def test_every_setting_of_the_neighbours_is_saved_as_it_is_shown(
    visit: Visit, little_copy: Workspace
) -> None:
    cut = {"folds": "3", "fold_seed": "2", "de_power": "1.5", "strength": "0.5"}
    app = visit(little_copy, "fuse", run=LABELLED, by_agreement="true", **cut)
    shown = explorer_view.numbers(app)["DE"]
    explorer_view.opened(app, "saving").text_input(key="mix_name").input("cut in three")
    press(app, "Save")
    run = the_run(little_copy, "cut in three")
    with little_copy.store.read() as db:
        saved = run_scores.load_scored_rows(db, run.id)
        knn = runs.find(db, run.parents[1])
    assert {
        name: knn.spec["options"][name] for name in ("folds", "seed", "de_power", "strength")
    } == {
        **{"folds": 3, "seed": 2, "de_power": 1.5, "strength": 0.5},
    }
    assert run.spec["options"]["by_agreement"] is True
    assert f"{run_scores.score_run(saved).whole.de.value:.3f}" == shown
    assert "3×3 folds, seed 2" in text_of(app)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "beyond", [{"folds": "1000000000"}, {"folds": "21"}, {"folds": "1"}, {"de_power": "0"}]
)
def test_a_link_with_a_number_beyond_its_range_opens_with_the_default(
    visit: Visit, little_copy: Workspace, beyond: dict[str, str]
) -> None:
    app = visit(little_copy, "fuse", run=LABELLED, **beyond)
    assert not app.error
    assert (app.slider(key="folds").value, app.number_input(key="de_power").value) == (5, None)


@pytest.mark.soak
def test_presets_keep_and_bring_back_settings(visit: Visit, little_copy: Workspace) -> None:
    app = move(visit(little_copy, "fuse", run=LABELLED), w_de_knn=0.0, w_dir_knn=0.25)
    explorer_view.opened(app, "presets").text_input(key="preset_name").input("quarter").run()
    app.button(key="save-preset").click().run()
    assert confirmation_of(app) == ("Saved the preset quarter.", ["Changes"])
    fresh = visit(little_copy, "fuse", run=LABELLED)
    assert (explorer_view.state_of(fresh)["de"], explorer_view.state_of(fresh)["up"]) == (
        [0.5],
        [0.5],
    )
    assert {"name": "quarter", "de": [0.0], "up": [0.25]} in explorer_view.state_of(fresh)["mixes"]
    explorer_view.opened(fresh, "presets").button(key="preset-quarter").click().run()
    assert (explorer_view.state_of(fresh)["de"], explorer_view.state_of(fresh)["up"]) == (
        [0.0],
        [0.25],
    )
    other = visit(
        little_copy, "fuse", run=LABELLED, power="3.0"
    )  # other settings than those that it was saved with
    assert "quarter" not in {mix["name"] for mix in explorer_view.state_of(other)["mixes"]}
    fresh.selectbox(key="preset_gone").select("quarter").run()
    fresh.button(key="delete-preset").click().run()
    assert confirmation_of(fresh) == ("Deleted the preset quarter.", ["Changes"])
    last = explorer_view.opened(visit(little_copy, "fuse", run=LABELLED), "presets")
    assert not [button for button in last.button if button.label == "quarter"]


@pytest.mark.soak
def test_leave_one_out_never_stands_without_its_null(visit: Visit, little_copy: Workspace) -> None:
    dataset = component_loader.default_dataset(little_copy, None)
    run = save_knn(
        little_copy, dataset, KnnSettings(("simulated",), EvaluationProtocol("loo")), "loo"
    )
    wanted = FusionSettings(the_run(little_copy, LABELLED).id, (run.id,), (0.5,), (0.5,))
    save_fusion(little_copy, wanted, "fused")
    null = (
        WorkspaceComponents(little_copy, dataset)
        .predict_knn(KnnSettings(("simulated",), EvaluationProtocol("loo")), None)
        .evaluation()
        .null
    )
    told = f"with no gene information: {null.de.value:.3f}"
    for page, name in (
        ("scores", "loo"),
        ("scores", "fused"),
        ("compare", "fused"),
        ("overview", "loo"),
    ):
        text = text_of(visit(little_copy, page, run=name)).replace("\\", "")
        assert told in text, (page, name)
    assert "with no gene information" in text_of(
        visit(little_copy, "fuse", run=LABELLED, protocol="leave-one-out")
    )
    assert not np.isnan(null.dir.value)


@pytest.mark.soak
def test_a_fused_value_is_a_rank_score_wherever_it_is_shown(
    glance: Visit, fused_demo: Workspace
) -> None:
    app = glance(fused_demo, "rows", run=FUSED)
    text = text_of(app)
    [answer] = [str(each.value) for each in app.markdown if "DE rank score **" in str(each.value)]
    assert "DIR rank score **" in answer
    assert "%" not in answer
    assert "P(DE)" not in {each.label for each in app.slider}
    assert "P(DE)" not in text  # but in a column for the parts of the fusion
    assert "Call" not in {each.label for each in app.selectbox}
    assert drawn(app)["name"] == "DE rank score"
    tables = [each.value for each in glance(fused_demo, "overview", columns="method").dataframe]
    work = next(table for table in tables if "method" in table).set_index("run")
    assert work.loc[FUSED, "method"] == "fusion (rank scores)"
    gene = drawn(app)["genes"][0]
    assert f"{FUSED} (rank score)" in glance(fused_demo, "gene", name=gene).dataframe[0].value
