"""The tabs of the page Scores on each gene and perturbation, on three classes, and on distance to the training rows."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.report.figures import decision_curve, distance_scores, group_scores, risk_coverage
from core.scoring.class_scores import ClassScores, per_hundred
from core.scoring.group_scores import AXES
from core.scoring.other_scores import METRICS
from core.scoring.run_scores import RunScore
from core.scoring.sentences import SIDE_WORDS, interval_text, limits_text
from core.stats.three_classes import CLASSES, ClassLoss
from core.stats.verdicts import side_of
from core.store.runs import Run
from core.texts import number_text
from core.ui.shared import loaders, tables
from core.ui.shared.linked import bind
from core.ui.shared.widgets import Number, as_text, show_captioned, show_numbers

_MACRO = "The mean of three AUROCs: up, down and none, each against the other two, by its own probability."
_LOG_LOSS = "The mean of −log p of the true class. The number below is that of the class shares alone."
_BRIER = "The mean squared distance of the three probabilities from the true class; 0 is perfect, 2 the worst."


def show_groups(run: Run) -> None:
    """Show the AUROC of each gene or perturbation, raw and partially pooled."""
    left, right = st.columns(2)
    axis = left.segmented_control("One AUROC per", list(AXES), default="target gene", **bind("group-axis")) or "target gene"
    metric = right.segmented_control("Metric", list(METRICS), default="DE", **bind("group-metric")) or "DE"
    found = group_scores.of_scores(run.name, loaders.group_scores(run.id, AXES[axis], METRICS[metric]))
    st.markdown(as_text(found.sentence))
    show_captioned(found, f"groups-{axis}-{metric}")
    st.caption(
        "A raw AUROC of a few rows is mostly chance, above all the highest and the lowest. Partial pooling keeps only the part "
        "of its distance from the mean that exceeds chance."
    )


def show_classes(run: Run) -> None:
    """Show a run as three classes: AUROCs, losses, the decision curve, hits per hundred validated."""
    found = loaders.class_scores(run.id)
    show_numbers("classes", _class_numbers(found), 3)
    st.caption("Here up and down are each compared with all other rows, not only with rows that have an effect.")
    left, right = st.columns([0.55, 0.45], gap="medium")
    with left:
        show_captioned(decision_curve.of_scores(run.name, found), "decision-curve")
    with right:
        _show_hits(found)
    curves = risk_coverage.of_curves(run.name, loaders.abstain_curves(run.id))
    st.markdown("**With abstention**")
    st.markdown(as_text(curves.sentence))
    show_captioned(curves, "risk-coverage")


def _class_numbers(found: ClassScores) -> list[Number]:
    each = ", ".join(f"{name} {number_text(getattr(found.aurocs, name).value)}" for name in CLASSES)
    macro = found.aurocs.macro
    numbers = [
        Number(
            "macro AUROC",
            number_text(macro.value),
            _MACRO,
            f"{limits_text(macro.shown)}  \n{each}, {found.n:,} rows labelled up, down or none",
        )
    ]
    for name, about, loss in (("log-loss", _LOG_LOSS, found.log_loss), ("Brier score", _BRIER, found.brier)):
        if loss is not None:
            numbers.append(Number(name, number_text(loss.loss.value), about, _loss_words(loss)))
    return numbers


def _loss_words(loss: ClassLoss) -> str:
    verdict = SIDE_WORDS[side_of(loss.gain.shown)]
    return f"{limits_text(loss.loss.shown)}  \n{verdict}; the shares alone {number_text(loss.of_shares)}"


def _show_hits(found: ClassScores) -> None:
    table = pd.DataFrame(
        [
            (effect.k, per_hundred(effect), per_hundred(directed))
            for effect, directed in zip(found.effects, found.directed, strict=True)
            if not pd.isna(effect.precision.value)
        ],
        columns=["validated", "an effect", "in the predicted direction"],
    )
    st.markdown("**Hits per hundred validated rows**")
    tables.show_table(
        table, "hits per hundred", {"validated": st.column_config.NumberColumn("top rows validated", format="localized")}
    )
    rates = [found.effects[0].base_rate, found.directed[0].base_rate] if len(table) else []
    if rates:
        st.caption(
            f"Random rows: {100 * rates[0]:.0f} have an effect, {100 * rates[1]:.0f} the predicted direction. "
            "The left column uses the highest P(DE), the right one the highest P(up) or P(down)."
        )


def show_distance(run: Run, score: RunScore) -> None:
    """Show the score by distance to the training rows, in a gene space or the network."""
    known = loaders.distances(run.dataset)
    if not known:
        st.markdown("Distances need a network, or a gene space made without labels. Build or import one on the page Data.")
        return
    left, middle, right = st.columns(3, vertical_alignment="bottom")
    by = left.selectbox("Distance in", known, **bind("distance-by"))
    axis = middle.segmented_control("Of the row's", list(AXES), default="target gene", **bind("distance-axis")) or "target gene"
    metric = right.segmented_control("Metric", ["mean", "DE", "DIR"], default="mean", **bind("distance-metric")) or "mean"
    found = loaders.distance_scores(run.id, by, AXES[axis])
    overall, control = (getattr(each.whole, metric.lower()).value for each in (score, loaders.count_score(run.id)))
    figure = distance_scores.of_scores(run.name, found, overall, control, metric)
    st.markdown(as_text(figure.sentence))
    show_captioned(figure, f"distance-{by}-{axis}-{metric}")
    if found.change is not None:
        parts = ", ".join(f"{name} {interval_text(one.shown, signed=True)}" for name, one in found.change.parts.items())
        st.caption(as_text(f"Farthest less nearest: {parts}."))
