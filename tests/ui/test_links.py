"""A copied link shows the same screen elsewhere: every control of every page is changed, and the link opened by somebody else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from core.config import REPOSITORY
from core.ui.shared.linked import CARRIED_BY, NOT_CARRIED

if TYPE_CHECKING:
    pass

# Streamlit's functions that make a control.
CONTROLS = {
    *("checkbox", "color_picker", "data_editor", "date_input", "feedback", "file_uploader", "multiselect", "number_input"),
    *("pills", "radio", "segmented_control", "select_slider", "selectbox", "slider", "tabs", "text_area", "text_input"),
    *("time_input", "toggle", "audio_input", "camera_input", "chat_input", "datetime_input"),
}
CHOICES = ("choose_one", "choose_several")


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
