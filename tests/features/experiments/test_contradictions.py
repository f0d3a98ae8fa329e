"""Where all arms lose the same, no verdict contradicts itself, whichever of them chance lets through.

A sentence about one arm rests on its change from the base, one about two arms on the difference of these two.
"""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import norm

from core.features.experiments.kinds.shown import TITLES
from core.features.experiments.result import (
    ArmResult,
    ExperimentResult,
    judge_arms,
    judge_contrasts,
)
from core.methods.coded_names import ALONE
from core.stats.comparison import Comparison, compare
from core.stats.power import LEVEL
from core.stats.scores_and_labels import Scores

ROWS, PERTS, GENES = 600, 200, 500
BEFORE, AFTER = 0.45, 0.25  # how far the mean of the positive rows lies above that of the others
ARMS = tuple(TITLES.values())


def simulated(rng: np.random.Generator) -> ExperimentResult:
    """The result of an experiment whose four arms lose exactly the same, on rows that share their noise."""
    pert, gene = rng.integers(PERTS, size=ROWS), rng.integers(GENES, size=ROWS)
    has_effect, is_up = rng.random(ROWS) < 0.45, rng.random(ROWS) < 0.5
    labels = np.where(has_effect, np.where(is_up, "up", "down"), "none").astype(object)
    shared = rng.normal(size=(2, ROWS))

    def scores(above: float) -> Scores:
        answers = zip((has_effect, is_up), shared, strict=True)
        return Scores(
            *(
                norm.cdf(above * yes + 0.7 * noise + 0.71 * rng.normal(size=ROWS))
                for yes, noise in answers
            )
        )

    base, arms = scores(BEFORE), {name: scores(AFTER) for name in ARMS}

    def against(a: Scores, b: Scores) -> Comparison:
        return compare(labels, a, b, pert, gene)

    tested = [_arm(name, against(base, one)) for name, one in arms.items()]
    alone = arms[TITLES[ALONE]]
    pairs = [
        (name, TITLES[ALONE], against(alone, one).mean.change)
        for name, one in arms.items()
        if one is not alone
    ]
    judged = judge_arms(
        [ArmResult("as it is", "", ROWS, "all rows", is_base=True), *tested], "mean", 0.01
    )
    about = ("names", "names of r", "Memory?", "simulated", judged, None, "score", "mean", 0.01)
    return ExperimentResult(*about, n=ROWS, n_labelled=ROWS, contrasts=judge_contrasts(pairs))  # type: ignore[arg-type]


def _arm(name: str, found: Comparison) -> ArmResult:
    return ArmResult(
        name,
        name,
        ROWS,
        "all rows",
        delta_de=found.de.change,
        delta_dir=found.dir.change,
        delta_mean=found.mean.change,
    )


def contradictions(result: ExperimentResult) -> list[str]:
    """What a verdict says that its numbers do not, or that another of its sentences denies."""
    arms = {arm.name: arm for arm in result.arms if not arm.is_base}
    pairs = {frozenset((pair.a, pair.b)): pair for pair in result.contrasts}
    wrong = []
    for sentence in re.split(r"(?<=[.]) (?=[a-z])", result.verdict):
        named = [name for name in arms if name in sentence]
        says_lower, says_higher = "lower" in sentence, "higher" in sentence
        if re.search(r"does not fall|no change|no effect|unchanged|equal|the same", sentence):
            wrong.append(f"calls what is not shown nothing: {sentence}")
        if len(named) == 1 and (says_lower or says_higher):
            arm = arms[named[0]]
            change = arm.delta("mean")
            if not arm.is_shown or change is None or says_lower != (change.value < 0):
                wrong.append(f"is not shown: {sentence}")
        if len(named) > 1 and (says_lower or says_higher):
            pair = pairs.get(frozenset(named[:2])) if len(named) == 2 else None
            if pair is None or not pair.p_holm <= LEVEL:
                wrong.append(f"is about arms that were not compared: {sentence}")
    return wrong


@pytest.mark.parametrize(
    ("first", "n"),
    [(0, 20), *(pytest.param(first, 45, marks=pytest.mark.soak) for first in (20, 65, 110, 155))],
)
def test_no_verdict_contradicts_itself_where_all_arms_lose_the_same(first: int, n: int) -> None:
    some = 0
    for seed in range(first, first + n):
        result = simulated(np.random.default_rng(seed))
        assert contradictions(result) == []
        shown = [arm.name for arm in result.arms if arm.is_shown]
        some += 0 < len(shown) < len(ARMS)
        compared = {frozenset((pair.a, pair.b)) for pair in result.contrasts}
        for a, b in combinations(ARMS, 2):
            assert (f"{a} scores lower than {b}" not in result.verdict) or frozenset(
                (a, b)
            ) in compared
    assert some, "chance lets some arms through and others not: else nothing could be contradicted"


def test_a_contradiction_would_be_noticed() -> None:
    result = simulated(np.random.default_rng(0))
    told = next(arm.name for arm in result.arms if not arm.is_base)
    for sentence in (
        f"{told} falls, and {TITLES[ALONE]} does not fall.",
        f"{told} scores lower than names swapped: −0.1.",
    ):
        replaced = type(result)(
            **{
                **{name: getattr(result, name) for name in result.__slots__},
                "own_sentence": sentence,
            }
        )
        assert contradictions(replaced)
