"""Share, tabs Package a run and Check a file: a run as a submission, a file, and their problems."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import pandas as pd
import streamlit as st

from core.base.file_io import temporary_folder
from core.base.hashes import sha256_of
from core.base.texts import count_text
from core.base.types import Flag, Track
from core.features.importing.problems import SEVERITIES, Problem
from core.features.submissions import actions as submissions
from core.features.submissions.actions import CheckedPackage, PackageOptions
from core.features.submissions.rules import is_valid
from core.store.runs import Run
from core.ui import links, results, run_browser
from core.ui.linked import bind
from core.ui.loaders.cache import run_version
from core.ui.loaders.scores import run_rows
from core.ui.server_workspace import read_workspace
from core.ui.shell import PageContext, explain_errors
from core.ui.sign_in import may_upload
from core.ui.widgets import as_text, show_empty

TRACKS: tuple[Track, ...] = get_args(Track)
TRACK_OF: dict[str, Track] = {"prompt_only": "A", "local_model": "C"}  # the others are track B's
SIGNS = {"rejected": "✗", "against_rules": "⚠", "look": "·"}
ABOUT = {
    "A": "one prompt per row, three seeds, no tools",
    "B": "evidence tools, one language model",
    "C": "your own small model",
}
FIXED_BY = {
    "prompt_missing": "Add it under “Prompt and tools” above.",
    "tools_missing": "Add them under “Prompt and tools” above.",
    "trace_differs": "The switch above adds the arithmetic to every trace.",
}
LISTED = 8  # rows of a problem that are visible at once


def show_run(context: PageContext) -> None:
    """Show the chosen run as a submission, or why it cannot be one."""
    if context.run is None:
        run_browser.show_no_run(context)
    elif context.dataset is not None and context.dataset.headline == "macro":
        name = as_text(context.dataset.name)
        show_empty(
            f"{name} is a cell line of PerturbQA, whose test rows have labels: there is nothing to"
            " submit."
        )
    else:
        show_package(context.run)


def show_package(run: Run) -> None:
    """Show a run as a submission: its problems, row by row, and the zip if it has none."""
    track = _choose_track(TRACK_OF.get(run.method, "B"), "track")
    option, more, download = st.columns([0.36, 0.32, 0.32], vertical_alignment="bottom")
    # The numbers in the traces may differ from the submitted ones.
    differs = run.method == "fusion" or any(
        Flag.TRACE_DIFFERS in row for row in run_rows(run.id)["flags"]
    )
    fusion_trace = differs and option.toggle(
        "Add the fusion's arithmetic to each trace",
        help="Adds to every trace how the submitted probabilities follow from the debate's.",
        **bind("fusion_trace"),
    )
    with more.popover("Prompt and tools", width="stretch", icon=":material/attach_file:"):
        prompt, tools = _choose_attachments(track)
    with explain_errors():
        with st.spinner(f"Packaging {len(run_rows(run.id)):,} rows …"):
            package = _make_package(run.id, track, prompt, tools, fusion_trace, run_version(run.id))
        missing = submissions.missing_parts(package.problems)
        download.download_button(
            "Download the zip",
            package.content,
            f"{run.name.replace(' ', '_')}_track_{track}.zip",
            "application/zip",
            type="primary",
            icon=":material/download:",
            width="stretch",
            disabled=bool(missing),
            help="Parts are missing, or the judge would reject it; see below." if missing else None,
            key="download-zip",
        )
        _show_verdict(f"{run.name} for track {track}", package.problems)
        if not missing:
            sha256 = sha256_of(package.content)
            st.caption(
                f"{len(package.content):,} bytes, SHA-256 {sha256}; the same run always gives the"
                " same bytes."
            )
        _show_problems(package.problems, run)


def show_check(context: PageContext) -> None:
    """Check an uploaded file against the rows of the dataset."""
    if context.dataset is None:
        show_empty(
            "There is no dataset to check a file against.", lambda: links.to_data("Go to Data")
        )
        return
    if not may_upload():
        show_empty(
            "Readers cannot upload files here. Use `perturbdesk check FILE` on your own machine."
        )
        return
    track = _choose_track("B", "check_track")
    upload, rows = st.columns([0.6, 0.4], gap="medium")
    file = upload.file_uploader("A submission: zip or CSV", type=["zip", "csv"], key="check_file")
    labelled = rows.toggle(
        "The file predicts labelled rows",
        help="Without this, every row of the test split is expected.",
        **bind("check_labelled"),
    )
    if file is None:
        split = "training" if labelled else "test"
        st.caption(f"Every row of {as_text(context.dataset.name)}'s {split} split is expected.")
        return
    with explain_errors():
        with st.spinner(f"Checking {file.name} …"):
            problems = submissions.check_file(
                context.workspace,
                file.getvalue(),
                track,
                dataset=context.dataset.id,
                rows="split=train" if labelled else "",
                name=file.name,
            )
        _show_verdict(f"{file.name} for track {track}", problems)
        _show_problems(problems, None)


def _choose_track(default: Track, key: str) -> Track:
    chosen: Track = st.segmented_control(
        "Track", TRACKS, default=default, required=True, **bind(key, default)
    )
    st.caption(f"Track {chosen}: {ABOUT[chosen]}.")
    return chosen


def _choose_attachments(track: Track) -> tuple[str | None, tuple[tuple[str, bytes], ...]]:
    """Show uploads for a prompt and tools; the prompt's text and the tools' (name, content), if
    any."""
    if not may_upload():
        st.caption(
            "Readers cannot upload files. An editor adds the prompt and tools of an imported run."
        )
        return None, ()
    st.caption("A run made here includes its own. For an imported run, add the files that it used.")
    prompt = st.file_uploader("prompt.txt", type=["txt", "md"], key="prompt_file")
    tools = (
        st.file_uploader("Tools", type=["py"], accept_multiple_files=True, key="tool_files")
        if track == "B"
        else []
    )
    return (
        prompt.getvalue().decode("utf-8", "replace") if prompt else None,
        tuple((tool.name, tool.getvalue()) for tool in tools),
    )


@st.cache_data(max_entries=4, show_spinner=False)
def _make_package(
    run: str,
    track: Track,
    prompt: str | None,
    tools: tuple[tuple[str, bytes], ...],
    fusion_trace: bool,
    version: tuple[int, ...],
) -> CheckedPackage:
    """Return the package of a run and its problems; cached while the counters in `version` are
    unchanged."""
    del version  # part of the key only
    with temporary_folder("package") as folder:
        if prompt is not None:
            (folder / "prompt.txt").write_text(prompt, "utf-8")
        if tools:
            (folder / "tools").mkdir()
        for name, content in tools:
            (folder / "tools" / Path(name).name).write_bytes(content)
        wanted = PackageOptions(
            track,
            prompt=folder / "prompt.txt" if prompt is not None else None,
            tools=folder / "tools" if tools else None,
            fusion_trace=fusion_trace,
        )
        return submissions.check_run(read_workspace(), run, wanted)


def _show_verdict(what: str, problems: Sequence[Problem]) -> None:
    severities = [problem.severity for problem in problems]
    counts = [f"{name}: {n:,}" for key, name in SEVERITIES.items() if (n := severities.count(key))]
    sign = "✓ valid" if is_valid(problems) else "✗ not valid"
    st.markdown(f"### {sign}: {as_text(what)}")
    st.caption(f"{' · '.join(counts)}." if counts else "No problem was found.")


def _show_problems(problems: Sequence[Problem], run: Run | None) -> None:
    """Show each problem in full, with every row that it concerns."""
    for place, problem in enumerate(problems, start=1):
        n = len(problem.rows)
        with st.container(border=True):
            rows = f", {count_text(n, 'row')}" if n else ""
            severity = f"{SIGNS[problem.severity]} {SEVERITIES[problem.severity]}"
            st.markdown(f"**{severity}: {as_text(problem.rule.replace('_', ' '))}**{rows}")
            st.text(problem.message)
            if run is not None and problem.rule in FIXED_BY:
                st.caption(FIXED_BY[problem.rule])
            if n:
                with st.expander("Rows"):
                    _show_rows(problem, run, f"rows of problem {place}")


def _show_rows(problem: Problem, run: Run | None, name: str) -> None:
    """Show the rows of a problem; those of a run have links. name: of the table on the page."""
    table = pd.DataFrame({"row": [str(row) for row in problem.rows]})
    config = {}
    if run is not None:
        known = set(run_rows(run.id)["pair_id"])
        addresses = [links.row_address(run, row) if row in known else None for row in table["row"]]
        if any(addresses):
            table["debate"] = addresses
        config = {"debate": results.OPEN}
    results.show_table(table, name, config, height="content" if len(table) <= LISTED else "auto")
