"""Overview, first screen: one verdict, one picture, what to check, what to do next, how to add the
user's own data.

Also public scores and their noise.
"""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from core.features import hooks
from core.features.reading import report_parts
from core.features.reading.overview import concerns
from core.scoring import sentences
from core.scoring.debate_audit import debates_sentence
from core.scoring.standing import PublicNoise, Standing, headline, public_noise
from core.store.predictions import CONFIDENTLY_WRONG
from core.ui import links, results
from core.ui.loaders.cache import refresh
from core.ui.loaders.records import count_labelled, dataset_counts, default_dataset, predicting_runs
from core.ui.loaders.scores import debate_audit, standing
from core.ui.shell import PageContext
from core.ui.widgets import as_text, flush, show_captioned, show_empty


def show_first_screen(context: PageContext) -> None:
    """Show the verdict across the page, and below it the picture beside the things to check and to
    do next."""
    verdict = st.container(key="verdict")
    picture, side = st.columns([0.68, 0.32], gap="large")
    place = verdict.empty()
    if context.dataset is not None:
        with verdict:
            results.show_marks(context.dataset.marks)
    place.skeleton(height=30)
    with picture, st.spinner("Scoring the runs …"):
        standings = {run.id: standing(run.id) for run in context.runs}
    said = headline({run.name: standings[run.id] for run in context.runs})
    place.markdown(f"**{as_text(said)}**", help=sentences.explain(f"no-biology {said}"))
    flush()
    with side:
        _show_next(context)
        if not context.read_only and (uploads := [*hooks("uploads")]):
            with st.expander("Bring your own data", icon=":material/upload:"):
                for show_upload in uploads:
                    show_upload(context.workspace, "-overview")
                st.caption("Or `perturbdesk import FOLDER`. Data has more options.")
    with picture:
        _show_picture(context, standings)
    with side:
        concerns.show_first(context)
    audits = [debate_audit(run.id) for run in context.runs if run.method == "debate"]
    if sentence := debates_sentence(audits):
        verdict.markdown(as_text(sentence), help=sentences.explain(sentence) or None)


def load_default() -> None:
    """Load what the page shows of the default dataset."""
    refresh()
    dataset_counts()
    dataset = default_dataset()
    for run in predicting_runs():
        if dataset is not None and run.dataset == dataset.id and not run.is_asked:
            standing(run.id)


def _show_picture(context: PageContext, standings: Mapping[str, Standing]) -> None:
    groups = report_parts.group_runs(context.runs, standings)
    if not groups:
        show_empty(
            "No run has labelled rows here, so none has a score.",
            lambda: links.to_data("Import a labelled split or a run"),
        )
        return
    dataset, chosen = (
        context.dataset.name if context.dataset else "",
        context.run.id if context.run else None,
    )
    show_captioned(report_parts.of_all(dataset, groups, standings, chosen), "standings")


def _show_next(context: PageContext) -> None:
    """Show what to do next: read what the run gets wrong, compare it, fuse it."""
    run = context.run
    if run is None:
        return
    st.markdown("**Next**")
    with st.container(gap="xxsmall"):
        if count_labelled(run.id) and not run.has_rank_scores:
            links.to_rows(
                run,
                f"See what {as_text(run.name)} gets wrong",
                icon=":material/forum:",
                order=CONFIDENTLY_WRONG,
            )
        else:
            links.to_rows(run, f"Read the rows of {as_text(run.name)}", icon=":material/forum:")
        links.to_page(links.COMPARE, "Compare it with another run", ":material/compare_arrows:")
        links.to_page(links.FUSE, "Fuse it with neighbours or another run", ":material/tune:")


def noise_of(context: PageContext, n_unlabelled: int) -> PublicNoise | None:
    """Return the noise of a public score of the chosen dataset."""
    return public_noise([standing(run.id).score for run in context.runs], n_unlabelled)


def show_published(context: PageContext, noise: PublicNoise | None) -> None:
    """Show the public scores of runs. They are on other rows than the scores here."""
    published = report_parts.runs_with_public_score(context.runs)
    if published:
        dataset, chosen = (
            context.dataset.name if context.dataset else "",
            context.run.id if context.run else None,
        )
        st.markdown("### Public scores")
        show_captioned(
            report_parts.of_published(dataset, published, noise, chosen), "ladder-public"
        )
