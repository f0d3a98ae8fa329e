"""The sidebar: dataset and run, the pages in groups, and the user's settings.

A page opens with the dataset and run of its link, else the last shown, else a run that suits it.
The app shows the reason for its own choices; a person's choice stays on all pages.

The palette: one field, opened by Ctrl K or ⌘ K, that finds pages, runs, target genes, perturbations
and rows. The browser finds pages and runs; the server finds symbols and rows, since there may be a
hundred thousand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from core.base.feature import resolve
from core.features import features
from core.runs.workspace import Workspace
from core.store.datasets import Dataset
from core.store.runs import Run
from core.ui import linked, links, sign_in
from core.ui.loaders.cache import cache_by
from core.ui.loaders.records import (
    all_datasets,
    all_runs,
    count_labelled,
    dataset_counts,
    dataset_rows,
    default_dataset,
    predicting_runs,
    runs_with_row,
)
from core.ui.server_workspace import read_workspace
from core.ui.widgets import as_text

MOST = 8  # most symbols of each role, and rows, that are listed
# column → what it holds, its page
_ROLES = {"pert": ("perturbation", "perturbation"), "gene": ("target gene", "gene")}
_HERE = Path(__file__).parent
_HTML = """<button type="button" class="open">Find anything <kbd></kbd></button>
<dialog aria-label="Find anything"><input type="text" role="combobox" aria-expanded="true"
aria-controls="found"
 aria-label="Page, run, gene or row" placeholder="page, run, gene, or perturbation and gene"
 autocomplete="off"
 spellcheck="false">
