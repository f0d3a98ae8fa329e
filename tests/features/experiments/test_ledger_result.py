"""Families, corrected p-values and what stands beside a verdict."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from core.features.experiments.comparison_log import pair_of_arms
from core.features.experiments.ledger_result import LATE, LedgerLine, ledger_of
from core.features.experiments.ledger_table import HERE, PUBLISHED, Entry, judged
from core.stats.intervals import Interval
from tests.features.experiments.cases import numbered


def ledger_lines(*about: Any) -> tuple[LedgerLine, ...]:
    return ledger_of(*about).hypotheses


def entry(name: str, z: float | None = None, **values: object) -> Entry:
    """A registration, or with z a result of that many standard errors of 0.01."""
    given = {"source": HERE, "dataset": "d", "smallest_effect": 0.005, **values}
    registration = Entry(kind="registration", name=name, hypothesis="h", **given)  # type: ignore[arg-type]
    if z is None:
        return registration
    df = float(values.get("df", np.inf))  # type: ignore[arg-type]
    half = 0.01 * t.ppf(0.975, df)
    change = Interval(
        z / 100, z / 100 - half, z / 100 + half, 0.01, 0, "row", "made", degrees=values.get("df")
    )  # type: ignore[arg-type]
    return judged(registration, change, float(given["smallest_effect"]))  # type: ignore[arg-type]


def test_results_of_one_dataset_and_source_are_corrected_together() -> None:
    """p of z 3, 2 and 2.5: 0.0027, 0.0455, 0.0124; Holm: 3·, 1·, 2·."""
    entries = [
        entry("one", 3.0),
        entry("two", 2.0),
        entry("three", 2.5),
        entry("else", 2.0, dataset="other"),
        entry("read", 2.0, source=PUBLISHED),
    ]
    lines = ledger_lines(numbered(entries))
    holm = {line.entry.name: round(line.p_holm, 4) for line in lines}
    assert holm == {"one": 0.0081, "two": 0.0455, "three": 0.0248, "else": 0.0455, "read": 0.0455}
    assert [line.tests for line in lines] == [3, 3, 3, 1, 1]


def test_comparisons_that_were_looked_at_are_corrected_for_once() -> None:
    """p of z 3 and 2.5: 0.0027, 0.0124; looked at: 0.0001, 0.03, and the pair of "one", which is that result. Holm: 3·0.0027."""
    entries = numbered(
        [
            entry("one", 3.0, run_a="r2", run_b="r1"),
            entry("arms", 2.5, experiment="b", name_a="x", name_b="y"),
        ]
    )
    looked = {
        ("r1", "r2"): 0.5,
        ("r1", "r3"): 0.0001,
        ("r3", "r4"): 0.03,
        pair_of_arms("b", "y", "x"): 0.9,
    }
    lines = ledger_lines(entries, {"d": looked, "other": {("r8", "r9"): 0.01}})
    assert [line.tests for line in lines] == [4, 4]
    assert [round(line.p_holm, 4) for line in lines] == [0.0081, 0.0248]
    [read] = ledger_lines(numbered([entry("read", 3.0, source=PUBLISHED)]), {"d": looked})
    assert read.tests == 1  # published elsewhere, where nobody knows what was looked at


def test_a_second_result_counts_as_a_second_test() -> None:
    lines = ledger_lines(numbered([entry("one"), entry("one", 2.1), entry("one", 2.2)]))
    assert [(line.tests, line.again) for line in lines] == [(2, False), (2, True)]
    assert not any(line.survives_holm for line in lines)  # 2 · 0.0278
    words = "confirmed, not after Holm's correction"
    assert [line.words for line in lines] == [words, f"{words}, not its first result"]


def test_few_clusters_have_students_t() -> None:
    [line] = ledger_lines(numbered([entry("one", 2.5, df=9.0)]))
    assert line.tests
    assert line.p == pytest.approx(2 * t.sf(2.5, 9))


def test_a_significant_loss_survives_nothing() -> None:
    [line] = ledger_lines(numbered([entry("one", -9.0)]))
    assert line.tests
    assert (line.p_holm < 1e-9, line.survives_holm) == (True, False)
    assert line.entry.verdict == "harmful"


@pytest.mark.soak
def test_nothing_survives_and_is_rejected() -> None:
    for z in np.linspace(-5, 5, 201):
        for smallest in (0.001, 0.02, 0.1):
            [line] = ledger_lines(numbered([entry("one", float(z), smallest_effect=smallest)]))
            assert not (
                line.survives_holm and line.entry.verdict in ("rejected", "harmful", "no verdict")
            )


def test_what_was_registered_late_is_said_everywhere() -> None:
    entries = numbered(
        [entry("late", seen_before=True), entry("late", 3.0, seen_before=True), entry("open")]
    )
    late, waiting = ledger_lines(entries)
    assert late.words == f"confirmed, {LATE}"
    assert waiting.words == "no result yet"
    result = ledger_of(entries)
    [caveat] = result.caveats
    assert LATE.capitalize() in caveat
    assert "late" in caveat
    assert "no result yet of open" in result.sentence


def test_an_empty_ledger_says_so() -> None:
    result = ledger_of([])
    assert (result.hypotheses, result.tables(), result.figure()) == ((), (), None)
    assert "No hypothesis" in result.sentence


@pytest.mark.soak
def test_ledgers_without_an_effect_seldom_survive_holm() -> None:
    """Five tests of nothing in each of 400 ledgers: some p is below 5% in 23% of them, after Holm in 5%."""
    z = np.random.default_rng(0).standard_normal((400, 5))
    ledgers = [
        ledger_lines(numbered([entry(str(i), float(one)) for i, one in enumerate(row)]))
        for row in z
    ]
    below = [any(line.p_holm < 0.05 for line in lines) for lines in ledgers]
    raw = [any(line.p < 0.05 for line in lines) for lines in ledgers]
    assert 0.16 < np.mean(raw) < 0.30
    assert np.mean(below) < 0.09
