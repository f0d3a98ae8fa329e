"""Data, tab Import: how a dataset was made from a file of single cells, the form that makes one and
the progress of running jobs; and a run from predicted expression, uploaded or on this machine.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from core.base.fields.record import make, options_of
from core.features.cells import actions as cells
from core.features.cells import predictions
from core.features.cells.actions import KIND, LabelRequest
from core.features.cells.conditions import READING
from core.features.cells.label_record import ScreenFolder, describe, summarize_labels
from core.features.cells.predicted_table import FORMATS as TABLES
from core.features.cells.predictions import PredictionOptions
from core.features.cells.screen import LabelSettings
from core.features.cells.screen_figures import draw_effect_counts, draw_knockdown, draw_volcano
from core.features.importing.page import after_import
from core.features.importing.page.after_import import ask_path
from core.features.importing.roles import CHANGES, ROLES
from core.runs.jobs import control
from core.store.datasets import Dataset
from core.ui import links, results
from core.ui.job_panel import watch_job
from core.ui.linked import bind, choose_one
from core.ui.links import confirm
from core.ui.loaders.records import all_datasets
from core.ui.option_controls import (
    choose_setting,
    key_of,
    names_of_rest,
    show_control,
    show_settings,
    title_of,
)
from core.ui.server_choice import choose_backend
from core.ui.shell import PageContext, explain_errors
from core.ui.widgets import as_text, show_empty, show_figure

_SHOWN_JOBS = 3
_OWNER = "cells_"  # the beginning of keys and query parameters
# Settings of the request that other parts of the form show.
_FURTHER = (*(option.name for option in options_of(LabelSettings)), "backend", "ray_address")


def show_labels(context: PageContext) -> None:
    """Show how the chosen dataset was made from cells, if it was, and the form that makes one."""
    is_made = False
    if context.dataset is not None:
        folder = cells.screen_folder(context.workspace, context.dataset.id)
        is_made = folder.is_whole
        if is_made:
            with explain_errors():
                _show_screen(context.dataset, folder)
    if not is_made:
        show_empty(
            "This dataset was not made from a file of single cells. A CRISPR screen as AnnData"
            " (.h5ad, counts in X) becomes a dataset here. Each perturbation is compared with the"
            " control cells, and pairs are labelled up, down or none."
        )
    show_jobs(context)
    if not context.read_only:
        with st.expander("Make a dataset from a file of cells", expanded=not is_made):
            show_form(context)


def _show_screen(dataset: Dataset, folder: ScreenFolder) -> None:
    record = folder.record()
    perturbations = folder.table("perturbations")
    summary = summarize_labels(dataset.name, record)
    st.markdown(f"**{as_text(summary.sentence)}**")
    results.show_marks(dataset.marks)
    st.text(
        "\n".join(
            [
                f"made of {record['file']}, SHA-256 {record['sha256'][:12]}",
                *summary.lines,
                *summary.caveats,
            ]
        )
    )
    thresholds = record["settings"]["thresholds"]
    st.caption(
        as_text(
            f"up or down: FDR < {thresholds['fdr']:g} and |log2 fold change| ≥"
            f" {thresholds['log2_fc']:.3g} · none: FDR ≥ {thresholds['none_fdr']:g} and |log2 fold"
            f" change| < {thresholds['none_log2_fc']:g} · {record['test']} · FDR:"
            f" {record['false_discovery_rate']} · fold change: {record['fold_change']}"
        )
    )
    _show_volcano(dataset, folder, perturbations, thresholds["fdr"], thresholds["log2_fc"])
    left, right = st.columns(2, gap="medium")
    with left:
        show_figure(
            draw_effect_counts(perturbations, record["settings"]["sampling"]["least_effects"]),
            perturbations,
            "effect-counts",
            "Genes that each perturbation changes",
            f"{dataset.name} · {len(perturbations):,} perturbations · all tested genes except the"
            " target",
        )
    with right:
        _show_knockdown(dataset, folder.table("guides"), record["settings"]["most_remaining"])


def _show_volcano(
    dataset: Dataset, folder: ScreenFolder, perturbations: pd.DataFrame, fdr: float, log2_fc: float
) -> None:
    ordered = perturbations.assign(total=perturbations["up"] + perturbations["down"]).sort_values(
        "total", ascending=False
    )
    names = {
        pert: f"{pert} · {total:,} genes change"
        for pert, total in zip(ordered["pert"], ordered["total"], strict=True)
    }
    pert = choose_one(st.selectbox, "cells_pert", "Perturbation", names, next(iter(names))) or next(
        iter(names)
    )
    effects = folder.table("effects", pert).astype({"gene": object, "label": object})
    table = effects.assign(label=effects["label"].where(effects["label"] != "left out", None)).drop(
        columns="pert"
    )
    n_cells = int(perturbations.loc[perturbations["pert"] == pert, "n_cells"].iloc[0])
    controls = "the controls of their strata" if folder.record()["strata"] > 1 else "all controls"
    show_figure(
        draw_volcano(table, pert, fdr, log2_fc),
        table,
        "volcano",
        f"What a knockdown of {pert} changes",
        f"{dataset.name} · {pert}, {n_cells:,} cells against {controls} ·"
        f" {table['fdr'].notna().sum():,} genes tested · one test a gene, no interval",
    )


def _show_knockdown(dataset: Dataset, guides: pd.DataFrame, most_remaining: float) -> None:
    if guides.empty:
        st.caption("None of the perturbed genes was measured, so whether guides work is unknown.")
        return
    n_guides = int((guides["guide"] != "").sum())
    show_figure(
        draw_knockdown(guides, most_remaining),
        guides,
        "knockdown",
        "Remaining expression of each guide's target",
        f"{dataset.name} · ◆ all cells of a perturbation · ○ one of {n_guides:,} guides · orange:"
        f" more than {most_remaining:.0%} remains",
    )


def show_form(context: PageContext) -> None:
    """Show the form: the file, what was found in it, the settings, and the button that starts."""
    title = "File on this machine (.h5ad)"
    path = ask_path(context.workspace.settings, title, "screen.h5ad", "cells_path")
    if path is None:
        return
    address = st.get_option("server.address")
    about = show_settings(LabelRequest, _OWNER, names_of_rest(LabelRequest, _FURTHER), columns=2)
    with explain_errors():
        with st.expander("Columns, thresholds and sampling (defaults as in the challenge)"):
            settings = show_settings(LabelSettings, _OWNER, columns=4)
            where = choose_backend(LabelRequest, _OWNER)
        if not path.strip():
            return
        found = cells.describe_typed(
            context.workspace, path, make(LabelSettings, settings), address
        )
        summary = describe(found)
        lines = "\n".join([summary.sentence, *summary.lines])
        st.code(lines, language=None, wrap_lines=True)  # its columns are below one another
        if st.button(
            "Make the dataset", type="primary", disabled=not about["name"], key="start-cells"
        ):
            cells.start_labels(
                context.workspace, path, make(LabelRequest, {**about, **settings, **where}), address
            )
            confirm(f"{about['name']} is being made in a separate process.")


def show_jobs(context: PageContext) -> None:
    """Show the last started job until its dataset is made and chosen."""
    chosen = "" if context.dataset is None else context.dataset.name
    for job in control.list_jobs(context.workspace, [KIND])[:_SHOWN_JOBS]:
        if job.state != "done":
            watch_job(context.workspace, KIND, job.key)
        elif (dataset := job.view.get("dataset")) is not None and job.name != chosen:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f"{as_text(job.name)}: made.")
                links.to_dataset(dataset)


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
