"""What a link carries: every control has to be carried, or to say why not."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.base.config import REPOSITORY
from core.runs.workspace import Workspace
from core.ui import links
from core.ui.linked import CARRIED_BY, NOT_CARRIED
from tests.ui.conftest import Visit
from tests.ui.test_apptest import numbers, text_of, the_run

# Streamlit's functions that make a control.
CONTROLS = {
    *(
        "checkbox",
        "color_picker",
        "data_editor",
        "date_input",
        "feedback",
        "file_uploader",
        "multiselect",
        "number_input",
    ),
    *(
        "pills",
        "radio",
        "segmented_control",
        "select_slider",
        "selectbox",
        "slider",
        "tabs",
        "text_area",
        "text_input",
    ),
    *("time_input", "toggle", "audio_input", "camera_input", "chat_input", "datetime_input"),
}


def uncarried(path: Path) -> list[str]:
    """The controls in a file that no link carries and that do not say why: its name and their lines."""
    tree = ast.parse(path.read_text("utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    selected = {
        ast.unparse(call.args[0]) for call in calls if ast.unparse(call.func) == "select_rows"
    }
    constants = {
        ast.unparse(node.targets[0]): ast.unparse(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.JoinedStr)
    }
    bound = {
        ast.unparse(node.targets[0])
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and "bind(key)" in ast.unparse(node.value)
    }
    missing = [
        call
        for call in calls
        if is_control(call) and not is_carried(call, selected, constants, bound)
    ]
    return [f"{path.name}:{call.lineno}" for call in missing]


def is_control(call: ast.Call) -> bool:
    """Whether a call makes a control of Streamlit's, or a table or figure in which something can be selected."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return name in CONTROLS or any(word.arg == "on_select" for word in call.keywords)


def is_carried(
    call: ast.Call, selected: Collection[str], constants: Mapping[str, str], bound: Collection[str]
) -> bool:
    """Whether a control takes the arguments of `bind` (as they are or from a name in `bound`), has a key that is excused, or one
    that `select_rows` takes too.
    """
    for word in call.keywords:
        if word.arg is None and ast.unparse(word.value) in bound:
            return True
        if (
            word.arg is None
            and isinstance(word.value, ast.Call)
            and ast.unparse(word.value.func) == "bind"
        ):
            return True
        if word.arg == "key":
            key = ast.unparse(word.value)
            return key in selected or beginning(constants.get(key, key)).startswith(
                (*CARRIED_BY, *NOT_CARRIED)
            )
    return False


def beginning(key: str) -> str:
    """The part of a key that stands in the code, up to its first variable; empty if it begins with one."""
    found = re.match(r"""f?["']([^"'{]*)""", key)
    return found[1] if found else ""


def values_of(app: AppTest) -> dict[str, object]:
    """The values of a page's controls by key, those of the sidebar included."""
    kinds = CONTROLS & {*dir(app)} - {"tabs"}
    return {each.key: each.value for kind in kinds for each in getattr(app, kind) if each.key}


def address_of(app: AppTest) -> dict[str, list[str]]:
    return {
        name: values if isinstance(values, list) else [values]
        for name, values in app.query_params.items()
    }


def assert_same_elsewhere(visit: Visit, workspace: Workspace, page: str, app: AppTest) -> None:
    """Open the address of a page as somebody else does: it stays as it is, and every control holds the same."""
    carried = address_of(app)
    there = visit(workspace, page, **carried)
    assert "This link sets" not in text_of(there)
    assert address_of(there) == carried
    assert values_of(there) == values_of(app)


@pytest.mark.soak
def test_every_control_is_carried_or_says_why_not() -> None:
    files = [path for place in ("core", "pages") for path in (REPOSITORY / place).rglob("*.py")]
    assert [place for path in files for place in uncarried(path)] == []


@pytest.mark.soak
def test_another_run_keeps_the_filters(glance: Visit, little_demo: Workspace) -> None:
    app = glance(
        little_demo,
        "rows",
        run=the_run(little_demo, "simulated debate").id,
        label="up",
        p_de=["0.2", "0.8"],
    )
    other = the_run(little_demo, "simulated collapsed debate").id
    app.selectbox(key="choose_run").set_value(other).run()
    assert app.query_params["run"] == other
    assert app.multiselect(key="label").value == ["up"]
    assert app.slider(key="p_de").value == (0.2, 0.8)
    assert (app.query_params["label"], app.query_params["p_de"]) == ("up", ["0.2", "0.8"])


@pytest.mark.soak
def test_what_a_control_did_not_write_to_the_address_is_written(
    glance: Visit, little_demo: Workspace
) -> None:
    """AppTest writes no address, as a browser in which a control has moved."""
    app = glance(little_demo, "rows", run=the_run(little_demo, "simulated debate").id)
    app.slider(key="p_de").set_value((0.2, 0.8)).run()
    assert app.query_params["p_de"] == ["0.2", "0.8"]
    app.slider(key="p_de").set_value((0.2, 0.9)).run()
    assert app.query_params["p_de"] == ["0.2", "0.9"]
    app.slider(key="p_de").set_value((0.0, 1.0)).run()
    assert "p_de" not in app.query_params


@pytest.mark.soak
def test_what_a_link_names_in_vain_is_said_in_a_line(glance: Visit, little_demo: Workspace) -> None:
    known = {"run": the_run(little_demo, "simulated debate").id, "label": "up"}
    app = glance(
        little_demo, "rows", **known, order="by taste", card="a tool of the future", spin="left"
    )
    text = text_of(app).replace("\\", "")
    assert "This link sets order to “by taste”, which is unknown here and ignored" in text
    assert "This link sets card to “a tool of the future”" in text
    assert "This link sets spin, which this page does not have" in text
    assert text.count("This link sets") == 3
    assert "This link sets" not in text_of(app.run())


@pytest.mark.soak
def test_a_link_selects_rows_of_a_table(glance: Visit, little_demo: Workspace) -> None:
    listed = glance(little_demo, "neighbours").dataframe[-1].value["neighbour"]
    app = glance(little_demo, "neighbours", without=[listed[1], listed[3]])
    assert app.query_params["without"] == [listed[1], listed[3]]
    assert "Without the picked" in text_of(app)
    moved = re.search(r"P\(DE\) (0\.\d{3}) → (0\.\d{3})", text_of(app).replace("\\", ""))
    assert numbers(app)["Prior P(DE)"].startswith(moved[1])
    app = glance(little_demo, "neighbours", without="nobody")
    assert "without" not in app.query_params
    assert "This link sets without to “nobody”, which is unknown here" in text_of(app).replace(
        "\\", ""
    )


def test_on_a_shared_server_a_copied_link_begins_with_its_address(
    visit: Visit, small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERTURBDESK_BASE_URL", "https://desk.example.org/base/")
    visit(small_workspace, "rows")
    assert links.base_address() == "https://desk.example.org/base"
