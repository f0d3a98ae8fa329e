"""Every result says the same in its sentence, tables, figure and JSON, and its caveats stand wherever it is shown.

The results are those of tests/example_results: one module for each subject, so that a new result is a new file there.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

from core.base.feature import resolve
from core.base.result import Result, fields_of, to_json
from core.cli.base import result_lines
from core.plots.drawing import PageFigure
from core.plots.printed import captioned
from tests.example_results import every_example

NUMBER = re.compile(r"(?<![\w.])[-−+]?\d[\d,]*(?:\.\d+)?%?")


RESULTS = pytest.mark.parametrize(
    "result", [pytest.param(result, id=name) for name, result in every_example()]
)


def numbers_in(text: str) -> set[str]:
    """The numbers of a text, without signs and thousands separators: a change may be told as "0.012 lower"."""
    return {each.lstrip("-−+").replace(",", "").rstrip(".") for each in NUMBER.findall(text)}


def as_written(value: float) -> set[str]:
    """How a sentence may write a number."""
    if not math.isfinite(value):
        return set()
    size, percent = abs(value), 100 * abs(value)
    forms = {f"{size:{form}}" for form in ("g", ".0f", ".1f", ".2f", ".3f", ".4f")}
    return forms | {
        f"{percent:{form}}{unit}" for form in ("g", ".0f", ".1f", ".2f") for unit in ("", "%")
    }


def numbers_of(value: Any, sentences: str) -> set[str]:
    """The numbers of plain data, as a sentence may write them. sentences: texts in it do not count."""
    if isinstance(value, bool) or value is None:
        return set()
    if isinstance(value, int | float):
        return as_written(value)
    if isinstance(value, str):
        return set() if value and value in sentences and " " in value else numbers_in(value)
    inner = [*value.keys(), *value.values()] if isinstance(value, Mapping) else value
    return set().union(*(numbers_of(each, sentences) for each in inner)) | {str(len(value))}


def numbers_of_tables(result: Result) -> set[str]:
    return {
        n
        for table in result.tables()
        for row in table.texts()
        for cell in row.values()
        for n in numbers_in(cell)
    }


def drawn(value: Any, depth: int = 0) -> Iterator[float]:
    """The numbers that a figure is given: intervals anywhere, other numbers in mappings, sequences and their records."""
    if isinstance(value, pd.DataFrame):
        yield from value.select_dtypes("floating").to_numpy(dtype=float).ravel().tolist()
    elif hasattr(value, "ends"):
        yield from value.ends
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from drawn(each, depth)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from drawn(each, depth)
    elif is_dataclass(value) and depth < 1:
        for each in fields(value):
            yield from drawn(getattr(value, each.name), depth + 1)
    elif isinstance(value, float):
        yield value


def curves(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from curves(each)


@RESULTS
def test_every_number_of_the_sentence_is_in_its_tables_or_its_json(result: Result) -> None:
    known = numbers_of_tables(result) | numbers_of(fields_of(result), result.sentence)
    assert numbers_in(result.sentence) <= known, numbers_in(result.sentence) - known


@RESULTS
def test_every_number_of_the_figure_is_in_a_table_or_a_setting_in_its_json(result: Result) -> None:
    figure = result.figure()
    if figure is None:
        return
    known = numbers_of_tables(result) | numbers_of(fields_of(result), result.sentence)
    unknown = [
        each
        for each in drawn(figure.values)
        if math.isfinite(each) and not as_written(each) & known
    ]
    assert not unknown
    own = [id(array) for field in fields(result) for array in curves(getattr(result, field.name))]  # type: ignore[arg-type]
    assert all(id(curve) in own for curve in curves(figure.values)), (
        "a curve that is no field of the result"
    )
    assert figure.alt


@RESULTS
def test_its_figure_is_drawn(result: Result) -> None:
    figure = result.figure()
    if figure is not None:
        drawn = resolve(figure.draw)(**figure.values)
        assert (drawn.chart if isinstance(drawn, PageFigure) else drawn).data


@RESULTS
def test_its_json_is_valid_and_ends_with_sentence_scope_and_caveats(result: Result) -> None:
    found = to_json(result)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert [*found][-3:] == ["sentence", "scope", "caveats"]
    assert found["sentence"] == result.sentence


@RESULTS
def test_a_table_has_the_same_columns_in_every_row(result: Result) -> None:
    for table in result.tables():
        assert len({tuple(row) for row in table.rows}) <= 1, table.title
        assert set(table.changes) <= {name for row in table.rows for name in row} or not table.rows


@RESULTS
def test_its_caveats_stand_in_command_report_and_json(
    result: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.plots.printed.resolve", lambda _: lambda **_: None)
    printed, caption = "\n".join(result_lines(result)), captioned(result, "a run").caption
    for caveat in result.caveats:
        assert caveat in printed
        assert caveat in caption
        assert caveat in to_json(result)["caveats"]
    assert result.sentence
    assert result.title
