"""What stands below the explorer: what the fusion gains, and its caveats."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import streamlit as st

from core.base.errors import NothingCovered
from core.features.fuse.page import at_rest, fusion_controls
from core.features.fuse.page.fusion_controls import FusionChoice
from core.features.fuse.verdict import FusionVerdict
from core.features.neighbours.page import loaders as space_numbers
from core.features.neighbours.page import neighbour_controls
from core.features.neighbours.result import knn_sentence
from core.scoring.compare_runs import add_cut_noise
from core.scoring.fusion_caveats import CHOSEN, RANK_SCORES, RANKED
from core.scoring.run_scores import score_run
from core.store.runs import Run
from core.transfer.constant_components import constant_sentences
from core.transfer.live_fusion import FusionComparison, LiveFusion
from core.transfer.permutation_null import KnnNumbers
from core.transfer.run_cells import describe_scoring
from core.ui.loaders.scores import run_rows, scored_rows
from core.ui.results import show_result
from core.ui.widgets import as_text


def prepare_or_say(choice: FusionChoice, baseline: Run) -> LiveFusion | None:
    """Return the prepared fusion; show a sentence and return None if a component covers none of the
    rows."""
    try:
        return fusion_controls.prepare_fusion(choice, baseline)
    except NothingCovered:
        n = f"{choice.base.total:,} rows of {as_text(choice.base.name)}"
        spaces = f" ({as_text(', '.join(choice.knn.spaces))})" if choice.knn is not None else ""
        st.markdown(
            f"**Nothing to fuse yet.** The choice above{spaces} covers none of the {n}. The space"
            " has none of their genes, or the run none of the rows. Choose another space in the"
            " settings below, or another run above."
        )
        return None


def show_verdict(
    choice: FusionChoice, baseline: Run, prepared: LiveFusion, found: FusionComparison
) -> None:
    """Show what the fusion gains at the weights on screen, with the noise of cuts, and its
    caveats."""
    noise = at_rest.find_noise(choice, baseline) if choice.labelled else None
    if noise is not None:
        found = add_cut_noise(found, noise.before, noise.scores_at(choice.settings().weights()))
    names = [choice.base.name, *map(fusion_controls.title_of, choice.others)]
    constant = constant_sentences(
        names, prepared.percentiles.de, prepared.percentiles.up, prepared.cells
    )
    verdict = FusionVerdict(
        "the fusion",
        found.n,
        int(found.fused.uncovered.sum()),
        constant=tuple(constant),
        baseline=baseline.name,
        scored=describe_scoring(fusion_controls.protocols_of(choice)) if choice.labelled else "",
        comparison=found,
        remarks=tuple(_remarks(choice, prepared, found)),
    )
    show_result(verdict, choice.base.name, "fusion")
    knn, dataset = choice.knn, choice.dataset
    if choice.labelled and knn is not None and knn.protocol.kind == "folds":
        task = space_numbers.task_on_rows(dataset.id, dataset.name, knn, choice.base.id)
        space_numbers.show_sentence(task, "Neighbours alone")


def _remarks(choice: FusionChoice, prepared: LiveFusion, found: FusionComparison) -> Iterator[str]:
    if choice.labelled:
        yield f"{CHOSEN}; the map above says by how much."
        yield from _remarks_on_scoring(choice, prepared, found)
    if choice.knn is not None:
        yield f"Neighbours: {choice.knn.describe()}."
    if uncovered := int(found.fused.uncovered.sum()):
        yield f"Rows without a component, scored by the others: {uncovered:,}."
    yield f"{RANKED[choice.how.reference]}. {RANK_SCORES}."


def _remarks_on_scoring(
    choice: FusionChoice, prepared: LiveFusion, found: FusionComparison
) -> Iterator[str]:
    if choice.knn is not None and choice.knn.protocol.kind == "loo":
        yield (
            "Leave-one-out is biased if all genes are about equally similar: base claims on folds."
        )
    if prepared.cells is not None:
        yield (
            "The intervals include the variation over ten cuts of the folds; while you drag, that"
            " of the last weights is used."
        )
    # under folds, it takes a while and stands below
    if choice.knn is not None and choice.knn.protocol.kind != "folds":
        ids = tuple(run_rows(choice.base.id)["pair_id"])
        live = neighbour_controls.find_neighbours(choice.dataset, choice.knn, ids)
        numbers = KnnNumbers(choice.knn.protocol, neighbour_controls.evaluate_neighbours(live))
        sentence = knn_sentence(numbers)
        yield f"{sentence[0].upper()}{sentence[1:]}."
    if choice.dataset.headline != "mean":
        rows = replace(scored_rows(choice.base.id), scores=found.fused.scores())
        headline = score_run(rows.under(fusion_controls.protocols_of(choice))).headline
        parts = ", ".join(f"{name} {text}" for name, text in headline.texts.items())
        yield (
            f"{choice.dataset.name} is judged by the {headline.name}: {parts}, over"
            f" {headline.counted}. The other numbers of this page are over all pairs of rows."
        )
