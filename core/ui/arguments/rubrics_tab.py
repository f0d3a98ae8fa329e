"""Arguments, tab Rubrics: how often the texts of a run have an answer, by role, and the texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from core.audit.brief_checks import FINDINGS
from core.audit.rubric import YES_NO, Rubric
from core.plots import theme
from core.scoring.rubric_rates import RubricRates
from core.scoring.rubric_words import kappa_sentence, quality_sentence, rates_table
from core.store.runs import Run
from core.texts import cell_text
from core.ui.arguments import choices, numbers, rates_figure, rubric_forms
from core.ui.shared import filters, links, loaders, tables
from core.ui.shared.linked import choose_one
from core.ui.shared.shell import PageContext
from core.ui.shared.widgets import as_text, show_captioned, show_empty

LISTED = 100  # texts below the rates
EXCERPT = 160  # characters of each
ALL = "all"  # of the roles
ROLES = tuple(theme.ROLE_COLOURS)  # in the order of a debate
_WIDTHS = (0.1, 0.12, 0.16, 0.25, 0.11, 0.26)
_HEAD = {
    "role": "",
    "texts": "Texts that the rubric asks about.",
    "with it": "Texts to which the judge gives the answer.",
    "as judged": "The judge's own rate. Its interval ignores the judge's errors.",
    "labels": "Texts that people labelled in a sample.",
    "corrected": "The judge's rate, corrected by people's labels of some of its texts (prediction-powered).",
}


def show(context: PageContext, run: Run) -> None:
    """Show the rates of the chosen rubric, its texts, and the forms for another rubric and another reading."""
    rubric_place, judge_place, answer_place = st.columns([0.52, 0.3, 0.18], vertical_alignment="bottom")
    rubric = choices.choose_rubric(context.workspace, run, rubric_place)
    if rubric is None:
        show_empty("No rubric yet: add one below.")
    else:
        judged_by = choices.choose_judge(run, rubric, judge_place)
        titles = {answer: answer for answer in rubric.answers}
        answer = choose_one(answer_place.selectbox, "answer", "Answer", titles, rubric.answers[0]) or rubric.answers[0]
        _show_rubric(run, rubric, judged_by, answer)
    rubric_forms.show(context, run, rubric)
    _show_list(run, choices.all_rubrics(context.workspace))


def _show_rubric(run: Run, rubric: Rubric, judged_by: str | None, answer: str) -> None:
    if judged_by is None:
        show_empty(
            f"{as_text(rubric.question)} There are no answers about {as_text(run.name)} yet. Let a model read it with the form "
            "below, or answer in the tab Label."
        )
        return
    texts = numbers.rate_texts(run.id, rubric, judged_by, answer)
    if texts.frame.empty:
        show_empty(f"{as_text(run.name)} has no text that this rubric asks about ({as_text(_scope_text(rubric))}).")
        return
    found = numbers.rates(run.id, rubric, judged_by, answer)
    if found.whole.says_nothing:
        show_empty(
            f"{as_text(rubric.question)} {choices.judges_of(run, rubric)[judged_by].capitalize()} says nothing of "
            f"{as_text(run.name)}: of its {texts.frame.shape[0]:,} texts none could be read, and nobody has labelled one. Add a "
            "rubric of your own below."
        )
        return

    captioned = rates_figure.of_run(run, rubric, found, choices.judges_of(run, rubric)[judged_by])
    st.markdown(f"**{as_text(captioned.sentence)}**")
    _show_what_labels_say(found)
    _show_rates(run, rubric, found, answer)
    show_captioned(captioned, "rubric-rates")
    _show_texts(run, rubric, judged_by, answer)


def _show_what_labels_say(found: RubricRates) -> None:
    """Show how far the rates can be trusted without labels, or how well judge and people agree."""
    whole = found.whole
    if whole.labels == 0:
        st.markdown(
            "This rate is the judge's own. Nobody has labelled a text, so the judge's error rate is unknown. "
            f"{whole.missing:,} labels would correct it: draw them in the tab Label."
        )
        return
    for sentence in filter(None, (quality_sentence(whole, "the judge", "this answer", "it"), kappa_sentence(found))):
        st.markdown(as_text(sentence))


def _show_rates(run: Run, rubric: Rubric, found: RubricRates, answer: str) -> None:
    """Show a line for each role; the number of its texts is a link to their rows where Rows can filter by it."""
    head = st.columns(_WIDTHS, vertical_alignment="bottom")
    for place, (title, meaning) in zip(head, _HEAD.items(), strict=True):
        place.caption(f"**{title}**", help=meaning or None)
    for line, rates in zip(rates_table(found), found.roles.values(), strict=True):
        places = dict(zip(_HEAD, st.columns(_WIDTHS, vertical_alignment="center"), strict=True))
        for title, place in places.items():
            if title == "with it":
                with place:
                    _show_count(run, rubric, str(line["role"]), rates.yes, answer)
            else:
                text = as_text(cell_text(line[title]))
                place.markdown(f"**{text}**" if title == "role" else text)
    unread = found.whole.unread
    if unread:
        st.caption(f"{unread:,} texts could not be read by the judge; the rate as judged leaves them out.")


def _show_count(run: Run, rubric: Rubric, role: str, n: int, answer: str) -> None:
    """Show how many texts have the answer: a link to their rows, or, for the user's own rubric, to the texts below."""
    choice = filters.ANY if role == ALL else role, rubric.rule
    if n and answer == YES_NO[0] and rubric.rule in FINDINGS and choice in filters.BRIEF_CHOICES.values():
        links.to_rows(run, f"{n:,}", brief=filters.brief_choice(*choice))
    elif n:
        st.button(f"{n:,}", key=f"texts-of-{role}", type="tertiary", on_click=_show_role, args=(role,), help="The texts below")
    else:
        st.markdown("0")


