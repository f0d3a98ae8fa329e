"""A control for each option of a method or an experiment."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import MISSING, replace
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any

import streamlit as st
from streamlit.elements.widgets.number_input import NumberInputSerde

from core.base.fields.record import make, option_of, options_of
from core.base.fields.setting import Option
from core.llm.call_settings import CallSettings
from core.methods.base import Method
from core.store.datasets import Dataset
from core.ui.linked import bind, choose_one, choose_several
from core.ui.loaders.records import all_spaces, predicting_runs
from core.ui.sidebar import option_text
from core.ui.sign_in import may_upload

_LONG = 60  # characters from which a text gets several lines
_SMALL = 0.1
SOURCES = ("spaces", "run", "runs")  # what is in the workspace, which texts name
_ADDRESSES = ("server", "cluster")  # no link may name another


def show_option(dataset: Dataset, owner: str, option: Option) -> Any:
    """Show the control of an option and return its value; owner: the beginning of its key and query
    parameter."""
    key = f"{owner}-{option.name}"
    return (
        _show_sources(dataset, key, option) if _names_sources(option) else show_control(option, key)
    )


def show_options(dataset: Dataset, method: Method) -> dict[str, object]:
    """Show a widget for each option of a method; return the values that differ from the
    defaults."""
    options = options_of(method.settings)
    if not options:
        return {}
    needed = [option for option in options if _names_sources(option)]  # they have no default
    values = {
        option.name: show_option(dataset, f"option-{method.name}", option) for option in needed
    }
    rest = [option for option in options if option not in needed]
    with st.expander(f"{len(rest)} more options, with defaults"):
        values |= {
            option.name: show_option(dataset, f"option-{method.name}", option) for option in rest
        }
    return {
        option.name: values[option.name]
        for option in options
        if values[option.name] != option.default
    }


def _names_sources(option: Option) -> bool:
    return option.about.names in SOURCES and option.kind is str


def show_settings(
    record: type,
    owner: str,
    names: Sequence[str] | None = None,
    *,
    columns: int = 1,
    defaults: Mapping[str, Any] = MappingProxyType({}),
    in_link: bool = True,
    sliders: Mapping[str, tuple[float, float, float]] = MappingProxyType({}),
) -> dict[str, Any]:
    """Show a control for each setting of a record, or for those named, in order; return the values
    by name.

    owner: the beginning of their keys and query parameters. columns: the number of columns.
    defaults: other defaults for the form. in_link: whether links have the values. sliders: lowest,
    highest and step of numbers that are dragged, by name.
    """
    if names is None:
        chosen = [each for each in options_of(record) if each.about.where == "everywhere"]
    else:
        chosen = [option_of(record, name) for name in names]
    places: list[Any] = [nullcontext()] * len(chosen)
    if columns > 1:
        rows = -(-len(chosen) // columns)
        places = [
            place for _ in range(rows) for place in st.columns(columns, vertical_alignment="bottom")
        ]
    found = {}
    for place, option in zip(places, chosen, strict=False):
        option = replace(option, default=defaults.get(option.name, option.default))
        with place:
            slider = sliders.get(option.name)
            found[option.name] = show_control(
                option, key_of(option, owner), in_link=in_link, slider=slider
            )
    return found


def names_of_rest(record: type, shown: Collection[str]) -> list[str]:
    """Return the names of a record's settings that a form has to show besides these, without those
    of `show_calls`."""
    not_here = {*shown, *map(attrgetter("name"), options_of(CallSettings))}
    return [
        option.name
        for option in options_of(record)
        if option.about.where == "everywhere" and option.name not in not_here
    ]


def show_more(
    record: type, owner: str, shown: Collection[str], *, words: str = ""
) -> dict[str, Any]:
    """Show the settings of `names_of_rest` in an expander; return their values by name. words: what
    they are about."""
    rest = names_of_rest(record, shown)
    if not rest:
        return {}
    titles = [title_of(option_of(record, name)) for name in rest]
    with st.expander(
        f"More: {words or ', '.join(title[0].lower() + title[1:] for title in titles)}"
    ):
        return show_settings(record, owner, rest, columns=3)


def show_calls(owner: str) -> CallSettings:
    """Show the call options of a model server in an expander and return them. Raise InputError for
    values that cannot be sent."""
    with st.expander("Call options for unusual servers"):
        return make(CallSettings, show_settings(CallSettings, owner, columns=2))


def key_of(option: Option, owner: str) -> str:
    """Return the key of a setting's control, also its query parameter; links leave out that of a
    server."""
    return (
        f"endpoint-{owner}".rstrip("_-")
        if option.about.names == "server"
        else f"{owner}{option.about.key or option.name}"
    )


def title_of(option: Option) -> str:
    """Return the title of a setting on a form."""
    return option.about.title or option_text(option.name)


def show_control(
    option: Option,
    key: str,
    *,
    in_link: bool = True,
    slider: tuple[float, float, float] | None = None,
) -> Any:
    """Show the control of a setting under a key, and return its value. in_link, slider: as of
    `show_settings`."""
    title, option = (
        title_of(option),
        replace(option, default="") if option.default is MISSING else option,
    )
    missing, names = option.about.missing, option.about.names
    if names == "prompts":
        return _show_upload(option, title, key)
    if option.about.words and in_link:  # the link has the choice, not its title
        return choose_one(
            st.selectbox, key, title, option.titles, option.default, help=option.about.help
        )
    about = {
        "help": option.about.help,
        **(bind(key) if in_link and names not in _ADDRESSES else {"key": key}),
    }
    if names == "server":
        return (
            st.text_input(title, option.default or "", placeholder=missing, **about).strip() or None
        )
    if option.kind is bool:
        return st.toggle(title, option.default, **about)
    if option.choices and option.several:
        return tuple(st.multiselect(title, list(option.choices), list(option.default), **about))
    if option.choices:
        choices, titles = list(option.choices), option.titles
        return st.selectbox(
            title,
            choices,
            index=None if option.default is None else choices.index(option.default),
            format_func=lambda choice: titles[choice] or "the server's default",
            placeholder=missing,
            **about,
        )
    if option.several and option.kind in (int, float):
        return st.text_input(title, ", ".join(f"{each:g}" for each in option.default), **about)
    if option.several or option.kind is Mapping:
        return st.text_input(
            title, ", ".join(option.default), placeholder=option.about.metavar, **about
        )
    if option.kind is Path or (option.kind is str and len(option.default or "") < _LONG):
        text = st.text_input(title, option.default or "", placeholder=missing, **about).strip()
        return None if option.default is None and not text else text
    if option.kind is str:
        return st.text_area(title, option.default, height=68, **about)
    if slider is not None:
        least, most, step = slider
        return st.slider(title, least, most, option.default, step, **about)
    return _show_number(option, title, about)


def _show_upload(option: Option, title: str, key: str) -> Any:
    if not may_upload():
        st.caption(f"{title}: readers cannot upload files.")
        return option.default
    file = st.file_uploader(title, ["csv", "jsonl"], help=option.about.help, key=f"upload-{key}")
    if file is None:
        return option.default
    from core.runs.prompt_files import PromptFile  # imports a method and every tool

    return PromptFile(file.name, file.getvalue())


def _deserialize_number(serde: NumberInputSerde, ui_value: float | None) -> float | None:
    """Return the default for what a browser can send and no person can type, where Streamlit raises
    ValueError: NaN and infinity for an integer."""
    return _deserialize(serde, ui_value if ui_value is None or math.isfinite(ui_value) else None)


_deserialize = NumberInputSerde.deserialize
NumberInputSerde.deserialize = _deserialize_number  # type: ignore[method-assign, assignment]


def _show_number(option: Option, title: str, about: Mapping[str, Any]) -> Any:
    kind: type = option.kind
    shape: dict[str, Any] = {} if kind is int else {"format": "%.4g"}
    if option.lowest is not None:
        shape["min_value"] = kind(option.lowest)
    if option.highest is not None:
        shape["max_value"] = kind(option.highest)
    if option.default is None:
        shape["placeholder"] = option.about.missing
    # Streamlit's step of 0.01 would pass over such numbers
    elif kind is float and 0 < option.default < _SMALL:
        shape["step"] = 10.0 ** (math.floor(math.log10(option.default)) - 1)
    return st.number_input(title, value=option.default, **shape, **about)


def with_missing(option: Option, words: str) -> Option:
    """Return a setting with other words for a missing value."""
    return replace(option, about=replace(option.about, missing=words))


def choose_setting(
    widget: Callable[..., Any],
    option: Option,
    owner: str,
    titles: Mapping[str, str],
    default: str | None,
    **more: Any,
) -> str | None:
    """Show a choice among ids for a setting, as `choose_one` does; more: arguments of the
    widget."""
    return choose_one(
        widget,
        key_of(option, owner),
        title_of(option),
        titles,
        default,
        help=option.about.help,
        **more,
    )


def choose_title(
    widget: Callable[..., Any], option: Option, default: str | None = None, **more: Any
) -> str:
    """Show a choice whose titles stand in links and presets, and return the choice.

    widget: as in `choose_one`. default: by default the setting's. more: arguments of the widget.
    """
    titles = option.titles
    usual = titles[option.default if default is None else default]
    at = (
        {"default": usual}
        if widget.__name__ in ("segmented_control", "pills")
        else {"index": [*titles.values()].index(usual)}
    )
    chosen = widget(
        title_of(option),
        [*titles.values()],
        help=option.about.help,
        **at,
        **more,
        **bind(key_of(option, ""), usual),
    )
    return dict(zip(titles.values(), titles, strict=True))[chosen]


def _show_sources(dataset: Dataset, key: str, option: Option) -> str:
    """Show the gene spaces or runs that an option may name; return the chosen ones with commas
    between them."""
    title = title_of(option)
    help = option.about.help
    if option.about.names == "spaces":
        return ",".join(
            st.multiselect(title, [space.name for space in all_spaces()], help=help, **bind(key))
        )
    names = {run.id: run.name for run in predicting_runs() if run.dataset == dataset.id}
    if option.about.names == "runs":
        return ",".join(choose_several(st.multiselect, key, title, names, help=help))
    return (
        choose_one(
            st.selectbox, key, title, names, index=None, help=help, placeholder="choose a run"
        )
        or ""
    )
