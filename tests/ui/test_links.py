"""What a link carries: every control has to be carried, or to say why not."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from core.actions.workspace import Workspace
from core.config import REPOSITORY
from core.ui.shared.linked import CARRIED_BY, NOT_CARRIED
from tests.ui.conftest import Visit
from tests.ui.test_apptest import text_of, the_run

# Streamlit's functions that make a control.
CONTROLS = {
    *("checkbox", "color_picker", "data_editor", "date_input", "feedback", "file_uploader", "multiselect", "number_input"),
    *("pills", "radio", "segmented_control", "select_slider", "selectbox", "slider", "tabs", "text_area", "text_input"),
    *("time_input", "toggle", "audio_input", "camera_input", "chat_input", "datetime_input"),
}


def controls_in(path: Any) -> Iterator[ast.Call]:
    """The calls in a file that make a control of Streamlit's."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CONTROLS:
            yield node


def is_linked(call: ast.Call) -> bool:
    """Whether a control takes the arguments of `linked`, or has a key that begins as one that no link carries."""
    for word in call.keywords:
        if word.arg is None and isinstance(word.value, ast.Call) and ast.unparse(word.value.func) == "linked":
            return True
        if word.arg == "key" and beginning(word.value).startswith((*CARRIED_BY, *NOT_CARRIED)):
            return True
    return False


def beginning(key: ast.expr) -> str:
    """The part of a key that stands in the code, up to its first variable."""
    part = key.values[0] if isinstance(key, ast.JoinedStr) else key
    return str(part.value) if isinstance(part, ast.Constant) else ""


def test_every_control_is_linked_or_says_why_not() -> None:
    files = [*(REPOSITORY / "core" / "ui").rglob("*.py"), *(REPOSITORY / "pages").glob("*.py")]
    missing = [f"{path.name}:{call.lineno}" for path in files for call in controls_in(path) if not is_linked(call)]
    assert missing == []


def test_another_run_keeps_the_filters(visit: Visit, demo_workspace: Workspace) -> None:
    app = visit(demo_workspace, "debates", run=the_run(demo_workspace, "simulated debate").id, label="up", p_de=["0.2", "0.8"])
    other = the_run(demo_workspace, "simulated collapsed debate").id
    app.selectbox(key="choose_run").set_value(other).run()
    assert app.query_params["run"] == other
    assert app.multiselect(key="label").value == ["up"]
    assert app.slider(key="p_de").value == (0.2, 0.8)
    assert (app.query_params["label"], app.query_params["p_de"]) == ("up", ["0.2", "0.8"])


def test_what_a_link_names_in_vain_is_said_in_a_line(visit: Visit, demo_workspace: Workspace) -> None:
    known = {"run": the_run(demo_workspace, "simulated debate").id, "label": "up"}
    app = visit(demo_workspace, "debates", **known, order="by taste", card="a tool of the future", spin="left")
    assert not app.exception
    text = text_of(app).replace("\\", "")
    assert "This link sets order to “by taste”, which is not known here: left out" in text
    assert "This link sets card to “a tool of the future”" in text
    assert "This link sets spin, which nothing on this page has" in text
    assert text.count("This link sets") == 3
    assert "This link sets" not in text_of(app.run())
