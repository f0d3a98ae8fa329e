"""A control for each option of a method or an ablation."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.actions import prompt_files
from core.methods.base import Option
from core.store.datasets import Dataset
from core.ui.shared import loaders
from core.ui.shared.linked import bind, choose_one, choose_several
from core.ui.shared.method_words import option_text
from core.ui.shared.sign_in import may_upload

SOURCES = ("spaces", "run", "runs")  # kinds of options that name what is in the workspace


def show_option(dataset: Dataset, owner: str, option: Option) -> Any:
    """Show the control of an option and return its value; owner: the begin of its key and query parameter."""
    key, title = f"{owner}-{option.name}", option_text(option.name)
    if option.kind in SOURCES:
        return _show_sources(dataset, key, title, option)
    if option.kind == "prompts":
        if not may_upload():
            st.caption(f"{title}: readers upload no file.")
            return option.default
        file = st.file_uploader(title, ["csv", "jsonl"], help=option.help, key=f"upload-{key}")
        return option.default if file is None else prompt_files.of_upload(file.name, file.getvalue())
    if option.kind == "flag":
        return st.toggle(title, option.default, help=option.help, **bind(key))
    if option.kind == "choice":
        choices = list(option.choices)
        return st.selectbox(
            title,
            choices,
            index=choices.index(option.default),
            format_func=lambda choice: choice or "the server's default",
            help=option.help,
            **bind(key),
        )
    if option.kind == "text":
        return st.text_area(title, option.default, help=option.help, height=68, **bind(key))
    least = None if option.least is None else type(option.default)(option.least)
    most = None if option.most is None else type(option.default)(option.most)
    return st.number_input(title, least, most, option.default, help=option.help, **bind(key))


def _show_sources(dataset: Dataset, key: str, title: str, option: Option) -> str:
    """Show the gene spaces or runs that an option may name; return the chosen ones with commas between them."""
    if option.kind == "spaces":
        return ",".join(st.multiselect(title, [space.name for space in loaders.all_spaces()], help=option.help, **bind(key)))
    names = {run.id: run.name for run in loaders.predicting_runs() if run.dataset == dataset.id}
    if option.kind == "runs":
        return ",".join(choose_several(st.multiselect, key, title, names, help=option.help))
    return choose_one(st.selectbox, key, title, names, index=None, help=option.help, placeholder="choose a run") or ""
