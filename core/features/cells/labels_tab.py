"""Data, tab Import: how a dataset was made from a file of single cells, the form that makes one,
and the progress of running jobs.
"""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.base.fields.record import make, options_of
from core.features.cells import actions as cells
from core.features.cells.actions import KIND, LabelRequest
from core.features.cells.label_record import ScreenFolder
from core.features.cells.screen import LabelSettings
from core.features.cells.screen_figures import draw_effect_counts, draw_knockdown, draw_volcano
from core.features.cells.summaries import describe, summarize_labels
from core.features.importing.page.after_import import ask_path
from core.runs.jobs import control
from core.store.datasets import Dataset
from core.ui import links, score_box
from core.ui.confirmation import confirm
from core.ui.job_panel import watch_job
from core.ui.linked import choose_one
from core.ui.option_controls import names_of_rest, show_settings
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
    score_box.show_marks(dataset.marks)
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
