"""Data, tab Import: a run from predicted expression, uploaded or on this machine."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.base.fields.record import make, options_of
from core.features.cells import predictions
from core.features.cells.conditions import READING
from core.features.cells.predicted_table import FORMATS as TABLES
from core.features.cells.predictions import PredictionOptions
from core.features.importing.page import after_import
from core.features.importing.page.after_import import ask_path
from core.features.importing.roles import CHANGES, ROLES
from core.ui.linked import bind
from core.ui.loaders.records import all_datasets
from core.ui.option_controls import (
    choose_setting,
    key_of,
    names_of_rest,
    show_control,
    show_settings,
    title_of,
)
from core.ui.shell import PageContext, explain_errors

_PREDICTED = "predicted_"  # the beginning of keys and query parameters
_OPTIONS = {option.name: option for option in options_of(PredictionOptions)}
_ROLES = ("pert", "gene", *CHANGES, "standard_error", "z", "p", "adjusted_p")  # columns of a table


def show_predictions(context: PageContext) -> None:
    """Show the form that makes a run from predicted expression."""
    if context.workspace.settings.read_only:
        return
    with st.expander("A run from predicted expression"):
        st.markdown(
            "What STATE, GEARS or another model predicts. Cells, or one profile a perturbation:"
            " `.h5ad`. Or a table of predicted log2 fold changes: `.csv`, `.tsv`, `.parquet` or"
            " `.xlsx`. Each pair of the dataset gets P(DE) and P(up | DE)."
        )
        names = {each.id: each.name for each in all_datasets()}
        if not names:
            st.caption("There is no dataset with pairs to predict yet.")
            return
        which, called = st.columns(2, gap="medium")
        with which:
            here = context.dataset.id if context.dataset is not None else next(iter(names))
            dataset = choose_setting(st.selectbox, _OPTIONS["dataset"], _PREDICTED, names, here)
        with called:
            chosen = show_settings(PredictionOptions, _PREDICTED, ["name"])
        options = _ask_options({**chosen, "dataset": dataset})
        upload, path = st.columns(2, gap="medium")
        with upload:
            _show_upload(context, options)
        with path:
            _show_path(context, options)


def _ask_options(chosen: dict[str, Any]) -> PredictionOptions:
    """Show the options for reading the file. Empty ones are inferred from names and values."""
    with st.popover("How to read the file", width="content"):
        st.caption("Columns left empty are found by their names. The run's record lists them.")
        cells_side, table_side = st.columns(2, gap="medium")
        with cells_side:
            st.markdown("**Cells or profiles**")
            chosen |= show_settings(PredictionOptions, _PREDICTED, [*READING, "clip_negative"])
            st.markdown("**Both**")
            chosen |= show_settings(
                PredictionOptions, _PREDICTED, names_of_rest(PredictionOptions, ("real", *chosen))
            )
        with table_side:
            st.markdown("**Table**")
            given = {
                role: st.text_input(f"Column: {ROLES[role].meaning}", **bind(f"{_PREDICTED}{role}"))
                for role in _ROLES
            }
    return make(
        PredictionOptions,
        {**chosen, "columns": {role: column for role, column in given.items() if column}},
    )


def _show_upload(context: PageContext, options: PredictionOptions) -> None:
    kinds = [suffix.removeprefix(".") for suffix in (*predictions.CELL_FILES, *TABLES)]
    file = st.file_uploader("Predicted expression", kinds, key="upload-predicted")
    about = _OPTIONS["real"]
    real = st.file_uploader(
        title_of(about), ["h5ad", "zip"], help=about.about.help, key="upload-real"
    )
    second = None if real is None else (real.name, real.getvalue())
    if not st.button("Make a run from the upload", disabled=file is None) or file is None:
        return
    with explain_errors(), st.spinner("Reading …"):
        made = predictions.import_uploaded(
            context.workspace, (file.name, file.getvalue()), second, options
        )
        after_import.take([made])


def _show_path(context: PageContext, options: PredictionOptions) -> None:
    path = ask_path(
        context.workspace.settings, "Predicted expression on this machine", "…", "predicted_path"
    )
    if path is None:
        return
    real = show_control(_OPTIONS["real"], key_of(_OPTIONS["real"], _PREDICTED))
    if not st.button("Make a run from the file", disabled=not path):
        return
    with explain_errors(), st.spinner("Reading …"):
        after_import.take(
            [
                predictions.import_typed(
                    context.workspace, path, real or None, options, st.get_option("server.address")
                )
            ]
        )
