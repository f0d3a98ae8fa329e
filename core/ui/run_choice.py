"""The dataset and run that a page opens with: those of its link, else the last shown, else a run
that suits the page.

The app shows the reason for its own choices; a person's choice stays on all pages. Also the names
of methods and their options in words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from core.store.datasets import Dataset
from core.store.runs import Run
from core.ui.loaders.records import all_runs, count_labelled, dataset_counts, default_dataset

_METHODS = {"knn": "kNN"}


# session keys: ids last shown, and why the app chose that run
_RUN, _DATASET, _WHY = "_run", "_dataset", "_why"
# addresses of pages that show almost nothing for a run without labels
_NEED_LABELS = ("scores", "compare", "fuse")
_NEED_BRIEFS = ("arguments",)


@dataclass(frozen=True, slots=True)
class Choice:
    """The dataset and run shown. why: the app's reason for the run; "" if a person chose it.
    warning: a message, or ""."""

    dataset: Dataset | None
    run: Run | None
    why: str = ""
    warning: str = ""


def choose(address: str, datasets: Sequence[Dataset], runs: Sequence[Run]) -> Choice:
    """Return the dataset and run for the page of this address, and remember them for the next
    page."""
    wanted_run, wanted_dataset = st.query_params.get("run"), st.query_params.get("dataset")
    shown = st.session_state.get(_RUN)
    if wanted_run is None and wanted_dataset is None:
        wanted_run, wanted_dataset = shown, st.session_state.get(_DATASET)
    run = next((each for each in runs if wanted_run in (each.id, each.name)), None)
    warning = ""
    if wanted_run is not None and run is None:
        is_reading = any(wanted_run in (each.id, each.name) for each in all_runs())
        what = (
            "reads the texts of another run and predicts nothing"
            if is_reading
            else "is not in this workspace"
        )
        warning = f"The run that this link names {what}; showing another."
    in_dataset = run.dataset if run else wanted_dataset
    dataset = (
        next((each for each in datasets if in_dataset in (each.id, each.name)), None)
        or default_dataset()
    )
    why = st.session_state.get(_WHY, "") if run is not None and run.id == shown else ""
    if dataset is not None and (run is None or why):
        run, why = _choose_for(
            address,
            [each for each in runs if each.dataset == dataset.id and not each.is_asked],
            run,
            why,
        )
    st.session_state.update(
        {_RUN: run.id if run else None, _DATASET: dataset.id if dataset else None, _WHY: why}
    )
    return Choice(dataset, run, why, warning)


def open_next(run: Run, why: str) -> None:
    """Let the next page open with a run as the app's own choice, with this reason."""
    st.session_state.update({_RUN: run.id, _DATASET: run.dataset, _WHY: why})
    st.query_params.update({"dataset": run.dataset, "run": run.id})


def open_dataset_next(dataset: str) -> None:
    """Let the next page open with a dataset (id)."""
    forget()
    st.query_params.pop("run", None)
    st.query_params["dataset"] = dataset


def forget() -> None:
    """Forget the run last shown, since another was chosen or it was deleted."""
    st.session_state.pop(_RUN, None)
    st.session_state.pop(_WHY, None)


def describe_dataset(dataset: Dataset) -> str:
    """Return how many rows of a dataset have a label and how many have none: "7,705 labelled ·
    1,813 not"."""
    counts = dataset_counts()
    counts = counts[counts["dataset"] == dataset.id]
    without = int(counts["unlabelled"].sum())
    return f"{int(counts['rows'].sum()) - without:,} labelled · {without:,} not"


def describe_run(run: Run) -> str:
    """Return how many rows of a run have a label, and its method: "no labels · debate"."""
    labelled = count_labelled(run.id)
    has = (
        "no labels"
        if not labelled
        else f"{labelled:,} labelled"
        if labelled < run.done
        else f"{labelled:,} rows, all labelled"
    )
    return f"{has} · {method_text(run.method)}"


def _choose_for(
    address: str, runs: Sequence[Run], run: Run | None, why: str
) -> tuple[Run | None, str]:
    """Return the run for a page, and why: the last shown run if it suits the page, else the
    best."""
    if run is not None and _suits(run, address):
        return run, why
    found = max(reversed(runs), key=lambda each: _merits(each, address), default=None)
    what = "debate" if found is not None and found.method == "debate" else "run"
    return (
        found,
        ""
        if found is None
        else f"the latest {what}{' with labels' * bool(count_labelled(found.id))}",
    )


def _suits(run: Run, address: str) -> bool:
    if address in _NEED_LABELS:
        return count_labelled(run.id) > 0
    return run.method == "debate" if address in _NEED_BRIEFS else True


def _merits(run: Run, address: str) -> tuple[bool, ...]:
    """Return the sort key of runs to open: whether the page can show it, has labelled
    probabilities, was not made to be compared with another run, has arguments to read."""
    # of an experiment: it asks some rows of another run again
    is_arm = bool(run.parents and run.model)
    return (
        _suits(run, address),
        count_labelled(run.id) > 0 and not run.has_rank_scores,
        not is_arm,
        run.method == "debate",
    )


def method_text(name: str) -> str:
    """Return a method in words: "evidence rules"."""
    return _METHODS.get(name, name.replace("_", " "))


def option_text(name: str) -> str:
    """Return the name of an option without a title in words: "advocate tokens"."""
    return name.replace("_", " ")
