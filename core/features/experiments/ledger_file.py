"""Files of hypotheses with their results, as others publish them: CSV, a line each, judged by the
rule of here, but that no difference is claimed which their leaderboard detects with less than 80%
power."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from core.base.errors import InputError, UnknownFormat
from core.features.experiments.decision import judged
from core.features.experiments.ledger_table import PUBLISHED, Entry
from core.features.experiments.result import METRICS
from core.stats.intervals import normal_interval
from core.stats.power import detectable_difference

LADDER = Path(__file__).with_name("published_ladder.csv")
POSITIVE = ("score_a", "score_b", "score_se", "detectable")
NUMBERS = ("z", "n", *POSITIVE)
TEXTS = (
    "name",
    "hypothesis",
    "dataset",
    "prediction",
    "metric",
    "name_a",
    "name_b",
    "measured_on",
    "note",
)
EXPECTED = (
    "a CSV file with name, hypothesis, dataset, z, and any of"
    f" {', '.join((*TEXTS[3:], *NUMBERS[1:]))}"
)
_MOST_ROWS = 1e9


def read_published(content: bytes, name: str) -> list[Entry]:
    """Return the results of a file, in its order. Raise InputError that names the line of a wrong
    value, and UnknownFormat for what is no such file."""
    types = dict.fromkeys(TEXTS, str) | dict.fromkeys(NUMBERS, float)
    try:
        table = pd.read_csv(
            io.BytesIO(content),
            dtype=types,
            keep_default_na=False,
            na_values=[""],
            skip_blank_lines=False,
        )
    # of pandas: no columns, more cells than columns, no number, other bytes than UTF-8
    except ValueError as error:
        raise UnknownFormat(f"{name}: {error}; expected {EXPECTED}") from None
    if table.empty or not set(table) <= set(types) or not isinstance(table.index, pd.RangeIndex):
        raise UnknownFormat(
            f"{name}: got {len(table)} lines of {', '.join(map(str, table))}; expected {EXPECTED}"
        )
    table = table.reindex(columns=list(types)).astype(types | dict.fromkeys(TEXTS, object))
    _check(table, name)
    return [
        _entry_of({str(column): value for column, value in row.dropna().items()})
        for _, row in table.iterrows()
    ]


def _check(table: pd.DataFrame, name: str) -> None:
    """Raise InputError for the first line of a column that is wrong."""
    z, change = table["z"], table["score_b"] - table["score_a"]
    right = {
        "name": (
            table["name"].notna() & ~table.duplicated(["name", "dataset"]),
            "a name, once for each dataset",
        ),
        "hypothesis": (table["hypothesis"].notna(), "a text"),
        "dataset": (table["dataset"].notna(), "a name"),
        "metric": (table["metric"].isin([np.nan, *METRICS]), f"one of {', '.join(METRICS)}"),
        "z": (
            np.isfinite(z) & (z != 0) & ~(z * change <= 0),
            "a number other than 0, with the sign of score_b - score_a",
        ),
        "n": (
            table["n"].isna() | (table["n"].between(1, _MOST_ROWS) & (table["n"] % 1 == 0)),
            "a whole number above 0",
        ),
        **{
            column: (~(table[column] <= 0) & ~np.isinf(table[column]), "a number above 0")
            for column in POSITIVE
        },
    }
    for column, (is_right, expected) in right.items():
        if not is_right.all():
            line = is_right.idxmin()
            raise InputError(
                f"{name}, line {line + 2}: {column}: got {str(table[column][line])[:80]}, expected"
                f" {expected}"
            )


def _entry_of(values: dict[str, Any]) -> Entry:
    """Return the result of a line. Where the score compared with is unknown, z alone is judged."""
    n = int(values.get("n", 0))
    entry = Entry(
        kind="result",
        source=PUBLISHED,
        **values | {"n": n or None, "public": values.get("score_b")},
    )
    z, has_scores = values["z"], entry.score_a is not None and entry.score_b is not None
    change = round(values["score_b"] - values["score_a"], 12) if has_scores else z
    interval = normal_interval(
        change, (change / z) ** 2, n, "row", "as published", (-np.inf, np.inf)
    )
    least = (
        entry.detectable if has_scores and entry.detectable else detectable_difference(interval.se)
    )
    result = judged(entry, interval, least)
    verdict = result.verdict if abs(change) >= least else "undecided"
    return (
        replace(result, detectable=least, verdict=verdict)
        if has_scores
        else replace(entry, verdict=verdict)
    )
