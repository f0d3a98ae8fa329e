"""A word or phrase in all runs of a dataset: how many texts hold it by run and role, then the texts around it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import streamlit as st

from core.store.text_search import TextQuery
from core.ui.search import hit_list, recent
from core.ui.shared import links, loaders, run_browser, shell
from core.ui.shared.linked import bind, choose_one
from core.ui.shared.shell import PageContext
from core.ui.shared.widgets import as_text, show_empty, symbol_text

EXAMPLES = ("interferon", "transcription factor", "no direct")
PAGE_ROLES = {"pert": "perturbation", "gene": "target gene"}


def show(context: PageContext) -> None:
    """Show the field for a phrase, what holds it, and links to the rows."""
    st.markdown("## Search")
    if context.dataset is None or not context.runs:
        run_browser.show_no_run(context)
        return
    phrase = st.text_input(
        f"Word or phrase in all runs of {as_text(context.dataset.name)}",
        **bind("phrase"),
        placeholder="such as cell cycle",
        type="search",
    )
    if not phrase or not phrase.strip():
        st.caption(
            "Searches what the runs wrote and were given: briefs, verdicts, agents' steps, dossiers. Case does not matter."
        )
        recent.show("", [*loaders.dataset_rows(context.dataset.id)["pert"].head(1), *EXAMPLES])
        return
    shell.set_title(phrase, "Search")
    _show_symbols(context.dataset.id, phrase.strip())
    recent.show(phrase.strip(), [])
    _show_found({run.id: run.name for run in context.runs}, context.dataset.id, TextQuery(phrase))


def _show_symbols(dataset: str, phrase: str) -> None:
    """Show links to the pages of a gene whose symbol the phrase is."""
    rows = loaders.dataset_rows(dataset)
    for role, title in PAGE_ROLES.items():
        for symbol in rows.loc[rows[role].str.lower() == phrase.lower(), role].unique():
            links.to_symbol(role, symbol, f"{symbol_text(symbol)} as {title}: all its rows")


def _show_found(names: Mapping[str, str], dataset: str, wanted: TextQuery) -> None:
    """Show how many texts hold the phrase, by run and role, and those that are asked for. names: of runs, by id."""
    found = loaders.search_texts(dataset, wanted)
    if not found.counts:
        show_empty(f"No text of {len(names)} run{'s' * (len(names) != 1)} holds “{as_text(wanted.phrase)}”.")
        return
    of_runs: Counter[str] = Counter()
    for (run, _), n in found.counts.items():
        of_runs[run] += n
    run = _choose("Run", "of_run", of_runs, names)
    of_roles: Counter[str] = Counter()
    for (each, role), n in found.counts.items():
        of_roles[role] += n * (run in ("", each))
    role = _choose("Role", "role", +of_roles, {})
    if run or role:
        found = loaders.search_texts(dataset, replace(wanted, run=run, role=role))
    of_chosen = [(each, n) for (each, r), n in found.counts.items() if run in ("", each) and role in ("", r)]
    n_runs = len({each for each, _ in of_chosen})
    st.markdown(_sentence(sum(n for _, n in of_chosen), n_runs, len(found.hits)))
    hit_list.show(names, dataset, wanted.phrase, found.hits)


def _choose(title: str, parameter: str, counts: Mapping[str, int], names: Mapping[str, str]) -> str:
    """Show a choice with how many texts each option has; the chosen one, empty for all. names: of options, if they have some."""
    titles = {option: f"{as_text(names.get(option, option.replace('_', ' ')))} · {n:,}" for option, n in counts.items()}
    return choose_one(st.pills, parameter, title, titles, wrap=True) or ""


def _sentence(n: int, n_runs: int, n_listed: int) -> str:
    """How many texts of how many runs hold the phrase, and which of them are listed."""
    of_runs = f" in {n_runs:,} run{'s' * (n_runs != 1)}"
    said = f"**{n:,} text{'s' * (n != 1)}{of_runs}**"
    if n_listed == n:
        return said
    in_turn = "one of each run in turn" if n_runs > 1 else "in file order"
    return f"{said}. Listed are {n_listed:,}, {in_turn}; choose a run or a role to see its others."
