"""After an import: choose the imported dataset and its best run, and show a box with links.

Also the upload of files: tables, packs and embeddings, recognised by content. Overview has it, so
the readers of files are imported once there is a file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import streamlit as st

from core.base.config import Settings, import_folders
from core.features.importing.import_target import Imported, ImportOptions
from core.runs.workspace import Workspace
from core.store.datasets import Dataset
from core.store.predictions import CONFIDENTLY_WRONG
from core.store.runs import Run
from core.ui import links, sidebar
from core.ui.linked import bind
from core.ui.links import confirm
from core.ui.loaders.cache import refresh
from core.ui.loaders.records import all_datasets, count_labelled, predicting_runs
from core.ui.loaders.scores import standing
from core.ui.shell import explain_errors
from core.ui.widgets import as_text

NOTHING = ("failed", "unknown")  # kinds of files of which nothing was imported
_OUTCOMES = "_imported"  # session key: outcomes of the latest import, while its box is shown
_OF_RUNS = ("submission", "bundle", "external_score", "predicted_expression", "inspect_log")


def take(results: Sequence[Imported]) -> None:
    """Choose the imported content for the pages, store the message about it, and rerun the page."""
    from core.features.importing.page import import_preview

    refresh()
    import_preview.forget()
    imported = [each for each in results if each.kind not in NOTHING]
    runs = _runs_of(imported)
    best = _choose_best(runs)
    if best is not None:
        is_labelled = bool(count_labelled(best.id))
        sidebar.open_next(
            best,
            "imported just now"
            + (", the best with labels" if is_labelled and len(runs) > 1 else ""),
        )
    elif (dataset := _dataset_of(imported)) is not None:
        sidebar.open_dataset_next(dataset.id)
    st.session_state[_OUTCOMES] = list(results)
    confirm(_describe(results), *_ways(imported)[:1])


def show() -> None:
    """Show the latest import: what it added, links, and every file with rejected rows or a
    remark."""
    results: list[Imported] = st.session_state.get(_OUTCOMES, [])
    if not results:
        return
    with st.container(border=True, key="after-import"):
        st.markdown(f"**{as_text(_describe(results))}**")
        with st.container(horizontal=True, gap="medium"):
            for show_way in _ways([each for each in results if each.kind not in NOTHING]):
                show_way()
        for result in results:
            name = as_text(Path(result.path).name)
            if result.kind in NOTHING:
                st.error(
                    f"{name}: nothing imported. {as_text(result.message)}", icon=":material/error:"
                )
            elif result.rejected or result.message:
                rejected = (
                    f": **{len(result.rejected):,} rows rejected** (listed under History)"
                    if result.rejected
                    else ""
                )
                note = f" – {as_text(result.message)}" if result.message else ""
                (st.warning if result.rejected else st.info)(name + rejected + note)
        if st.button("Close", key="close-import"):
            st.session_state.pop(_OUTCOMES)
            st.rerun()


def _ways(imported: Sequence[Imported]) -> list[Callable[[], object]]:
    """Return links to the imported content: the best run's errors and score; else the dataset, or
    the spaces."""
    best = _choose_best(_runs_of(imported))
    if best is not None:
        return [
            lambda: _link_to_rows(best),
            lambda: links.to_page(links.OVERVIEW, "Its score", dataset=best.dataset, run=best.id),
        ]
    if (dataset := _dataset_of(imported)) is not None:
        return [lambda: links.to_dataset(dataset.id)]
    return (
        [lambda: links.to_data("Open spaces and packs", tab="Spaces and leaks")] if imported else []
    )


def _link_to_rows(run: Run) -> None:
    name, icon = as_text(run.name), ":material/arrow_forward:"
    if count_labelled(run.id) and not run.has_rank_scores:
        links.to_rows(run, f"Errors of {name}", icon=icon, order=CONFIDENTLY_WRONG)
    else:
        links.to_rows(run, f"Rows of {name}", icon=icon)


def _dataset_of(imported: Sequence[Imported]) -> Dataset | None:
    """Return the dataset made from these files."""
    names = {each.name for each in imported}
    return next((each for each in all_datasets() if each.name in names), None)


def _runs_of(imported: Sequence[Imported]) -> list[Run]:
    """Return the runs made from these files, each the newest of its name."""
    names = {each.name for each in imported if each.kind in _OF_RUNS}
    return list({run.name: run for run in predicting_runs() if run.name in names}.values())


def _choose_best(runs: Sequence[Run]) -> Run | None:
    """Return the run with the highest score, of probabilities before rank scores; the latest run if
    none has labels."""
    labelled = [run for run in runs if count_labelled(run.id)]
    if len(labelled) < 2:
        return (
            labelled[0]
            if labelled
            else max(reversed(runs), key=lambda run: run.method == "debate", default=None)
        )
    return max(
        labelled,
        key=lambda run: (
            not run.has_rank_scores,
            standing(run.id).score.headline.value.estimate,
        ),
    )


def _describe(results: Sequence[Imported]) -> str:
    """Return what was imported, in one line: the file and what it holds, or how many files."""
    imported = [each for each in results if each.kind not in NOTHING]
    new = [each for each in imported if each.new]
    if not results:
        return "No file to import was found there."
    if not imported:
        return "Nothing was imported."
    if not new:
        return "Nothing new: the content of these files is here already."
    if len(new) > 1:
        return f"Imported {len(new)} files, {sum(each.rows for each in new):,} rows."
    [file] = new
    rows = f"{file.rows:,} row{'s' * (file.rows != 1)}"
    return f"Imported {Path(file.path).name}: {file.kind.replace('_', ' ')}, {rows} in {file.name}."


def show_upload(workspace: Workspace, key: str, options: ImportOptions) -> None:
    """Show the upload, what its files are taken for, and its button; afterwards choose the imported
    content on the page."""
    label = "Tables, knowledge packs, embeddings: recognised by content"
    files = st.file_uploader(label, accept_multiple_files=True, key=f"upload{key}")
    if not files:
        st.button("Import uploaded files", disabled=True, type="primary")
        return
    from core.features.importing import actions as imports
    from core.features.importing.page import import_preview

    wanted = [(file, import_preview.ask_options(workspace, file, options)) for file in files]
    if st.button("Import uploaded files", type="primary"):
        with explain_errors():
            on_file = show_progress()
            take(
                [
                    made
                    for file, of in wanted
                    for made in imports.import_uploads(workspace, [(file.name, file)], of, on_file)
                ]
            )


def show_usual_upload(workspace: Workspace, key: str) -> None:
    """Show the upload with what an import does unless told otherwise."""
    show_upload(workspace, key, ImportOptions())


def show_progress() -> Callable[[float, str], object]:
    """Show a progress bar, and return the function that moves it and names the step."""
    bar = st.progress(0.0, "Reading …")
    return lambda share, what: bar.progress(share, as_text(f"{what} …"))


def ask_path(settings: Settings, title: str, example: str, key: str) -> str | None:
    """Show the field of a path and the folders that may contain it; return the path, None where
    paths are off."""
    folders = import_folders(settings, st.get_option("server.address"))
    if not folders:
        st.caption(
            "From this machine: off, since other machines can reach this app. Upload the file, or"
            " use a command."
        )
        return None
    path: str = st.text_input(title, placeholder=str(folders[0] / example), **bind(key))
    st.caption(f"Inside {' or '.join(as_text(folder) for folder in folders)}.")
    return path
