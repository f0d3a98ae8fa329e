"""One verdict rule for every kind of experiment."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import pytest

from core.base.errors import StateError
from core.base.result import to_json
from core.features.experiments.compare import ArmRows
from core.features.experiments.result import (
    ArmResult,
    ExperimentResult,
    judge_arms,
    judge_contrasts,
    rows_that_decide,
)
from core.stats.delong import Estimate
from core.stats.intervals import Interval
from tests.estimates import plain_estimate

NOT_DEFINED = plain_estimate(Interval(math.nan, math.nan, math.nan, math.nan, 0, "row", "none"))


def change(value: float, se: float = 0.01) -> Estimate:
    return plain_estimate(
        Interval(value, value - 1.96 * se, value + 1.96 * se, se, 100, "two-way", "m")
    )


def arm(name: str, mean: Estimate | None = None, de: Estimate | None = None) -> ArmResult:
    return ArmResult(name, "", 100, "all rows", delta_mean=mean, delta_de=de)


def result_of(*arms: ArmResult, base: bool = True, is_computed: bool = True) -> ExperimentResult:
    first = (ArmResult("as it is", "", 100, "all rows", is_base=True),) if base else ()
    judged = judge_arms((*first, *arms), "mean", 0.01)
    return ExperimentResult(
        "k",
        "e",
        "Which?",
        "screen",
        judged,
        None,
        "score",
        "mean",
        0.01,
        100,
        100,
        is_computed=is_computed,
    )


def test_a_change_counts_after_holm_and_names_the_metric_that_it_is_of() -> None:
    found = result_of(
        arm("better", change(0.1)),
        arm("close", change(0.021)),
        arm("half", NOT_DEFINED, change(-0.2)),
    )
    assert (
        "better scores higher than the base, by at least the 0.01 that matters: mean of DE and DIR +0.100"
        in found.verdict
    )
    assert "close scores higher" in found.verdict
    assert "half scores lower than the base: DE −0.200" in found.verdict
    crowd = [arm(f"arm {i}", change(0.001 * i)) for i in range(9)]
    assert (
        "close cannot be distinguished from the base"
        in result_of(*crowd[:2], arm("close", change(0.021))).verdict
    )


def test_what_would_decide_an_undecided_change_is_said() -> None:
    """With 100 rows a standard error of .01 detects 2.80 × .01: for .01 it takes 2.80² as many."""
    assert rows_that_decide(change(0.003), 0.01) == 785
    [sentence] = result_of(arm("close", change(0.003))).verdict.splitlines()
    assert "About 785 rows would decide." in sentence
    assert "would decide" not in result_of(arm("far", change(0.1))).verdict


def test_many_arms_that_cannot_be_distinguished_share_a_sentence() -> None:
    found = result_of(*[arm(f"arm {i}", change(0.001 * i)) for i in range(5)]).verdict
    first, _, rest = found.partition(": ")
    assert (
        first == "arm 4 cannot be distinguished from the base"
    )  # the one with the smallest p, with its numbers
    assert all(f"arm {i}" in rest for i in range(4))
    assert rest.count("[") == 1


def test_arms_without_a_base_are_not_judged_and_what_was_not_asked_again_is_said() -> None:
    own = replace(result_of(arm("a"), base=False), own_sentence="As expected.")
    assert (own.verdict, own.caveats) == ("As expected.", ())
    asked = result_of(arm("a", change(0.1)), is_computed=False)
    assert asked.caveats[0].startswith("as it is was not asked again")
    assert to_json(asked)["verdict"] == asked.sentence


def test_many_arms_that_do_not_move_the_answers_share_a_sentence() -> None:
    """The one with the smallest p stands with its numbers, the others with their names; nothing is called "no change"."""
    p = [0.9, 0.2, 0.6, 0.8]
    arms = [
        replace(
            arm(f"without {i}"),
            moved=change(0.05 + i / 100),
            floor=change(0.05),
            p=each,
            p_holm=min(1.0, 4 * each),
        )
        for i, each in enumerate(p)
    ]
    judged = result_of(*arms)
    base = next(each for each in judged.arms if each.is_base)
    result = replace(judged, measure="answers", arms=(base, *arms))
    first, _, rest = result.sentence.partition(": |Δ|")
    assert first.startswith("without 1 is not shown to move")
    assert all(f"without {i}" in rest for i in (0, 2, 3))
    assert "0.060" in rest
    assert rest.count("[") == 2  # |Δ| and that of asking again, of one arm


def test_two_arms_whose_difference_has_no_interval_are_not_compared() -> None:
    [pair] = judge_contrasts([("a", "b", change(0.5, math.nan))])
    assert math.isnan(pair.p_holm)
    assert "for want of an interval" in pair.sentence


def test_no_other_run_stands_in_for_one_that_is_missing() -> None:
    loader, experiment = SimpleNamespace(rows_of=str), SimpleNamespace(cuts=(0,))
    arms = ArmRows(loader, experiment, {"alone": {(0, 0): "a"}, "two": {(0, 0): "b", (0, 1): "c"}})
    assert arms.under("alone", [0, 1, 2]) == {(0, seed): "a" for seed in range(3)}
    with pytest.raises(StateError, match="no finished run under cut 0, seed 2"):
        arms.under("two", [0, 1, 2])
