"""The headline of a dataset: what it says, and in how many words."""

from __future__ import annotations

import math
from types import SimpleNamespace

from core.scoring.controls import Verdict, Verdicts
from core.scoring.run_scores import Headline
from core.scoring.standing import Standing, headline
from core.stats.intervals import Interval

ABOVE, BELOW, UNSURE = (0.01, 0.05), (-0.05, -0.01), (-0.02, 0.02)


def interval(estimate: float, low: float, high: float) -> Interval:
    return Interval(estimate, low, high, math.nan, 100, "row", "given")


def standing(
    mean: float,
    de: tuple[float, float],
    direction: tuple[float, float],
    genes: tuple[int, int] | None = None,
) -> Standing:
    controls = (("count-only", de), ("rarer gene", direction))
    verdicts = Verdicts(*(Verdict(name, interval(sum(ends) / 2, *ends)) for name, ends in controls))
    value = interval(mean, mean - 0.02, mean + 0.02)
    score = SimpleNamespace(headline=Headline("mean", value, value, genes, value))
    counts = SimpleNamespace(whole=SimpleNamespace(mean=SimpleNamespace(value=0.55)))
    return Standing(score, verdicts, counts, "rows")


def test_nothing_with_labels_has_no_score() -> None:
    assert (
        headline({})
        == headline({"a": standing(math.nan, UNSURE, UNSURE)})
        == ("No run has a score yet: none has labelled rows.")
    )


def test_what_beats_nothing_stands_beside_what_it_does_not_beat() -> None:
    both = {"a": standing(0.51, BELOW, UNSURE), "b": standing(0.53, UNSURE, UNSURE)}
    assert (
        headline(both)
        == "No run beats the baselines without biology yet: best b, mean 0.530 [0.510, 0.550] against 0.550."
    )


def test_what_is_known_to_beat_it_leads_with_the_axes_on_which_it_does() -> None:
    one = {
        "a": standing(0.61, ABOVE, UNSURE),
        "b": standing(0.63, UNSURE, UNSURE),
    }  # b is higher, and not known to beat it
    assert (
        headline(one)
        == "a beats the baselines without biology on DE alone: mean 0.610 [0.590, 0.630] against 0.550."
    )
    two = {**one, "c": standing(0.64, ABOVE, ABOVE)}
    assert (
        headline(two)
        == "2 runs beat the baselines without biology, c on DE and DIR: mean 0.640 [0.620, 0.660] against 0.550."
    )


def test_a_dataset_that_is_judged_by_genes_has_chance_as_its_rival() -> None:
    assert headline({"a": standing(0.61, ABOVE, UNSURE, (10, 8))}).endswith("against 0.500.")
