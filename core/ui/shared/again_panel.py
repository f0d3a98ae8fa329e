"""A row asked again: with cards switched off or edited, the cost, and the change beside that of asking again without edits."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from core.actions import ask_again
from core.actions.ask_again import AgainRequest
from core.actions.workspace import Workspace
from core.engine.request import cost_sentence
from core.evidence import describe
from core.evidence.changed_cards import card_name, describe_changes, text_of
from core.experiments.asked_again import (
    LIMITS,
    AskedAgain,
    change_sentence,
    changes_of,
    noise_sentence,
    pair_askings,
    power_sentence,
    who_sentence,
)
from core.fields.record import make, option_of
from core.methods.debate_again import DebateAgain
from core.plots import asked_again as figure
from core.store.runs import Run
from core.types import LIVE_STATES, Evidence, Pair
from core.ui.shared import links, loaders
from core.ui.shared.confirmation import confirm
from core.ui.shared.job_panel import job_of_run, show_job
from core.ui.shared.linked import choose_one, choose_several
from core.ui.shared.option_controls import choose_setting, key_of, show_calls, show_more, show_settings, title_of
from core.ui.shared.shell import draw_until_ready, explain_errors
from core.ui.shared.widgets import as_text, show_figure

_ABOUT = (
    "Switch cards of the dossier off, or edit the text of one, and ask again. The unchanged row is asked again equally often, "
    "to measure the noise."
)
_WHO = {"judge": "the judge alone", "debate": "the whole debate"}
_NONE = "none"
_OWNER = "again_"  # the beginning of keys and query parameters


def show_again(run: Run, pair_id: str, *, workspace: Workspace, hides_label: bool = False) -> None:
    """Show a row's earlier repeats and the form that asks again. hides_label: as in `further.show_again`."""
    if not (run.method == DebateAgain.asks_again and "options" in run.spec):
        st.markdown("Only debates that ran here can be asked again; the settings of others are unknown.")
        return
    st.caption(_ABOUT)
    with explain_errors():
        _show_askings(workspace, run, pair_id, hides_label=hides_label)
        if not workspace.settings.read_only:
            _show_form(workspace, run, pair_id)


def _show_askings(workspace: Workspace, run: Run, pair_id: str, *, hides_label: bool) -> None:
    pairs = {(changed or unchanged).id: (unchanged, changed) for unchanged, changed in _pairs(run, pair_id)}
    if not pairs:
        return
    newest = next(reversed(pairs))
    titles = {key: _title(*each) for key, each in pairs.items()}
    chosen = choose_one(st.selectbox, "again_run", "Asked again", titles, newest) or newest
    ids = [each.id for each in pairs[chosen] if each is not None]

    def draw() -> None:
        _show_asking(workspace, pair_id, *[_present(each) for each in ids], hides_label=hides_label)

    draw_until_ready(draw, lambda: all(_is_over(_present(each)) for each in ids))


def _pairs(run: Run, pair_id: str) -> list[tuple[Run, Run | None]]:
    return pair_askings(loaders.askings_of_row(run.id, pair_id))


def _present(run: str) -> Run:
    return next(each for each in loaders.all_runs() if each.id == run)


def _is_over(run: Run) -> bool:
    return run.status not in LIVE_STATES


def _title(unchanged: Run, changed: Run | None) -> str:
    options = unchanged.spec["options"]
    what = describe_changes(changes_of(changed)) if changed is not None else "with nothing changed"
    return f"{what} · {'judge' if options['ask'] == 'judge' else 'debate'} · {options['repeats']} times"


def _show_asking(workspace: Workspace, pair_id: str, unchanged: Run, changed: Run | None = None, *, hides_label: bool) -> None:
    made = [each for each in (unchanged, changed) if each is not None]
    waiting = [each for each in made if each.status != "done"]
    for each in waiting:
        show_job(workspace, job_of_run(workspace, each))
    if waiting:
        return
    found = loaders.again_report(pair_id, unchanged.id, None if changed is None else changed.id)
    _show_found(found)
    if hides_label:
        return
    with st.container(horizontal=True):
        for each, label in zip(made, ("Read the unchanged repeats", "Read the changed repeats"), strict=False):
            links.to_row(each, pair_id, label)


