"""Data, tab Runs: what a run is and how it was made, and below it the record with its ids and hashes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import streamlit as st

from core.store.runs import Run
from core.ui.shared import links
from core.ui.shared.method_words import method_text, option_text
from core.ui.shared.widgets import as_text

_OF_RUNS = ("base", "with", "reference_runs")  # options that name runs by id


def show(run: Run, names: Mapping[str, str]) -> None:
    """Show a run's facts in words, links to its rows, and its record folded. names: of all runs, by id."""
    st.markdown("  \n".join(f"**{title}**: {as_text(value)}" for title, value in describe_run(run, names)))
    with st.container(horizontal=True):
        links.to_rows(run, "Open rows")
    with st.expander("Record: ids, hashes and settings"):
        record = {"id": run.id, "origin": run.origin, "PerturbDesk version": run.code_version, **run.spec}
        st.text("\n".join(f"{name}: {value}" for name, value in record.items()))


def describe_run(run: Run, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What a person wants to know of a run, as (title, words), as far as it is known. names: of all runs, by id."""
    track = f", track {run.track}" if run.track else ""
    yield "Method", f"{method_text(run.method)}{track}, {run.origin}"
    if run.model:
        yield "Model", run.model
    failed = f", {run.failed:,} failed" if run.failed else ""
    yield "Rows", f"{run.done:,} of {run.total:,}{failed}"
    if run.created_at:
        yield "Created", f"{run.created_at:%Y-%m-%d %H:%M}"
    if run.parents:
        yield "Made from", ", ".join(names.get(parent, "a deleted run") for parent in run.parents)
    if "file" in run.spec:
        yield "File", str(run.spec["file"])
    yield from _describe_maps(run)
    settings = [
        f"{option_text(name)} {_value_text(name, value, names)}"
        for name, value in run.spec.get("options", {}).items()
        if value not in ("", None) and not (name in ("base", "with") and run.parents)
    ]
    if settings:
        yield "Settings", "; ".join(settings)


def _describe_maps(run: Run) -> Iterator[tuple[str, str]]:
    """How the numbers of a run of predicted expression came about; nothing for other runs."""
    maps = run.spec.get("maps")
    if not isinstance(maps, Mapping):
        return
    yield "Read as", ", ".join(f"{role}: {name}" for role, name in run.spec.get("read_as", {}).items())
    if run.has_rank_scores:
        yield "Numbers", "ranks among the pairs that the file has"
    for name, fit in maps.items():
        if isinstance(fit, Mapping):
            fitted = f"{fit['n']:,} training pairs, {fit['positives']:,} of them positive"
            yield f"Map of {name}", f"logistic, intercept {fit['intercept']:.3g}, slope {fit['slope']:.3g}, fitted on {fitted}"
        else:
            yield f"Map of {name}", f"none: {fit}"


def _value_text(name: str, value: Any, names: Mapping[str, str]) -> str:
    """The value of an option; runs by their names."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if name in _OF_RUNS:
        return ", ".join(names.get(key, key) for key in str(value).split(","))
    return f"{value:g}" if isinstance(value, float) else str(value)
