"""Rows that a run could have, for properties."""

from __future__ import annotations

import math

from hypothesis import strategies as st

from core.base.types import Flag, Prediction, RowResult, TraceEvent
from core.features.submissions.parsed import SEEDS

# What breaks a careless CSV or JSON.
ODD = st.sampled_from(
    [
        '"',
        "'",
        ",",
        "\n",
        "\r",
        "\r\n",
        "\0",
        "\\",
        "\\ud800",
        "none",
        "{}",
        "\ufeff",
        "\u2028",
        "\x85",
        "é",
        "🧬",
    ]
)
TEXTS = st.lists(st.one_of(st.text(max_size=12), ODD), max_size=6).map("".join)
SHARES = st.floats(0, 1)
COUNTS = st.one_of(st.none(), st.just(0), st.integers(1, 2**31 - 1))
PROMPT_TOKENS = st.one_of(st.none(), st.integers(0, 4_096))
TOOL_CALLS = st.one_of(st.none(), st.integers(0, 250))
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**60), 2**60),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXTS,
)
META = st.dictionaries(TEXTS, st.one_of(SCALARS, st.lists(SCALARS, max_size=3)), max_size=3)
EVENTS = st.builds(
    TraceEvent,
    stage=TEXTS,
    role=TEXTS,
    kind=st.sampled_from(["brief", "verdict", "text", "tool_call", ""]),
    content=TEXTS,
    tokens=COUNTS,
    latency_ms=st.one_of(st.none(), st.floats(0, 1e9)),
    meta=META,
)
# No carriage return and no blank: what names a row is one line.
IDS = st.text("PG_αé\"',;-0123", min_size=1, max_size=8)


@st.composite
def predictions(draw: st.DrawFn, pair_id: str) -> Prediction:
    """From two probabilities, or from the two submitted numbers alone."""
    flags = tuple(draw(st.lists(st.sampled_from(Flag), unique=True, max_size=3)))
    counts = (
        draw(COUNTS),
        draw(st.one_of(st.none(), st.integers(0, 4_096))),
        draw(st.one_of(st.none(), st.integers(0, 250))),
    )
    if draw(st.booleans()):
        p_de, p_up = draw(SHARES), draw(SHARES)
        up = p_de * p_up
        return Prediction(
            pair_id, up, p_de - up, p_de, None if p_de == 0 else p_up, "trace", flags, *counts
        )
    up = draw(SHARES)
    down = draw(st.floats(0, 1 - up))
    total = up + down
    return Prediction(
        pair_id, up, down, min(total, 1.0), up / total if total else None, "file", flags, *counts
    )


@st.composite
def runs(draw: st.DrawFn) -> list[RowResult]:
    """Rows of a run that tracks B and C can carry."""
    ids = draw(st.lists(IDS, unique=True, min_size=1, max_size=5))
    return [
        RowResult(draw(predictions(key)), tuple(draw(st.lists(EVENTS, max_size=4)))) for key in ids
    ]


@st.composite
def seeded_runs(draw: st.DrawFn) -> list[RowResult]:
    """Rows of a run under the seeds of track A, some of which gave no answer."""
    ids = draw(st.lists(IDS, unique=True, min_size=1, max_size=4))
    return [draw(_seeded(key)) for key in ids]


@st.composite
def _seeded(draw: st.DrawFn, pair_id: str) -> RowResult:
    answers = []
    for _ in SEEDS:
        up = draw(SHARES)
        answers.append(draw(st.one_of(st.none(), st.just((up, draw(st.floats(0, 1 - up)))))))
    given = [answer for answer in answers if answer is not None] or [(0.25, 0.125)]
    up, down = (math.fsum(answer[side] for answer in given) / len(given) for side in (0, 1))
    events = []
    for seed, answer in zip(SEEDS, answers, strict=True):
        meta = {"prediction_up": answer and answer[0], "prediction_down": answer and answer[1]}
        if draw(st.booleans()):
            events.append(TraceEvent(f"seed {seed}", "MODEL", "rejected", draw(TEXTS), 3))
        events.append(TraceEvent(f"seed {seed}", "MODEL", "answer", draw(TEXTS), 5, 1.5, meta))
    total = up + down
    counts = (draw(COUNTS), draw(st.one_of(st.none(), st.integers(0, 4_096))), 0)
    return RowResult(
        Prediction(
            pair_id, up, down, min(total, 1.0), up / total if total else None, "file", (), *counts
        ),
        tuple(events),
    )