def _show_role(role: str) -> None:
    st.session_state["id-role"] = role


def _show_texts(run: Run, rubric: Rubric, judged_by: str, answer: str) -> None:
    """Show the first texts with the answer, of one role if one is chosen, each with a link to its row."""
    found = numbers.texts_with(run.id, rubric, judged_by, answer)
    of_role = found["role"].value_counts().to_dict()
    counts = {role: of_role[role] for role in sorted(of_role, key=lambda role: (ROLES.index(role) if role in ROLES else 9, role))}
    st.markdown(f"### Texts with the answer “{as_text(answer)}”")
    if found.empty:
        st.markdown("None.")
        return
    role = ALL
    if len(counts) > 1:
        titles = {ALL: f"all {len(found):,}", **{str(name): f"{name} {n:,}" for name, n in counts.items()}}
        role = choose_one(st.pills, "role", "Role", titles, ALL, label_visibility="collapsed") or ALL
    chosen = found if role == ALL else found[found["role"] == role]
    shown = chosen.head(LISTED)
    row_links = [links.page_address("rows", dataset=run.dataset, run=run.id, row=key) for key in shown["pair_id"]]
    texts = {"passage": shown["passage"], "text": shown["content"].str.slice(0, EXCERPT)}
    table = pd.DataFrame({"row": row_links, "role": shown["role"], "p": shown["p"], **texts})
    columns: dict[str, Any] = {
        "row": st.column_config.LinkColumn("row", display_text=r"row=([^&]+)"),
        "role": None if (shown["role"] == "").all() else "role",
        "p": None if shown["p"].isna().all() else st.column_config.NumberColumn(f"P({answer})", format="%.2f"),
        "passage": None if shown["passage"].eq("").all() else st.column_config.TextColumn("deciding passage", width="large"),
    }
    tables.show_table(table, "rubric-texts", columns, height=360)
    if len(chosen) > len(shown):
        st.caption(f"The first {len(shown):,} of {len(chosen):,}, in file order.")


def _show_list(run: Run, known: Sequence[Rubric]) -> None:
    """Show every rubric with its question and who answers it."""
    with st.expander(f"All {len(known):,} rubrics"):
        table = pd.DataFrame(
            [
                {
                    "rubric": links.page_address("arguments", dataset=run.dataset, run=run.id, rubric=rubric.name),
                    "question": rubric.question,
                    "answers": ", ".join(rubric.answers),
                    "asked of": _scope_text(rubric),
                    "answered by": _sources_text(run, rubric),
                }
                for rubric in known
            ]
        )
        column = st.column_config.LinkColumn("rubric", display_text=r"rubric=([^&]+)")
        tables.show_table(table, "rubrics", {"rubric": column})


def _scope_text(rubric: Rubric) -> str:
    unit = {"brief": "briefs", "speech": "speeches", "verdict": "verdicts", "row": "whole rows", "claim": "claims of a reading"}[
        rubric.unit
    ]
    return " ".join(filter(None, (unit, f"of {', '.join(rubric.roles)}" if rubric.roles else "", ", ".join(rubric.stages))))


def _sources_text(run: Run, rubric: Rubric) -> str:
    """Return who answered a rubric about this run, in words."""
    n_models = len(choices.finished_readings(run, rubric))
    n_labels = len({(label.pair_id, label.seq) for label in loaders.labels(rubric, run.id)})
    parts = [
        "a pattern" if rubric.pattern else "a rule" if rubric.rule else "",
        f"{n_models:,} reading{'s' * (n_models != 1)} by models" if n_models else "",
        f"people, {n_labels:,} texts" if n_labels else "",
    ]
    return "; ".join(filter(None, parts)) or "no one yet"
