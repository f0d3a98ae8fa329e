"""The text below the explorer: how its numbers were made, and their caveats."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from core.errors import NothingCovered
from core.scoring import terms
from core.scoring.fusion_caveats import RANK_SCORES, RANKED
from core.scoring.run_scores import score_run
from core.scoring.sentences import UNSEEN
from core.store.runs import Run
from core.transfer.constant_components import constant_sentences, find_constant_components
from core.transfer.live_fusion import FusionComparison, LiveFusion
from core.transfer.run_cells import describe_scoring
from core.ui.fuse import fusion_controls
from core.ui.fuse.fusion_controls import FusionChoice
from core.ui.shared import loaders, space_numbers
from core.ui.shared.widgets import as_text

_SCORED = {
    "folds": UNSEEN,
    "loo": "biased if all genes are about equally similar: base claims on folds",
}


def prepare_or_say(choice: FusionChoice, baseline: Run) -> LiveFusion | None:
    """Return the prepared fusion; show a sentence and return None if a component covers none of the rows."""
    try:
        return fusion_controls.prepare_fusion(choice, baseline)
    except NothingCovered:
        n = f"{choice.base.total:,} rows of {as_text(choice.base.name)}"
        spaces = f" ({as_text(', '.join(choice.knn.spaces))})" if choice.knn is not None else ""
        st.markdown(
            f"**Nothing to fuse yet.** The choice above{spaces} covers none of the {n}. The space has none of their genes, or "
            "the run none of the rows. Choose another space in the settings below, or another run above."
        )
        return None


def show_caveats(choice: FusionChoice, prepared: LiveFusion) -> None:
    """Show the caveats: how the numbers are scored, and the score of the neighbours alone."""
    if not choice.labelled:
        return
    scored = describe_scoring(fusion_controls.protocols_of(choice))
    kind = choice.knn.protocol.kind if choice.knn is not None else "folds" if "cells" in scored else ""
    said = f"Scored {scored}" + (f": {_SCORED[kind]}" if kind in _SCORED else "")
    if prepared.cells is not None:
        said += ". The intervals include the variation over ten cuts of the folds; while you drag, "
        said += "that of the last weights is used"
    st.caption(as_text(f"{said}."), help=terms.explain(said))
    if sentence := fusion_controls.live_knn_sentence(choice):
        st.caption(as_text(f"{sentence[0].upper()}{sentence[1:]}."), help=terms.explain(sentence))
    task = fusion_controls.live_knn_task(choice)
    if task is not None:
        space_numbers.show_sentence(task, "Neighbours alone")


def show_remarks(choice: FusionChoice, prepared: LiveFusion, found: FusionComparison) -> None:
    """Show how the numbers were made, and which components change no order."""
    for sentence in constant_sentences(
        find_constant_components(prepared.percentiles.de, prepared.percentiles.up, prepared.cells),
        [choice.base.name, *map(fusion_controls.title_of, choice.others)],
    ):
        st.caption(as_text(sentence))
    uncovered = int(found.fused.uncovered.sum())
    parts = [f"{choice.base.name}, {found.n:,} rows"]
    if choice.knn is not None:
        parts.append(f"Neighbours: {choice.knn.describe()}")
    if uncovered:
        parts.append(f"Rows without a component, scored by the others: {uncovered:,}")
    parts += [RANKED[choice.how.reference], RANK_SCORES]
    st.caption(as_text(". ".join(parts) + "."))


def show_headline(choice: FusionChoice, found: FusionComparison) -> None:
    """Show, on a dataset that is judged by averages over genes, the fusion's average; the other numbers are pooled."""
    if choice.dataset.headline == "mean" or not choice.labelled:
        return
    rows = replace(loaders.scored_rows(choice.base.id), scores=found.fused.scores())
    headline = score_run(rows.under(fusion_controls.protocols_of(choice))).headline
    parts = ", ".join(f"{name} {text}" for name, text in headline.texts.items())
    st.markdown(
        f"{as_text(choice.dataset.name)} is judged by the {headline.name}: {parts}, over {headline.counted}. The other numbers "
        "of this page are over all pairs of rows."
    )