<div id="found" role="listbox" aria-label="Found"></div><p class="none"
role="status"></p></dialog>"""
_palette = st.components.v2.component(
    "palette",
    html=_HTML,
    css=(_HERE / "palette.css").read_text("utf-8"),
    js=links.SCRIPT + (_HERE / "palette.js").read_text("utf-8"),
)


MORE = "More"  # the group of pages that are listed under it while they are empty
_LONGEST = 22  # characters of a name that its choice shows in full


def show(
    product: str,
    workspace: Workspace,
    pages: Mapping[str, Sequence[Any]],
    open_page: Any,
    choice: Choice,
) -> None:
    """Show the sidebar. pages: the groups of `st.navigation`; open_page: the page that is shown."""
    parameters = choice.parameters
    with st.sidebar:
        st.markdown(f"**{product}**")
        _show_choices(choice)
        # Links with dataset and run. Streamlit's own links lack them, and setting them adds steps
        # to the browser's history.
        with st.container(gap=None, key="navigation"):
            for title, group in pages.items():
                listed = [page for page in group if page.visibility != "hidden"]
                empty = [
                    p
                    for p in listed
                    if title == MORE and p != open_page and not _has_content(p.url_path)
                ]
                if title not in ("", MORE) and listed:
                    st.caption(title)
                _show_links([page for page in listed if page not in empty], parameters)
                if empty:
                    with st.expander(MORE):
                        _show_links(empty, parameters)
        _show_palette(pages, choice.dataset, parameters)
        settings = workspace.settings
        place = settings.workspace.name or str(settings.workspace)
        suffix = ", read-only" if settings.read_only else ""
        st.caption(f"Workspace {as_text(place)}{suffix}", help=as_text(settings.workspace))
        sign_in.show_person(workspace)


def _has_content(page: str) -> bool:
    """Return whether this workspace has content for a page."""
    holds = (each.holds for of in features().values() for each in of.pages if each.name == page)
    return any(resolve(each)(read_workspace()) for each in holds if each)


def _show_choices(choice: Choice) -> None:
    """Show the choice of dataset and run, each with facts below it, and its full name if the choice
    cuts it."""
    dataset, run = choice.dataset, choice.run
    # ad-hoc runs are listed on the page Ask
    listed = [each for each in runs_of(dataset) if not each.is_asked or each == run]
    with st.container(gap="xxsmall", key="chosen"):
        _show_choice(
            "Dataset",
            "dataset",
            dataset.id if dataset else None,
            {each.id: _title(each) for each in all_datasets()},
        )
        if dataset is not None:
            counts = dataset_counts()
            counts = counts[counts["dataset"] == dataset.id]
            without = int(counts["unlabelled"].sum())
            _show_facts(
                _title(dataset),
                f"{int(counts['rows'].sum()) - without:,} labelled · {without:,} not",
            )
        _show_choice("Run", "run", run.id if run else None, {each.id: each.name for each in listed})
        if run is not None:
            _show_facts(run.name, describe_run(run), choice.why)


def _show_facts(name: str, facts: str, why: str = "") -> None:
    whole = f"**{as_text(name)}**  \n" if len(name) > _LONGEST else ""
    reason = f"  \nchosen: {as_text(why)}" if why else ""
    st.caption(f"{whole}{as_text(facts)}{reason}")


def _show_choice(label: str, name: str, chosen: str | None, titles: Mapping[str, str]) -> None:
    """Show the choice of a dataset or run by id. A new run keeps the address's other parameters, a
    new dataset does not."""
    key = f"choose_{name}"
    st.session_state[key] = chosen

    def set_address() -> None:
        of_dataset = dict.fromkeys(linked.names_of_ids()) if name == "dataset" else {}
        links.set_parameters({**of_dataset, name: st.session_state[key]})
        forget()

    st.selectbox(
        label,
        list(titles),
        key=f"choose_{name}",
        format_func=lambda option: titles.get(option, option),
        on_change=set_address,
        disabled=not titles,
        placeholder="none yet",
    )


def _title(dataset: Dataset) -> str:
    return f"{dataset.name} (demo)" if dataset.origin == "simulated" else dataset.name


def _show_links(listed: Sequence[Any], parameters: Mapping[str, str]) -> None:
    for page in listed:
        st.page_link(page, query_params=dict(parameters), width="stretch")


def runs_of(dataset: Dataset | None) -> list[Run]:
    """Return the predicting runs of a dataset, oldest first."""
    return [run for run in predicting_runs() if dataset is not None and run.dataset == dataset.id]


def _show_palette(
    pages: Mapping[str, Sequence[Any]], dataset: Dataset | None, query: Mapping[str, str]
) -> None:
    """Show the button that opens the palette. pages: the groups of `st.navigation`. query: the
    parameters of every link."""
    known = [
        {
            "kind": f"page{f', {title}' if title else ''}",
            "label": page.title,
            "link": links.page_address(page.url_path, **query),
        }
        for title, group in pages.items()
        for page in group
        if page.visibility != "hidden"
    ]
    known += [
        {
            "kind": "run",
            "label": run.name,
            "link": links.page_address("rows", dataset=run.dataset, run=run.id),
        }
        for run in reversed(predicting_runs())
    ]

    @st.fragment
    def draw() -> None:
        wanted = st.session_state.get("palette", {}).get("wanted") or ""
        found = []
        if dataset is not None and wanted:
            found = list(find_hits(dataset_rows(dataset.id), _symbols(dataset.id), wanted, query))
        _palette(
            key="palette",
            data={"known": known, "found": found, "of": wanted},
            on_wanted_change=lambda: None,
        )

    draw()


def find_hits(
    rows: pd.DataFrame, symbols: Mapping[str, Sequence[str]], wanted: str, query: Mapping[str, str]
) -> Iterator[dict[str, str]]:
    """Yield the matches of the typed words in a dataset: symbols that begin with them, then rows
    with such a pair; each with its link: of a row to Rows, in the chosen run or the latest run that
    has it; to its neighbours if no run has it.

    rows: with pert, gene and pair_id. symbols: those of each column, sorted. query: the parameters
    of every link.
    """
    words = wanted.replace("_", " ").replace("⟶", " ").replace(">", " ").lower().split()
    if not words:
        return
    for column, (what, page) in _ROLES.items() if len(words) == 1 else ():
        starting = [symbol for symbol in symbols[column] if symbol.lower().startswith(words[0])]
        for each in starting[:MOST]:
            yield {
                "kind": what,
                "label": each,
                "link": links.page_address(page, **query, name=each),
            }
    pert, gene = rows["pert"].str.lower(), rows["gene"].str.lower()
    if len(words) == 1:
        mask = (pert == words[0]) | (gene == words[0])
    else:
        mask = pert.str.startswith(words[0]) & gene.str.startswith(words[1])
    for row in rows[mask].head(MOST).itertuples():
        pair_id = str(row.pair_id)
        link = links.page_address("neighbours", **query, row=pair_id)
        if having := runs_with_row(query["dataset"], pair_id):
            run = query["run"] if query.get("run") in having else having[-1]
            link = links.page_address("rows", dataset=query["dataset"], run=run, row=pair_id)
        yield {"kind": "row", "label": f"{row.pert} ⟶ {row.gene}", "link": link}


@cache_by("datasets", entries=4, shared=True)
def _symbols(dataset: str) -> dict[str, list[str]]:
    """Return the symbols of each role in a dataset (id), sorted."""
    rows = dataset_rows(dataset)
    return {column: sorted(rows[column].unique(), key=str.lower) for column in _ROLES}


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

    @property
    def parameters(self) -> dict[str, str]:
        """The query parameters of every link: the ids of dataset and run."""
        found = {}
        if self.dataset is not None:
            found["dataset"] = self.dataset.id
        if self.run is not None:
            found["run"] = self.run.id
        return found


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
    found = max(reversed(runs), key=partial(_merits, address=address), default=None)
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