def _show_found(found: AskedAgain) -> None:
    if found.changed is not None:
        for answer in found.answers:
            sign = ":material/check_circle:" if answer.is_outside else ":material/radio_button_unchecked:"
            st.markdown(f"{sign} {as_text(change_sentence(answer))}")
    st.markdown(as_text(" ".join(map(noise_sentence, found.answers))))
    table = _table(found)
    title = f"{found.pair_id} asked again"
    show_figure(figure.figure(table), table, "asked-again", title, f"{who_sentence(found)} Band: the range with nothing changed.")
    if found.changed is not None:
        st.caption(as_text(f"{power_sentence(found)} {LIMITS}".strip()))


def _table(found: AskedAgain) -> pd.DataFrame:
    rows: list[tuple[str, str, float]] = []
    for each in found.answers:
        rows += [(each.name, figure.AGAIN, float(p)) for p in each.again]
        rows += [(each.name, figure.CHANGED, float(p)) for p in each.changed]
        rows.append((each.name, figure.STANDS, each.stands))
    return pd.DataFrame(rows, columns=list(figure.COLUMNS))


def _show_form(workspace: Workspace, run: Run, pair_id: str) -> None:
    details = loaders.row_details(run.id, pair_id)
    items = [Evidence(**{**item, "body": dict(item["body"])}) for item in details.dossier]
    row = details.numbers
    request = _show_choices(run, Pair(pair_id, row["pert"], row["gene"], None, ""), items)
    with st.container(horizontal=True):
        wants_cost = st.button("Estimate", key="estimate-again")
        wants_start = st.button("Ask again", type="primary", icon=":material/play_arrow:", key="start-again")
    if not wants_cost and not wants_start:
        return
    plan = ask_again.plan_again(workspace, request)
    if not wants_start:
        st.markdown(as_text(cost_sentence(plan.cost, plan.left, 1)))
        return
    ask_again.start_apart(workspace, plan)
    st.session_state.pop("id-again_run", None)  # so that the choice is read from the address again
    links.set_parameter("again_run", plan.arms[-1].spec.key)
    confirm(f"{plan.left:,} run{'s' * (plan.left != 1)} of one row started; the page Run lists them.")
    st.rerun()


def _show_choices(run: Run, pair: Pair, items: list[Evidence]) -> AgainRequest:
    names = [card_name(item.tool, item.key) for item in items]
    # The title of a card without the label view, which all cards share
    titles = {
        name: as_text(describe.card_title({"tool": item.tool, "key": item.key.partition(" @ ")[0]}))
        for name, item in zip(names, items, strict=True)
    }
    with_text = {name: title for (name, title), item in zip(titles.items(), items, strict=True) if text_of(item, pair)}
    left_out, edited, asked = (option_of(AgainRequest, name) for name in ("without", "text", "judge_only"))
    pills: dict[str, Any] = {"help": left_out.help, "selection_mode": "multi", "wrap": True}
    without = choose_several(st.pills, key_of(left_out, _OWNER), title_of(left_out), with_text, **pills)
    others = {_NONE: _NONE, **{name: title for name, title in titles.items() if name not in without}}
    card = choose_setting(st.selectbox, edited, _OWNER, others, _NONE)
    texts = {}
    if card is not None and card != _NONE:
        before = text_of(items[names.index(card)], pair)
        text = st.text_area("New text", before, key=f"note-again-{run.id}-{pair.pair_id}-{card}", height=120)
        texts = {card: text}
    one, two, three = st.columns([0.45, 0.2, 0.35], vertical_alignment="bottom")
    with one:
        who = choose_setting(st.selectbox, asked, _OWNER, _WHO, "judge")
    with two:
        chosen = show_settings(AgainRequest, _OWNER, ["repeats"])
    with three:
        chosen |= show_settings(AgainRequest, _OWNER, ["endpoint"])
    chosen |= show_more(AgainRequest, _OWNER, ("without", "text", "judge_only", *chosen))
    chosen |= {"without": without, "text": texts, "judge_only": who != "debate"}
    return make(AgainRequest, chosen, run=run.id, row=pair.pair_id, calls=show_calls(_OWNER))
