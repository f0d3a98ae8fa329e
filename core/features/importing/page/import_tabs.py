"""The tabs of the Data page about imports, runs and changes.

Data, tab Runs and notes: the facts about a run, and below them the record with its ids and hashes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial

import pandas as pd
import streamlit as st

from core.features import hooks
from core.features.importing import actions as imports
from core.features.importing import allowed_paths, bundle_actions, export, imported_rows
from core.features.importing.fetch import SOURCES
from core.features.importing.import_target import ImportOptions
from core.features.importing.page import after_import
from core.features.importing.page.after_import import ask_path
from core.plots.printed import file_name
from core.runs import actions as runs
from core.store.runs import Run
from core.ui import links, results, sidebar
from core.ui.linked import bind, choose_one
from core.ui.links import confirm
from core.ui.loaders.cache import refresh
from core.ui.loaders.records import all_imports, all_runs, latest_changes, rejected_rows
from core.ui.shell import PageContext, explain_errors
from core.ui.sidebar import method_text, option_text
from core.ui.widgets import as_text, show_empty

# the most important first
_FILE_COLUMNS = ["file", "kind", "rows", "rejected", "run", "dataset", "imported_at", "author"]
FETCHABLE = {
    "challenge": "the challenge's train, test and sample files",
    "published": (
        "the published entry's ten submissions, with their public scores, and two labelled pools"
    ),
    "perturbqa": "PerturbQA: human CRISPRi, five sets",
}


def show_import(context: PageContext) -> None:
    """Show the ways to import: by upload, by path, from public sources."""
    if context.workspace.settings.read_only:
        show_empty("This workspace is read-only: you cannot import here.")
        return
    after_import.show()
    with st.expander("Options"):
        dataset = st.text_input(
            "Dataset that the rows belong to",
            placeholder="recognised by their ids",
            **bind("import_dataset"),
        )
        strict = st.toggle(
            "Refuse a file if one of its rows cannot be read", **bind("import_strict")
        )
        effect, direction = st.columns(2)
        de = effect.text_input(
            "External scores: column for DE",
            placeholder="each column becomes a run",
            **bind("import_de"),
        )
        up = direction.text_input(
            "External scores: column for DIR",
            placeholder="each column becomes a run",
            **bind("import_dir"),
        )
    options = ImportOptions(dataset=dataset or None, strict=strict, de=de or None, dir=up or None)
    st.markdown("**Upload**")
    after_import.show_upload(context.workspace, "", options)
    path, public = st.columns(2, gap="medium")
    with path:
        _show_path(context, options)
    with public:
        _show_public_files(context)


def _show_path(context: PageContext, options: ImportOptions) -> None:
    st.markdown("**From this machine**")
    path = ask_path(context.workspace.settings, "File or folder", "challenge", "import_path")
    if path is not None and st.button("Import path", disabled=not path):
        with explain_errors():
            address = st.get_option("server.address")
            made = allowed_paths.import_path(
                context.workspace, path, options, address, after_import.show_progress()
            )
            after_import.take(made)


def _show_public_files(context: PageContext) -> None:
    st.markdown("**Public files**")
    groups = {name: FETCHABLE[name] for name in SOURCES}
    group = choose_one(st.selectbox, "fetch_group", "Source", groups, next(iter(groups)))
    if not st.button("Fetch and import") or group is None:
        return
    progress = st.progress(0.0, "connecting …")

    def show_progress(name: str, done: int, total: int) -> None:
        progress.progress(done / total if total else 0.0, f"{name}: {done:,} of {total:,} bytes")

    after_import.take(imports.fetch_and_import(context.workspace, group, show_progress))


def show_imports(context: PageContext, files: pd.DataFrame) -> None:
    """Show every imported file, and a way to undo an import."""
    if files.empty:
        show_empty("Nothing has been imported yet.")
        return
    results.show_table(
        files.assign(kind=files["kind"].str.replace("_", " "))[_FILE_COLUMNS],
        "imported files",
        {
            "imported_at": "imported",
            "author": "by",
        },
    )
    if context.workspace.settings.read_only:
        return
    titles = dict(
        zip(files["id"], files["file"] + " · " + files["kind"].str.replace("_", " "), strict=True)
    )
    which, go = st.columns([0.7, 0.3], vertical_alignment="bottom")
    chosen = which.selectbox(
        "Undo an import",
        list(titles),
        format_func=lambda key: titles[key],
        index=None,
        key="undo_which",
    )
    with_runs = which.toggle("Also delete the runs on its rows", key="undo_with_runs")
    if not go.button("Undo import", disabled=chosen is None):
        return
    with explain_errors():
        found = imported_rows.undo(context.workspace, str(chosen), with_runs=with_runs)
        refresh()
        confirm(f"Undone: {found.file} with {found.rows:,} rows.", links.to_changes)


def show_run(context: PageContext) -> None:
    """Show the chosen run: its facts, its bundle, and forms to rename, score, annotate or delete
    it."""
    run = context.run
    if run is None:
        show_empty("No run is chosen: this dataset has none.")
        return
    names = {each.id: each.name for each in all_runs()}
    st.markdown(
        "  \n".join(
            f"**{title}**: {as_text(value)}" for title, value in describe_run(run, names).items()
        )
    )
    links.to_rows(run, "Open rows")
    with st.expander("Record: ids, hashes and settings"):
        record = {
            "id": run.id,
            "origin": run.origin,
            "PerturbDesk version": run.code_version,
            **run.spec,
        }
        st.text("\n".join(f"{name}: {value}" for name, value in record.items()))
    show_exports(context, run)
    if context.workspace.settings.read_only:
        return
    with st.form("run"):
        name = st.text_input("Name", run.name, key=f"name-{run.id}")
        score = st.text_input(
            "Public score",
            "" if run.public_score is None else f"{run.public_score:g}",
            key=f"score-{run.id}",
            help="Mean of DE and DIR AUROC on the public part of the test set, between 0 and 1.",
        )
        note = st.text_area("Note", run.note or "", key=f"note-{run.id}")
        if st.form_submit_button("Save"):
            _save(context, run, name, score, note)
    with st.popover("Delete this run"):
        st.markdown(
            f"Deletes {run.done:,} rows with their traces and notes. An imported file can be"
            " imported again."
        )
        if st.button("Delete", type="primary"):
            runs.delete(context.workspace, run.id)
            st.query_params.pop("run", None)
            sidebar.forget()
            confirm(f"Deleted {run.name} with its {run.done:,} rows.", links.to_changes)


def _save(context: PageContext, run: Run, name: str, score: str, note: str) -> None:
    with explain_errors():
        if name != run.name:
            runs.rename(context.workspace, run.id, name)
        runs.set_values(context.workspace, run.id, {"public_score": score, "note": note})
        text = (
            f"Renamed {run.name} to {name.strip()}." if name != run.name else f"Saved {run.name}."
        )
        confirm(text, lambda: links.to_rows(run, "Open rows"))


def describe_run(run: Run, names: Mapping[str, str]) -> dict[str, str]:
    """Return the known facts about a run by their titles, in words. names: of all runs, by id."""
    options = {name: value for name, value in run.spec.get("options", {}).items() if value != ""}
    facts = {
        "Method": f"{method_text(run.method)}{f', track {run.track}' if run.track else ''},"
        f" {run.origin}",
        "Model": run.model or "",
        "Rows": f"{run.done:,} of {run.total:,}{f', {run.failed:,} failed' if run.failed else ''}",
        "Created": f"{run.created_at:%Y-%m-%d %H:%M}" if run.created_at else "",
        "Made from": ", ".join(names.get(parent, "a deleted run") for parent in run.parents),
        "File": str(run.spec.get("file", "")),
        "Settings": "; ".join(
            f"{option_text(name)}: {names.get(str(value), value)}"
            for name, value in options.items()
            if value is not None
        ),
    }
    return {title: words for title, words in facts.items() if words}


def show_history(context: PageContext) -> None:
    """Show what was imported, which rows could not be read, and every change."""
    st.markdown("### Imported files")
    show_imports(context, all_imports())
    st.markdown("### Rejected rows")
    rejected = rejected_rows()
    if rejected.empty:
        show_empty("Every row of every imported file could be read.")
    else:
        counts = rejected.groupby(["file", "reason"]).size().rename("rows").reset_index()
        results.show_table(counts, "rejected rows counted")
        results.show_table(rejected, "rejected rows", height="auto")
    st.markdown("### Changes")
    changes = latest_changes()
    if changes.empty:
        show_empty("Nothing has been changed yet.")
        return
    shown = pd.DataFrame(
        {
            "when": changes["changed_at"].dt.strftime("%Y-%m-%d %H:%M"),
            "by": changes["author"].map(as_text),
            "what": changes["action"].map(as_text),
            "of": changes["subject"].map(as_text),
            "detail": changes["detail"].map(detail_text).map(as_text),
        }
    )
    # the style sheet sets its column widths; a static table wraps its lines
    with st.container(key="changes"):
        st.table(shown, border="horizontal", hide_index=True, alt="The latest changes")


def detail_text(detail: str) -> str:
    """Return the detail of a change, recorded as JSON, as "rows: 2499, name: debate"."""
    recorded: dict[str, object] = json.loads(detail)
    return ", ".join(f"{name.replace('_', ' ')}: {value}" for name, value in recorded.items())


_FORMS: tuple[export.RunFormat, ...] = ("csv", "parquet", "jsonl")
_LOG: tuple[export.RunFormat, ...] = ("eval",)
# Title, end of the names of the files, and their formats.
_FILES = (
    ("Predictions", "predictions", _FORMS),
    ("Traces", "traces", _FORMS),
    ("Both, for Inspect AI", "log", _LOG),
)
_WORDS = {"csv": "CSV", "parquet": "Parquet", "jsonl": "JSON lines", "eval": "Log"}


def show_exports(context: PageContext, run: Run) -> None:
    """Show the exports of a run: a bundle, its rows as tables, and what other features write."""
    with st.container(horizontal=True):
        with st.popover("Send to a colleague", icon=":material/ios_share:", width="content"):
            _show_bundle(context, run)
        with st.popover("Rows as a table", icon=":material/download:", width="content"):
            _show_tables(context, run)
        for show_files in hooks("run_files"):
            show_files(context, run)


def _show_tables(context: PageContext, run: Run) -> None:
    """Show the buttons that write a run's predictions, one row per pair, and its traces, one row
    per event."""
    for title, stem, forms in _FILES:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(title, width="content")
            for form in forms:
                build = partial(_build, context, run, form, with_traces=stem != "predictions")
                file = f"{file_name(run.name, stem)}.{form}"
                st.download_button(
                    _WORDS[form],
                    build,
                    file,
                    on_click="ignore",
                    type="tertiary",
                    key=f"{stem}-{form}",
                )


def _build(context: PageContext, run: Run, form: export.RunFormat, *, with_traces: bool) -> bytes:
    return export.export(context.workspace, run.id, form, with_traces=with_traces)[0]


def _show_bundle(context: PageContext, run: Run) -> None:
    """Show a button that packs the run and its parts into one file, and then the download."""
    st.markdown(
        "One file with the run's rows, traces, evidence, calls and notes. A colleague who has the"
        " dataset imports it here."
    )
    st.caption("It contains no labels except those that its evidence and prompts quote.")
    if not st.button("Make the file", key=f"bundle-{run.id}"):
        return
    with explain_errors():
        with st.spinner("Packing …"):
            bundle = bundle_actions.build_bundle(context.workspace, run.id)
        for problem in bundle.problems:
            st.caption(f":orange[⚠] {as_text(problem.message)}")
        content = bundle.content
        st.download_button(
            "Download the file",
            content,
            bundle.file_name,
            "application/zip",
            type="primary",
            on_click="ignore",
        )
        st.caption(f"{len(content):,} bytes, SHA-256 {bundle.sha256}")
