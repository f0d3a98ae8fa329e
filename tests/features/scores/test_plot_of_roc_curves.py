"""ROC curves and their table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.texts import NO_BIOLOGY
from core.features.scores.plots import roc_curves
from core.stats.auroc import roc_curve
from core.stats.scores_and_labels import scores_from_probabilities

LABELS = ["up", "down", "none", "none", None]
RUN = scores_from_probabilities([0.9, 0.4, 0.6, 0.1, 0.5], [0.8, 0.2, 0.5, 0.5, 0.5])
CONTROL = scores_from_probabilities([1, 1, 1, 1, 1], [0.1, 0.7, 0.1, 0.1, 0.1])
TABLE = roc_curves.table(LABELS, {"run": RUN})


def test_table_of_two_curves() -> None:
    table = roc_curves.table(LABELS, {"run": RUN, NO_BIOLOGY: CONTROL})
    run = table[(table["who"] == "run") & (table["task"] == "DE")]
    # By falling p_de: effect .9, none .6, effect .4, none .1; three of four pairs are in the right order.
    assert run["fpr"].tolist() == [0, 0, 0.5, 0.5, 1]
    assert run["tpr"].tolist() == [0, 0.5, 0.5, 1, 1]
    assert set(run["auroc"]) == {0.75}
    assert set(run["n"]) == {4}
    rest = table.drop_duplicates(["who", "task"]).set_index(["who", "task"])
    assert rest["auroc"].to_dict() == {
        ("run", "DE"): 0.75,
        ("run", "DIR"): 1.0,
        (NO_BIOLOGY, "DE"): 0.5,  # all tied
        (NO_BIOLOGY, "DIR"): 0.0,
    }
    assert rest["n"].to_list() == [4, 2, 4, 2]


def test_one_class_has_no_curve() -> None:
    table = roc_curves.table(["up", "none", "up", "none", "none"], {"run": RUN})
    assert set(table["task"]) == {"DE"}
    assert list(roc_curves.table([None] * 5, {"run": RUN}).columns) == list(roc_curves.COLUMNS)


@pytest.mark.soak
@given(st.integers(0, 2**32 - 1), st.integers(2, 3000), st.floats(0.01, 0.99))
def test_thinning_keeps_the_shape(seed: int, n: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < share
    positive[:2] = True, False
    values = rng.normal(size=n).round(2) + positive
    table = roc_curves.table(
        np.where(positive, "de", "none"),
        {"run": scores_from_probabilities(values, np.full(n, np.nan))},
    )
    curve = roc_curve(positive, np.round(values, 9))
    assert len(table) <= roc_curves.POINTS
    assert table[["fpr", "tpr"]].iloc[[0, -1]].to_numpy().tolist() == [[0, 0], [1, 1]]
    corners = np.stack([curve.false_positive_rate, curve.true_positive_rate], axis=1)
    kept = table[["fpr", "tpr"]].to_numpy()
    gaps = np.abs(corners[:, None, :] - kept[None]).sum(axis=2).min(axis=1)
    assert gaps.max() <= 2 / (roc_curves.POINTS - 1) + 1e-12


def test_curves_and_chance_are_named_in_each_panel() -> None:
    chart = roc_curves.figure(roc_curves.table(LABELS, {"run": RUN, NO_BIOLOGY: CONTROL}))
    names = [(note.xref, note.text) for note in chart.layout.annotations]
    for panel, of_run, of_control in (("x", "0.750", "0.500"), ("x2", "1.000", "0.000")):
        ends = {text.replace("<br>", " ").split()[-1] for xref, text in names if xref == panel}
        assert ends == {"0.5", of_run, of_control}
