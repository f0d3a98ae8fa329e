"""Targets, tab Table: every model on the same rows, beside a random ranking and the ceiling of models of trained genes.

Targets, tab Published: the published table beside ours, and its differences.
"""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.actions import target_ranking
from core.actions.workspace import Workspace
from core.fields.record import make
from core.plots import ranking_by_k
from core.target_ranking.ceilings import ceilings_of
from core.target_ranking.evaluate import STRATA, EvaluationRequest, by_model
from core.target_ranking.expression import MASKS, targets_in
from core.target_ranking.metrics import MRR
from core.target_ranking.splits import Split
from core.target_ranking.tables import (
    METRICS,
    NOT_COMPARABLE,
    SOURCE,
    WHAT_A_TIE_IS,
    differences,
    evaluation_text,
    margin_table,
    metric_text,
    wide_published_table,
    wide_table,
)
from core.texts import estimate_text, number_text
from core.ui.shared import tables
from core.ui.shared.confirmation import confirm
from core.ui.shared.option_controls import show_more, show_settings
from core.ui.shared.shell import explain_errors
from core.ui.shared.widgets import Number, as_text, show_figure, show_numbers
from core.ui.targets.choices import MASK_WORDS, UNIT_WORDS, ShownRanking

STRATUM_WORDS = {
    "all": "all test conditions",
    "seen": "all targets perturbed in training",
    "part seen": "some targets perturbed in training",
    "unseen": "no target perturbed in training",
}
SHOWN_K = 10  # of the numbers at the top
_BEST = 3


def show(workspace: Workspace, shown: ShownRanking) -> None:
    """Show the table of an evaluation."""
    _show_numbers(shown)
    caption = f"Split {shown.split.name} · {evaluation_text(shown.saved)} · 95% intervals by condition"
    if shown.metric != MRR:
        _show_figure(shown, caption)
    tables.show_table(wide_table(shown.saved.table, shown.metric), f"targets-{shown.metric}")
    st.caption(as_text(f"{caption}. {WHAT_A_TIE_IS}"))
    _show_ceilings(shown.split)
    _show_margins(shown)
    if not workspace.settings.read_only:
        with st.expander("Evaluate with another mask or unit"):
            _show_form(workspace, shown)


def _best_first(shown: ShownRanking) -> pd.DataFrame:
    rows = by_model(shown.saved.table, shown.metric, _k_of(shown.metric))
    return rows.sort_values("estimate", ascending=False, kind="stable")


def _k_of(metric: str) -> int | None:
    return None if metric == MRR else SHOWN_K


def _show_numbers(shown: ShownRanking) -> None:
    """Show the best models at one k, the random level and the ceiling."""
    rows, title = _best_first(shown), metric_text(shown.metric, _k_of(shown.metric))
    numbers = []
    for row in rows.head(_BEST).to_dict("records"):
        interval = estimate_text(row["estimate"], row["low"], row["high"]).partition(" ")[2]
        below = f":small[{as_text(interval)}]"
        numbers.append(Number(f"{row['model']} {title}", number_text(row["estimate"]), below=below))
    first = rows.iloc[0]
    help_random = "The mean over all orders of the ranked genes, computed exactly."
    numbers.append(Number("random ranking", number_text(first["random"]), help_random, ":small[expected]"))
    help_ceiling = "The ceiling of models that rank only genes perturbed in training."
    numbers.append(Number("ceiling", number_text(first["ceiling"]), help_ceiling, ":small[trained genes only]"))
    show_numbers("targets", numbers, len(numbers))


def _show_figure(shown: ShownRanking, caption: str) -> None:
    table = shown.saved.table
    table = table[(table["metric"] == shown.metric) & (table["stratum"] == "all")]
    name = METRICS[shown.metric]
    chart = ranking_by_k.figure(table, str(_best_first(shown)["model"].iloc[0]), f"{name} in the first k")
    show_figure(chart, table, f"targets-by-k-{shown.metric}", f"{name} by k", f"{shown.folder.name} · {caption}")


def _show_ceilings(split: Split) -> None:
    steps = ceilings_of(split).steps()
    words = [f"{name} {', '.join(f'{value} from k = {k}' for k, value in found.items())}" for name, found in steps.items()]
    n_unseen = sum(split.trained_genes.isdisjoint(targets_in(condition)) for condition in split.test)
    st.markdown(
        as_text(
            f"{n_unseen:,} of {len(split.test):,} test conditions perturb no gene of the training conditions. Ceilings of "
            f"models that rank only trained genes, over conditions: {'; '.join(words)}."
        )
    )


def _show_margins(shown: ShownRanking) -> None:
    """Show how far each model is above a random ranking, by how many targets were trained."""
    st.markdown("#### Above a random ranking")
    k = _k_of(shown.metric)
    table = margin_table(shown.saved.table, shown.metric, k, {name: STRATUM_WORDS[name] for name in STRATA})
    tables.show_table(table, "targets-margins")
    untrained = ", ".join(shown.saved.facts["ranks_untrained"]) or "none of these models"
    st.caption(
        as_text(
            f"{metric_text(shown.metric, k)} minus the random level · 95% intervals by condition; one that excludes 0 is above "
            f"(or below) chance. Models that rank genes never perturbed in training: {untrained}."
        )
    )


def _show_form(workspace: Workspace, shown: ShownRanking) -> None:
    """Show the form that starts an evaluation."""
    chosen = show_settings(EvaluationRequest, "", ["unit", "mask"], columns=2)
    chosen |= show_more(EvaluationRequest, "", chosen)
    mask = chosen["mask"]
    st.caption(as_text(f"{MASKS[mask][0].upper()}{MASKS[mask][1:]}. The cells are read again from their file."))
    if st.button("Evaluate", key="evaluate-targets"):
        with explain_errors(), st.spinner("Ranking the genes …"):
            saved = target_ranking.evaluate_saved(workspace, shown.folder.name, make(EvaluationRequest, chosen))
            confirm(f"{shown.folder.name}: evaluated on {UNIT_WORDS[saved.facts['unit']]}, {MASK_WORDS[saved.facts['mask']]}.")
            st.query_params["evaluation"] = saved.key
            st.rerun()


def show_published(shown: ShownRanking | None) -> None:
    """Show the published table of a metric, and below it ours."""
    metric = "recall" if shown is None else shown.metric
    st.markdown(f"#### Published {METRICS[metric]}")
    tables.show_table(wide_published_table(metric), "targets-published")
    st.caption(as_text(f"From {SOURCE}. No intervals were published."))
    if shown is not None:
        st.markdown(f"#### Ours: {as_text(shown.folder.name)}")
        tables.show_table(wide_table(shown.saved.table, metric), "targets-ours")
        st.caption(as_text(evaluation_text(shown.saved)))
        sentences = differences(shown.saved.facts, shown.split.kind)
    else:
        sentences = list(NOT_COMPARABLE)
    st.markdown("#### Differences")
    for sentence in sentences:
        st.markdown(f"- {as_text(sentence)}")
