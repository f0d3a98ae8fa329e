"""Whether a page's controls say what the settings of a request declare, and which settings have no control."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import MISSING
from typing import Any

from streamlit.testing.v1 import AppTest

from core.base.fields.record import options_of
from core.base.fields.setting import Option
from core.features.neighbours.page.neighbour_controls import NEAREST, SLIDERS
from core.ui.option_controls import SOURCES, key_of, title_of

_KINDS = (
    *(
        "text_input",
        "number_input",
        "slider",
        "selectbox",
        "toggle",
        "text_area",
        "multiselect",
        "radio",
    ),
    *("pills", "button_group", "segmented_control"),
)


def controls_of(shown: AppTest) -> dict[str, Any]:
    """The controls of a page by key; one that chooses among ids has that of its query parameter."""
    return {
        str(widget.key).removeprefix("id-"): widget for kind in _KINDS for widget in shown.get(kind)
    }


def check_form(
    record: type,
    shown: AppTest,
    owner: str,
    left_out: Collection[str] = (),
    from_data: Collection[str] = (),
    *,
    by_name: bool = False,
    titled: Collection[str] = (),
) -> None:
    """Each setting has a control under its key that has its title, help, range and default, if it is one of forms.

    left_out: those that this form asks for in another way. from_data: the settings whose choices or default this form takes
    from the dataset, the run or the workspace; titled: whose title it takes from there. by_name: whether keys are made of names,
    as those of a method's options.
    """
    there, options = controls_of(shown), options_of(record)
    missing, faults = set(), dict[str, list[str]]()
    for option in options:
        widget = there.get(f"{owner}{option.name}" if by_name else key_of(option, owner))
        if widget is None:
            missing.add(option.name)
        else:
            found = differences(
                option, widget, from_data=option.name in from_data, titled=option.name in titled
            )
            faults |= {option.name: found} if found else {}
    expected = {option.name for option in options if option.about.where != "everywhere"} | set(
        left_out
    )
    assert missing == expected, (
        f"without a control: {missing - expected}; with one all the same: {expected - missing}"
    )
    assert not faults, faults


def differences(
    option: Option, widget: Any, *, from_data: bool = False, titled: bool = False
) -> list[str]:
    """What a control says otherwise than the declaration of its setting. from_data: choices and default may differ; titled: so
    may its title."""
    pairs = [("help", widget.help, option.about.help)]
    if not titled:
        pairs += [("title", widget.label, title_of(option))]
    if widget.type == "number_input" and option.kind in (int, float):
        pairs += [("lowest", widget.min, option.lowest), ("highest", widget.max, option.highest)]
    if widget.type == "slider":
        pairs += [("range", (widget.min, widget.max, widget.step), SLIDERS[option.name])]
    if not from_data:
        pairs += [("can be changed", not widget.disabled, True)]
        if option.kind is int and widget.type == "selectbox":
            pairs += [("choices", widget.options, list(map(str, (option.about.missing, *NEAREST))))]
        elif option.choices and hasattr(widget, "options"):
            titles = [title or "the server's default" for title in option.titles.values()]
            pairs += [("choices", list(widget.options), titles)]
        if option.about.names not in SOURCES and not (
            option.choices and widget.type == "text_input"
        ):
            pairs += [
                ("default", _as_shown(widget.value), _as_shown(_shown_default(option, widget)))
            ]
    return [
        f"{what}: got {got!r}, expected {expected!r}"
        for what, got, expected in pairs
        if got != expected
    ]


def _as_shown(value: Any) -> Any:
    return list(value) if isinstance(value, list | tuple) else value


def _shown_default(option: Option, widget: Any) -> Any:
    """The default of a setting as a control shows it."""
    if widget.type in ("text_input", "text_area"):
        if option.several and option.kind is float:
            return ", ".join(f"{each:g}" for each in option.default)
        return (
            ", ".join(option.default)
            if option.several
            else ""
            if option.default in (None, {}, MISSING)
            else str(option.default)
        )
    if option.kind is int and widget.type == "selectbox":
        return option.about.missing
    if option.choices and not option.several and widget.value == option.titles.get(option.default):
        return widget.value  # whose values are titles
    return option.default
