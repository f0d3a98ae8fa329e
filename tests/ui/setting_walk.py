"""Which settings of a request have no control on a page, and why."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from core.fields.record import options_of
from core.ui.shared.option_controls import key_of

_KINDS = ("text_input", "number_input", "selectbox", "toggle", "text_area", "multiselect", "radio", "pills", "button_group")


def keys_of(shown: AppTest) -> set[str]:
    """The keys of the controls of a page; one that chooses among ids has that of its query parameter."""
    return {str(widget.key).removeprefix("id-") for kind in _KINDS for widget in shown.get(kind)}


def check_form(record: type, shown: AppTest, owner: str) -> None:
    """Each setting has a control under its key, or its declaration says why it has none."""
    there = keys_of(shown)
    missing = {option.name for option in options_of(record) if key_of(option, owner) not in there}
    assert missing == {option.name for option in options_of(record) if option.not_on_form}
