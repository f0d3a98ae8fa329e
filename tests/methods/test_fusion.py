"""Fusion as a method: what a fused row takes over, which flags it carries, and the arithmetic in its trace."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.types import Flag, RowResult
from core.methods.fusion import BaseRow, build_results
from core.transfer.fusion import Component, Reference, weights_of
from tests.transfer.test_fusion import component

NAN = float("nan")
TERM = re.compile(r"([\d.e-]+) × ([\d.]+) \(([^)]+)\)")


def fused(
    base: Component,
    other: Component,
    w_de: float,
    w_dir: float,
    *rows: BaseRow,
    reference: Reference = "population",
) -> list[RowResult]:
    """The fusion of two components; rows: the base's, plain ones where none are given."""
    rows = rows or tuple(plain(i) for i in range(len(base.p_de)))
    return build_results(rows, [base, other], weights_of([w_de], [w_dir]), reference)


def plain(row: int, *flags: Flag) -> BaseRow:
    return BaseRow(f"r{row}", flags, 10 * row, row, None)


def column(*values: float) -> np.ndarray:
    return np.array(values)


def test_by_hand() -> None:
    """Percentiles of three rows are 1/4, 2/4, 3/4; of the other's two, 1/3 and 2/3; the base speaks alone for the third."""
    base = Component("llm", column(0.1, 0.2, 0.3), column(0.3, 0.2, 0.1))
    other = Component("knn", column(0.9, 0.8, NAN), column(0.1, 0.2, NAN))
    first, second, third = fused(base, other, 0.25, 0.5)
    p_de, p_up = 0.75 / 4 + 0.25 * 2 / 3, 0.5 * 3 / 4 + 0.5 / 3
    found = first.prediction
    assert (found.p_de, found.p_up_given_de) == pytest.approx((p_de, p_up))
    assert (found.prediction_up, found.prediction_down) == pytest.approx(
        (p_de * p_up, p_de * (1 - p_up))
    )
    assert (found.pair_id, found.p_source, found.flags) == ("r0", "trace", ())
    assert (
        second.prediction.tokens,
        second.prediction.prompt_tokens,
        second.prediction.tool_calls,
    ) == (10, 1, None)
    assert first.events[0].content.splitlines() == [
        "DE rank score 0.354167 = 0.75 × 0.2500 (llm) + 0.25 × 0.6667 (knn)",
        "DIR rank score 0.541667 = 0.5 × 0.7500 (llm) + 0.5 × 0.3333 (knn)",
        "Percentiles over the rows of llm.",
    ]
    assert (third.prediction.p_de, third.prediction.flags) == (0.75, (Flag.PARTLY_COVERED,))
    assert third.events[0].content.splitlines() == [
        "DE rank score 0.750000 = 1 × 0.7500 (llm)",
        "DIR rank score 0.250000 = 1 × 0.2500 (llm)",
        "knn: does not cover this row; the others' weights count in proportion.",
        "Percentiles over the rows of llm.",
    ]


@pytest.mark.parametrize(
    ("base", "other", "own", "flags"),
    [
        (
            (0.2, 0.3),
            (0.2, 0.3),
            (Flag.DE_FALLBACK, Flag.DIR_FALLBACK),
            (Flag.DE_FALLBACK, Flag.DIR_FALLBACK),
        ),
        (
            (0.2, 0.3),
            (0.2, 0.3),
            (Flag.UNIFORM, Flag.ROLE_COLLAPSE, Flag.TRACE_DIFFERS),
            (Flag.UNIFORM,),
        ),
        ((0.2, 0.3), (NAN, NAN), (Flag.DE_FALLBACK,), (Flag.DE_FALLBACK, Flag.PARTLY_COVERED)),
        ((0.2, 0.3), (0.2, NAN), (), ()),
        ((NAN, NAN), (0.2, 0.3), (Flag.UNCOVERED,), (Flag.PARTLY_COVERED,)),
        ((0.2, NAN), (0.2, 0.3), (Flag.UNCOVERED_DIR,), ()),
        ((NAN, NAN), (0.2, NAN), (Flag.UNCOVERED,), (Flag.PARTLY_COVERED, Flag.UNCOVERED_DIR)),
        ((NAN, NAN), (NAN, NAN), (Flag.UNCOVERED,), (Flag.PARTLY_COVERED, Flag.UNCOVERED)),
        (
            (0.2, NAN),
            (0.2, NAN),
            (),
            (Flag.UNCOVERED_DIR,),
        ),  # the base saw no effect, the other no direction
    ],
)
def test_flags_say_what_stands_in(
    base: tuple[float, float],
    other: tuple[float, float],
    own: tuple[Flag, ...],
    flags: tuple[Flag, ...],
) -> None:
    """The first of two rows; the second is covered by both."""
    components = (
        Component(name, *(column(value, 0.4) for value in pair))
        for name, pair in (("a", base), ("b", other))
    )
    row, second = fused(*components, 0.5, 0.5, plain(0, *own), plain(1))
    assert row.prediction.flags == flags
    assert (row.prediction.p_de == 0.5) == (Flag.UNCOVERED in flags)
    assert (row.prediction.p_up_given_de == 0.5) == (
        Flag.UNCOVERED_DIR in flags or Flag.UNCOVERED in flags
    )
    assert second.prediction.flags == ()


WEIGHTS = st.integers(0, 20).map(lambda step: step / 20)


@given(st.integers(0, 10**6), WEIGHTS, WEIGHTS)
def test_the_arithmetic_in_the_trace_adds_up(seed: int, w_de: float, w_dir: float) -> None:
    rng = np.random.default_rng(seed)
    base, other = component(rng, 12, "llm"), component(rng, 12, "knn")
    for row in fused(base, other, w_de, w_dir):
        [event] = row.events
        assert (event.stage, event.role, event.kind, event.tokens) == (
            "fusion",
            "FUSION",
            "arithmetic",
            0,
        )
        values = row.prediction.p_de, row.prediction.p_up_given_de
        for line, value in zip(event.content.splitlines()[:2], values, strict=True):
            told, _, how = line.rpartition(" = ")
            assert float(told.rsplit(" ", 1)[1]) == pytest.approx(value, abs=1e-6)
            terms = TERM.findall(how)
            if terms:
                assert sum(float(weight) * float(pct) for weight, pct, _ in terms) == pytest.approx(
                    value, abs=2e-3
                )
            else:
                assert re.fullmatch(r"[\d.]+ \((llm, alone|no component covers this row)\)", how)


def test_a_base_alone_and_nobody_are_said_in_words() -> None:
    base = Component("llm", column(0.1, 0.2), column(0.1, NAN))
    other = Component("knn", column(NAN, 0.4), column(NAN, NAN))
    first, second = fused(base, other, 1.0, 1.0)
    assert first.events[0].content.splitlines()[0] == "DE rank score 0.333333 = 0.3333 (llm, alone)"
    assert (
        second.events[0].content.splitlines()[1]
        == "DIR rank score 0.500000 = 0.5 (no component covers this row)"
    )


def test_a_reference_is_told() -> None:
    two = [
        Component(name, *[column(0.1, 0.2)] * 2, *[column(0.1, 0.15, 0.3)] * 2)
        for name in ("llm", "knn")
    ]
    row, _ = fused(*two, 0.5, 0.5, reference="train")
    assert row.prediction.p_de == pytest.approx(0.25)  # level with the first of three
    assert row.events[0].content.endswith("Percentiles over labelled reference rows.")
