"""On a row: the form that asks it again with cards switched off or edited, and the change beside
that of asking again."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.base.fields.record import make
from core.base.types import LIVE_STATES, Evidence, Pair
from core.evidence import render
from core.features.asking.askings import AgainRequest, pair_askings, plan_again, start
from core.features.asking.changed_cards import (
    CardChange,
    card_name,
    describe_changes,
    read_changes,
    text_of,
)
from core.features.asking.methods.debate_again import DebateAgain
from core.features.asking.result import row_asked_again
from core.runs.request import cost_sentence
from core.runs.workspace import Workspace
from core.store.runs import Run
from core.ui import links
from core.ui.job_panel import job_of_run, show_job
from core.ui.linked import bind, choose_one, choose_several
from core.ui.links import confirm
from core.ui.loaders.records import all_runs, row_details
from core.ui.option_controls import show_calls, show_more, show_settings
from core.ui.results import show_result
from core.ui.shell import draw_until_ready, explain_errors
from core.ui.widgets import as_text

_ABOUT = (
    "Switch cards of the dossier off, or edit the text of one, and ask again. The unchanged row is"
    " asked again equally often, to measure the noise."
)
_NONE = "none"
_OWNER = "again_"  # the beginning of keys and query parameters
_FIRST = ("judge_only", "repeats", "endpoint")  # settings that are shown without opening anything


def show(
    workspace: Workspace,
    run: Run,
    pair: str,
    readings: Sequence[str],  # noqa: ARG001
) -> None:
    """Show the panel on a row that was answered."""
    if not row_details(run.id, pair).numbers["error"]:
        show_again(workspace, run, pair)


def show_again(workspace: Workspace, run: Run, pair: str, *, hides_label: bool = False) -> None:
    """Show a row's earlier repeats and the form that asks again in an expander, if it is of a
    debate that ran here.

    hides_label: show no link to Rows, which shows the row's label.
    """
    if run.method != DebateAgain.asks_again or "options" not in run.spec:
        return
    with st.expander(
        "Ask again with another dossier", on_change="rerun", **bind("again")
    ) as opened:
        if opened.open:
            st.caption(_ABOUT)
            with explain_errors():
                _show_askings(workspace, run, pair, hides_label=hides_label)
                if not workspace.settings.read_only:
                    _show_form(workspace, run, pair)


def _show_askings(workspace: Workspace, run: Run, pair: str, *, hides_label: bool) -> None:
    asked = {(made[1] or made[0]).id: made for made in pair_askings(all_runs(), run.id, pair)}
    if not asked:
        return
    titles = {key: _title(changed or unchanged) for key, (unchanged, changed) in asked.items()}
    newest = next(reversed(asked))
    chosen = choose_one(st.selectbox, "again_run", "Asked again", titles, newest) or newest
    ids = [made.id for made in asked[chosen] if made is not None]

    def present() -> list[Run]:
        every = {made.id: made for made in all_runs()}
        return [every[key] for key in ids]

    draw_until_ready(
        lambda: _show_asking(workspace, pair, present(), hides_label=hides_label),
        lambda: not any(made.status in LIVE_STATES for made in present()),
    )


def _title(run: Run) -> str:
    options = run.spec["options"]
    return (
        f"{describe_changes(read_changes(options['changes']))} · {options['ask']} ·"
        f" {options['repeats']} times"
    )


def _show_asking(
    workspace: Workspace, pair: str, made: Sequence[Run], *, hides_label: bool
) -> None:
    waiting = [run for run in made if run.status != "done"]
    for run in waiting:
        show_job(workspace, job_of_run(workspace, run))
    if waiting:
        return
    with workspace.store.read() as db:
        result = row_asked_again(db, pair, *(run.id for run in made))
    show_result(result, result.run, "asked-again")
    if not hides_label:
        with st.container(horizontal=True):
            for run, label in zip(
                made, ("Read the unchanged repeats", "Read the changed repeats"), strict=False
            ):
                links.to_row(run, pair, label)


def _show_form(workspace: Workspace, run: Run, pair: str) -> None:
    changes = _choose_changes(run, pair)
    chosen = show_settings(AgainRequest, _OWNER, _FIRST, columns=len(_FIRST)) | show_more(
        AgainRequest, _OWNER, _FIRST
    )
    request = make(
        AgainRequest, chosen, run=run.id, row=pair, changes=changes, calls=show_calls(_OWNER)
    )
    with st.container(horizontal=True):
        wants_cost = st.button("Estimate", key="estimate-again")
        wants_start = st.button(
            "Ask again", type="primary", icon=":material/play_arrow:", key="start-again"
        )
    if not wants_cost and not wants_start:
        return
    plan = plan_again(workspace, request)
    if not wants_start:
        st.markdown(as_text(cost_sentence(plan.cost, plan.left, 1)))
        return
    start(workspace, plan)
    st.session_state.pop("id-again_run", None)  # so that the choice is read from the address again
    links.set_parameters({"again_run": plan.arms[-1][1].key})
    confirm(
        f"{plan.left:,} run{'s' * (plan.left != 1)} of one row started; the page Run lists them."
    )


def _choose_changes(run: Run, pair_id: str) -> tuple[CardChange, ...]:
    details = row_details(run.id, pair_id)
    pair = Pair(pair_id, details.numbers["pert"], details.numbers["gene"], None, "")
    items = [Evidence(**{**item, "body": dict(item["body"])}) for item in details.dossier]
    cards = {card_name(item.tool, item.key): item for item in items}
    # The title of a card without the label view, which all cards share
    titles = {
        name: as_text(render.card_title({"tool": item.tool, "key": item.key.partition(" @ ")[0]}))
        for name, item in cards.items()
    }
    with_text = {name: title for name, title in titles.items() if text_of(cards[name], pair)}
    without = choose_several(
        st.pills,
        "again_without",
        "Cards to switch off",
        with_text,
        selection_mode="multi",
        wrap=True,
    )
    changes = [CardChange(cards[name].tool, cards[name].key) for name in without]
    others = {
        _NONE: _NONE,
        **{name: title for name, title in titles.items() if name not in without},
    }
    edited = choose_one(st.selectbox, "again_card", "Card to edit", others, _NONE)
    if edited is not None and edited != _NONE:
        card = cards[edited]
        key = f"note-again-{run.id}-{pair_id}-{edited}"
        text = st.text_area("New text", text_of(card, pair), key=key, height=120)
        changes.append(CardChange(card.tool, card.key, text))
    return tuple(changes)
