"""What a link carries, control by control: what somebody chose is in the address, and the page is the same from there."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from core.runs.workspace import Workspace
from tests.features.fuse import explorer_view
from tests.ui.conftest import FUSED, KNN, LABELLED, Visit
from tests.ui.test_apptest import text_of, the_run


def values_of(app: AppTest) -> dict[str, object]:
    """The values of a page's controls by key, those of the sidebar included."""
    kinds = (
        "selectbox",
        "multiselect",
        "slider",
        "toggle",
        "number_input",
        "text_input",
        "text_area",
        "pills",
        "segmented_control",
    )
    return {each.key: each.value for kind in kinds for each in getattr(app, kind) if each.key}


def address_of(app: AppTest) -> dict[str, list[str]]:
    return {
        name: values if isinstance(values, list) else [values]
        for name, values in app.query_params.items()
    }


def assert_same_elsewhere(visit: Visit, workspace: Workspace, page: str, app: AppTest) -> None:
    """Open the address of a page as somebody else does: it stays as it is, and every control holds the same."""
    assert not app.exception
    carried = address_of(app)
    there = visit(workspace, page, **carried)
    assert "This link sets" not in text_of(there)
    assert address_of(there) == carried
    assert values_of(there) == values_of(app)


@pytest.mark.soak
def test_what_if_is_carried(visit: Visit, fused_demo: Workspace) -> None:
    base, knn, fused = (the_run(fused_demo, name).id for name in (LABELLED, KNN, FUSED))
    app = visit(fused_demo, "fuse", run=base, figures="true")
    app.multiselect(key="id-with").set_value(["knn", knn]).run()
    app.segmented_control(key="over").set_value("labelled rows").run()
    app.selectbox(key=f"id-reference_{base}").set_value(fused).run()
    for control, value in (
        (app.selectbox(key="id-baseline"), fused),
        (app.segmented_control(key="moved"), "P(up | DE)"),
        (app.slider(key="power"), 3.0),
        (app.selectbox(key="nearest"), 50),
        (app.toggle(key="centre"), True),
    ):
        control.set_value(value)
    for name, value in {
        "w_de_knn": 0.2,
        f"w_dir_{knn}": 0.6,
        "id-plane": knn,
    }.items():  # which the explorer sets
        app.session_state[name] = value
    app.run()
    names = {
        "with",
        "figures",
        "over",
        f"reference_{base}",
        "w_de_knn",
        f"w_dir_{knn}",
        "baseline",
        "plane",
        "moved",
        "power",
        "nearest",
        "centre",
    }
    assert {*app.query_params} == {"dataset", "run", *names}
    assert_same_elsewhere(visit, fused_demo, "fuse", app)
    there = explorer_view.state_of(visit(fused_demo, "fuse", **address_of(app)))
    assert (there["de"], there["up"], there["position"]) == ([0.2, 0.33], [0.33, 0.6], 1)


@pytest.mark.soak
def test_launch_is_carried(visit: Visit, little_demo: Workspace) -> None:
    app = visit(little_demo, "run")
    app.selectbox(key="launch_split").set_value("train").run()
    app.number_input(key="launch_sample").set_value(20).run()
    app.number_input(key="launch_seed").set_value(3).run()
    app.selectbox(key="id-labels").set_value("folds").run()
    app.text_input(key="run_name").input("mine").run()
    names = {"launch_split", "launch_sample", "launch_seed", "labels", "run_name"}
    assert {*app.query_params} - {"dataset", "run"} == names
    assert_same_elsewhere(visit, little_demo, "run", app)
    app.selectbox(key="id-method").set_value("debate").run()
    assert {*app.query_params} - {"dataset", "run"} == {*names, "method"}
    assert_same_elsewhere(visit, little_demo, "run", app)


@pytest.mark.soak
def test_submit_is_carried(visit: Visit, fused_demo: Workspace) -> None:
    app = visit(fused_demo, "share", tab="Package a run", run=the_run(fused_demo, FUSED).id)
    app.segmented_control(key="track").set_value("A").run()
    app.toggle(key="fusion_trace").set_value(True).run()
    assert {*app.query_params} == {"dataset", "run", "tab", "track", "fusion_trace"}
    assert_same_elsewhere(visit, fused_demo, "share", app)
    checked = visit(fused_demo, "share", tab="Check a file", check_track="C", check_labelled="true")
    assert {*checked.query_params} >= {"tab", "check_track", "check_labelled"}
    assert_same_elsewhere(visit, fused_demo, "share", checked)


@pytest.mark.soak
def test_debates_are_carried_with_the_open_card(visit: Visit, little_demo: Workspace) -> None:
    run, other = (the_run(little_demo, f"simulated {name}debate").id for name in ("", "collapsed "))
    app = visit(little_demo, "rows", run=run)
    app.multiselect(key="label").set_value(["up", "none"]).run()
    app.slider(key="p_up").set_value((0.1, 0.9)).run()
    app.toggle(key="failed").set_value(False).run()
    app.selectbox(key="order").set_value(app.selectbox(key="order").options[1]).run()
    app.pills(key="id-with").set_value([other]).run()
    for key in ("id-card", f"id-card-{other}"):
        app.pills(key=key).set_value(app.pills(key=key).options[-1]).run()
    assert {*app.query_params} - {"row"} == {
        "dataset",
        "run",
        "label",
        "p_up",
        "order",
        "with",
        "card",
        f"card-{other}",
    }
    assert_same_elsewhere(visit, little_demo, "rows", app)
