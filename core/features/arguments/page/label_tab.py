"""Arguments, tab Label: people answer the rubric for sampled texts, one text after the other."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.features.arguments import labels
from core.features.arguments.finding_kinds import kinds
from core.features.arguments.page import choices, loaders, reader
from core.features.arguments.rubric import Rubric
from core.features.arguments.rubric_tables import Sample
from core.features.arguments.text_sampling import SampleRequest
from core.store.runs import Run
from core.ui import shell
from core.ui.confirmation import confirm
from core.ui.linked import choose_one
from core.ui.option_controls import names_of_rest, show_settings
from core.ui.shell import PageContext, explain_errors
from core.ui.widgets import as_text, show_empty

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
    if rubric.unit == "claim":
        finished = choices.finished_readings(run, kinds()["claims"].schema.rubric)
        if not finished:
            show_empty(
                "No model has read this run's claims yet: the tab Findings starts a reading."
            )
            return
        run = finished[0]
        st.caption(as_text(f"Listed by {run.name}"))
    own, is_signed_in = context.workspace.settings.author, context.workspace.person is not None
    typed = person_place.text_input(
        "Reader", own, key="name-reader", max_chars=120, disabled=is_signed_in
    )
    author = own if is_signed_in else (typed or "").strip()
    samples = loaders.samples_of(rubric, run.id)
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
