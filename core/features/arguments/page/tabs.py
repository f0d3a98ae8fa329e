"""The tabs of Arguments: Rubrics (how often texts have an answer, and the texts), Label (people
answer for sampled texts), Worth (were rows with an answer predicted better?), and Findings (what a
model lists: claims, the clash of debates)."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from core.base.fields.record import option_of
from core.features.arguments import labels, readings
from core.features.arguments.findings import kinds
from core.features.arguments.page import choices, reader, rubric_forms
from core.features.arguments.rubric import Rubric
from core.features.arguments.rubric_tables import Sample, SampleRequest
from core.features.arguments.schema_reading import SchemaReading, reading_of_run
from core.methods.text_rules.text import YES_NO
from core.store.runs import Run
from core.ui import filters, links, results, run_browser, shell
from core.ui.linked import choose_one, choose_several
from core.ui.links import confirm
from core.ui.loaders.cache import cache_by
from core.ui.loaders.records import count_labelled, text_counts
from core.ui.option_controls import names_of_rest, show_settings
from core.ui.results import show_result
from core.ui.server_workspace import read_workspace
from core.ui.shell import PageContext, explain_errors
from core.ui.widgets import as_text, show_empty

LISTED = 100  # texts of a role below the rates
EXCERPT = 160  # characters of each


def show_rubrics(context: PageContext, run: Run) -> None:
    """Show the rates of the chosen rubric, its texts, and the forms for another rubric and another
    reading."""
    rubric_place, judge_place, answer_place = st.columns(
        [0.52, 0.3, 0.18], vertical_alignment="bottom"
    )
    rubric = choices.choose_rubric(context.workspace, run, rubric_place)
    if rubric is None:
        show_empty("No rubric yet: add one below.")
    else:
        judges = choices.judges_of(run, rubric)
        judged_by = choose_one(
            judge_place.selectbox,
            "judge",
            "Answered by",
            judges,
            next(iter(judges), None),
            disabled=not judges,
            placeholder="nothing yet",
        )
        titles = {answer: answer for answer in rubric.answers}
        answer = (
            choose_one(answer_place.selectbox, "answer", "Answer", titles, rubric.answers[0])
            or rubric.answers[0]
        )
        _show_rubric(run, rubric, judged_by, answer)
    rubric_forms.show_forms(context, run, rubric)


def _show_rubric(run: Run, rubric: Rubric, judged_by: str | None, answer: str) -> None:
    if judged_by is None:
        show_empty(
            f"{as_text(rubric.question)} There are no answers about {as_text(run.name)} yet. Let a"
            " model read it with the form below, or answer in the tab Label."
        )
        return
    rates = choices.rates(run.id, rubric, judged_by, answer)
    if rates is None or rates.whole.unread == rates.whole.n:
        judge = choices.judges_of(run, rubric)[judged_by]
        show_empty(
            f"{as_text(rubric.question)} {judge.capitalize()} says nothing of {as_text(run.name)}:"
            f" it finds no text to answer for ({as_text(_scope_text(rubric))}). Add a rubric of"
            " your own below."
        )
        return
    show_result(rates, run.name, "rubric-rates")
    found = choices.texts_with(run.id, rubric, judged_by, answer)
    st.markdown(f"### Texts with the answer “{as_text(answer)}”")
    finding = filters.ANY, rubric.rule
    if answer == YES_NO[0] and finding in filters.BRIEF_CHOICES.values():
        links.to_rows(run, "See their rows", brief=filters.brief_choice(*finding))
    table = found.groupby("role", sort=False).head(LISTED)
    table = table.assign(
        row=[links.row_address(run, key) for key in table["pair_id"]],
        text=table["content"].str.slice(0, EXCERPT),
    )[["row", "role", "p", "passage", "text"]]
    columns = {
        "row": st.column_config.LinkColumn("row", display_text=r"row=([^&]+)"),
        "p": st.column_config.NumberColumn(f"P({answer})", format="%.2f"),
        "passage": st.column_config.TextColumn("deciding passage", width="large"),
    }
    results.show_table(table.dropna(axis=1, how="all"), "rubric-texts", columns, height=360)
    if len(found) > len(table):
        st.caption(f"The first {LISTED} of each role, of {len(found):,}, in file order.")


def _scope_text(rubric: Rubric) -> str:
    roles = f"of {', '.join(rubric.roles)}" if rubric.roles else ""
    return " ".join(
        filter(
            None, (option_of(Rubric, "unit").titles[rubric.unit], roles, ", ".join(rubric.stages))
        )
    )


DEFAULT_SIZE = 100


def show_label(context: PageContext, run: Run) -> None:
    """Show the text to read next, or the form that draws texts."""
    if context.read_only:
        show_empty(
            "This workspace is read-only: you cannot label texts here. The tab Rubrics shows the"
            " results of labels."
        )
        return
    rubric_place, sample_place, person_place, new_place = st.columns(
        [0.38, 0.3, 0.17, 0.15], vertical_alignment="bottom"
    )
    rubric = choices.choose_rubric(context.workspace, run, rubric_place, to_label=True)
    if rubric is None:
        show_empty("No rubric takes labels yet: add one without a pattern in the tab Rubrics.")
        return
    own, is_signed_in = context.workspace.settings.author, context.workspace.person is not None
    typed = person_place.text_input(
        "Reader", own, key="name-reader", max_chars=120, disabled=is_signed_in
    )
    author = own if is_signed_in else (typed or "").strip()
    samples = choices.samples_of(rubric, run.id)
    sample = _choose_sample(samples, sample_place)
    if sample is None:
        show_empty(
            "No texts are drawn for this rubric and run yet. Draw some, then answer each text with"
            " one key.",
            lambda: _show_form(context, run, rubric, len(samples)),
        )
        return
    with new_place.popover("Draw another", width="stretch"):
        _show_form(context, run, rubric, len(samples))
    if not author:
        st.markdown("Enter your name: answers are stored by person.")
        return

    @shell.fragment  # an answer redraws nothing else
    def read() -> None:
        reader.show(reader.Reading(context.workspace, rubric, run, sample, author))

    read()


def _choose_sample(
    samples: Sequence[Sample], place: st.delta_generator.DeltaGenerator
) -> Sample | None:
    """Show the choice of a sample, the last drawn by default."""
    known = {sample.id: sample for sample in samples}
    if not known:
        return None
    titles = {key: _title(place, sample) for place, (key, sample) in enumerate(known.items(), 1)}
    last = next(reversed(known))
    return known[choose_one(place.selectbox, "sample", "Sample", titles, last) or last]


def _title(place: int, sample: Sample) -> str:
    at = f"{sample.drawn_at:%Y-%m-%d}" if sample.drawn_at else ""
    return f"{place}: {len(sample.texts):,} texts, {sample.design}, {at}, {sample.author}"


def _show_form(context: PageContext, run: Run, rubric: Rubric, n_samples: int) -> None:
    """Show the form that draws texts. A sample's seed is the number of earlier samples, so each
    sample has different texts."""
    chosen = show_settings(
        SampleRequest,
        "sample_",
        names_of_rest(SampleRequest, []),
        defaults={"sample": DEFAULT_SIZE},
    )
    if st.button("Draw texts", type="primary", key="draw-sample"):
        with explain_errors(), st.spinner("Drawing …"):
            sample = labels.draw_sample(
                context.workspace, rubric, run.id, chosen["sample"], chosen["by"], n_samples
            )
            confirm(f"{len(sample.texts):,} texts drawn.")


# of the built-in rubrics: the others are much alike
FIRST_TRIED = ("argues", "cites", "genes", "own_side")


def show_worth(context: PageContext, run: Run) -> None:
    """Show the table and the forest plot of the rubrics that are tested together."""
    if not count_labelled(run.id):
        show_empty(f"{as_text(run.name)} has no labelled row, so hits and misses are unknown.")
        run_browser.offer_labelled_run(context, links.ARGUMENTS)
        return
    judged: dict[str, tuple[Rubric, str]] = {}
    for rubric in readings.list_rubrics(context.workspace):
        if (
            choices.asks_about(run, rubric)
            and (judge := next(iter(choices.judges_of(run, rubric)), None)) is not None
        ):
            judged[rubric.name] = (rubric, judge)
    if not judged:
        show_empty(
            f"No rubric that asks about texts of {as_text(run.name)} has an answer yet. Start in"
            " the tab Rubrics. A rubric of your own may ask about whole rows."
        )
        return
    default = [
        name for name, (rubric, _) in judged.items() if not rubric.rule or name in FIRST_TRIED
    ]
    tried = choose_several(
        st.multiselect, "tried", "Rubrics tested together", {name: name for name in judged}, default
    )
    if not tried:
        show_empty(
            "No rubric is chosen. You can add your own in the tab Rubrics, about briefs, verdicts"
            " or whole rows."
        )
        return
    show_result(
        choices.worth(run.id, tuple(judged[name] for name in tried)), run.name, "rubric-worth"
    )


_MOST_SHOWN = 1_000  # findings in the table; the command lists all


def show_findings(context: PageContext, run: Run) -> None:
    """Show the choice of what is listed and by whom, its numbers, and each finding with its row."""
    titles = {name: f"{name}: {kind.schema.rubric.question}" for name, kind in kinds().items()}
    first = next(iter(titles))
    kind = kinds()[choose_one(st.selectbox, "findings", "What is listed", titles, first) or first]
    rubric = kind.schema.rubric
    readers = choices.judges_of(run, rubric)
    if not choices.asks_about(run, rubric) or (
        kind.schema.of == "debate" and "verdict" not in text_counts(run.id)
    ):
        show_empty(f"This run has no {kind.texts} to read.")
        return
    if not readers:
        show_empty(f"No model has read the {kind.texts} of this run yet. Start a reading below.")
    elif reader := choose_one(
        st.selectbox, "findings_reader", "Listed by", readers, next(iter(readers))
    ):
        with st.spinner("Reading the texts …"):
            reading = _reading(kind.name, run.id, reader)
        show_result(reading, run.name, f"findings-{kind.name}")
        rows = [kind.row(finding) for finding in reading.others[:_MOST_SHOWN]]
        listed = f"{len(rows):,} of {reading.n_findings:,} {kind.schema.listed}"
        with st.expander(f"{listed}, with links to their rows"):
            addresses = [
                links.page_address("rows", dataset=run.dataset, run=run.id, row=row["row"])
                for row in rows
            ]
            column = st.column_config.LinkColumn("row", display_text=r"row=([^&]+)")
            results.show_table(
                pd.DataFrame(rows).assign(row=addresses), kind.schema.listed, {"row": column}
            )
    rubric_forms.show_reading(context, run, rubric, unfolded=not readers)


@cache_by("run:{1}", "runs", "datasets", entries=4, shared=True)
def _reading(kind: str, run: str, reader: str) -> SchemaReading:
    return reading_of_run(read_workspace(), kinds()[kind], run, reader)
