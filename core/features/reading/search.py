"""A word or phrase in all runs of a dataset: the number of texts with it by run and role, then the
hits.

The list of hits is a custom component, since hundreds of links and marked
words are too many elements for Streamlit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st

from core.base.texts import count_text
from core.plots import drawing
from core.store.text_search import Hit, TextQuery
from core.ui import links, run_browser, shell
from core.ui.linked import bind, choose_one
from core.ui.loaders.records import dataset_rows, search_texts
from core.ui.shell import PageContext
from core.ui.widgets import as_text, show_empty, symbol_text

_HERE = Path(__file__).parent
_list = st.components.v2.component(
    "hit_list",
    html='<div class="hits"></div>',
    css=(_HERE / "hit_list.css").read_text("utf-8"),
    js=links.SCRIPT + (_HERE / "hit_list.js").read_text("utf-8"),
)


PAGE_ROLES = {"pert": "perturbation", "gene": "target gene"}


def show(context: PageContext) -> None:
    """Show the field for a phrase, the texts with it, and links to the rows."""
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
            "Searches the runs' texts and evidence: briefs, verdicts, agents' steps, dossiers. Case"
            " is ignored."
        )
        return
    shell.set_title(phrase, "Search")
    rows = dataset_rows(context.dataset.id)
    for role, title in PAGE_ROLES.items():
        for symbol in rows.loc[rows[role].str.lower() == phrase.strip().lower(), role].unique():
            links.to_symbol(role, symbol, f"{symbol_text(symbol)} as {title}: all its rows")
    _show_found({run.id: run.name for run in context.runs}, context.dataset.id, TextQuery(phrase))


def _show_found(names: Mapping[str, str], dataset: str, wanted: TextQuery) -> None:
    """Show the number of texts with the phrase, by run and role, and the chosen hits. names: of
    runs, by id."""
    found = search_texts(dataset, wanted)
    if not found.counts:
        show_empty(
            f"No text of {count_text(len(names), 'run')} contains “{as_text(wanted.phrase)}”."
        )
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
        found = search_texts(dataset, replace(wanted, run=run, role=role))
    of_chosen = [
        (each, n) for (each, r), n in found.counts.items() if run in ("", each) and role in ("", r)
    ]
    n_runs = len({each for each, _ in of_chosen})
    st.markdown(_sentence(sum(n for _, n in of_chosen), n_runs, len(found.hits)))
    # The same words of a row appear once, with every run that has them: fusions have their
    # parents' texts.
    of_rows: dict[str, dict[tuple[str, ...], list[Hit]]] = {}
    for hit in found.hits:
        of_rows.setdefault(hit.pair_id, {}).setdefault(
            (hit.role, hit.before, hit.hit, hit.after), []
        ).append(hit)
    groups = [
        {
            "pert": (first := next(iter(texts.values()))[0]).pert,
            "gene": first.gene,
            "hits": [_content(same, names, dataset, wanted.phrase) for same in texts.values()],
        }
        for texts in of_rows.values()
    ]
    _list(key="hits", data={"groups": groups})


def _choose(title: str, parameter: str, counts: Mapping[str, int], names: Mapping[str, str]) -> str:
    """Show a choice with the number of texts of each option; return the chosen one, "" for all.
    names: titles of options."""
    titles = {
        option: f"{as_text(names.get(option, option.replace('_', ' ')))} · {n:,}"
        for option, n in counts.items()
    }
    return choose_one(st.pills, parameter, title, titles, wrap=True) or ""


def _sentence(n: int, n_runs: int, n_listed: int) -> str:
    """Return how many texts of how many runs contain the phrase, and which of them are listed."""
    of_runs = f" in {count_text(n_runs, 'run')}"
    said = f"**{count_text(n, 'text')}{of_runs}**"
    if n_listed == n:
        return said
    in_turn = "one of each run in turn" if n_runs > 1 else "in file order"
    return f"{said}. Listed are {n_listed:,}, {in_turn}; choose a run or a role to see more."


def _content(
    same: Sequence[Hit], names: Mapping[str, str], dataset: str, phrase: str
) -> dict[str, Any]:
    """Return the component's content for equal words in several runs; links open the page Rows with
    the phrase searched."""
    hit = same[0]
    return {
        "role": hit.role.replace("_", " "),
        "colour": drawing.ROLE_COLOURS.get(hit.role, drawing.NONE),
        "before": hit.before,
        "hit": hit.hit,
        "after": hit.after,
        "runs": [
            {
                "name": names[run],
                "link": links.page_address(
                    "rows", dataset=dataset, run=run, row=hit.pair_id, q=phrase
                ),
            }
            for run in sorted({each.run for each in same}, key=[*names].index)
        ],
    }
