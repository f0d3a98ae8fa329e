"""The same rows in every format, order of columns and way to write numbers give the same table, or advice that does."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import random
import zipfile
from collections.abc import Iterator, Sequence

import openpyxl
import pandas as pd
import pytest

from core.base.errors import InputError
from core.features.importing.external_scores import ScoreTable
from core.features.importing.pairs import PairTable
from core.features.importing.reader import read
from core.features.importing.submissions import SubmissionTable

Rows = Sequence[dict[str, object]]
PAIRS = [("Stat1", "Irf1"), ("Stat1", "Myd88"), ("Rela", "Irf1"), ("Jun", "Fos")]
LABELS = [
    {"pert": p, "gene": g, "label": label}
    for (p, g), label in zip(PAIRS, ("up", "down", "none", "up"), strict=True)
]
NUMBERS = [(0.5, 0.25), (0.125, 0.75), (0.0, 0.0), (0.0625, 0.5)]
PREDICTIONS = [
    {"id": f"{p}_{g}", "p_up": up, "p_down": down}
    for (p, g), (up, down) in zip(PAIRS, NUMBERS, strict=True)
]
SCORES = [
    {"id": f"{p}_{g}", "score": v}
    for (p, g), v in zip(PAIRS, (1234.5, -2.25, 1048576.0, 0.5), strict=True)
]
STYLES = (".", ",")  # of decimals


def written(value: object, style: str) -> str:
    return repr(value).replace(".", style) if isinstance(value, float) else str(value)


def text_of(rows: Rows, style: str, joint: str) -> str:
    lines = [[*rows[0]], *([written(value, style) for value in row.values()] for row in rows)]
    quoted = ([f'"{cell}"' if joint in cell else cell for cell in line] for line in lines)
    return "\n".join(map(joint.join, quoted)) + "\n"


def zipped(content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("table.csv", content)
    return out.getvalue()


def workbook(rows: Rows, _: str) -> bytes:
    out, book = io.BytesIO(), openpyxl.Workbook()
    for line in [[*rows[0]], *([*row.values()] for row in rows)]:
        book.active.append(line)
    book.save(out)
    return out.getvalue()


def parquet(rows: Rows, _: str) -> bytes:
    out = io.BytesIO()
    pd.DataFrame(rows).to_parquet(out, index=False)
    return out.getvalue()


FORMATS = {
    "comma": lambda rows, style: text_of(rows, style, ",").encode(),
    "tab": lambda rows, style: text_of(rows, style, "\t").encode(),
    "semicolon": lambda rows, style: text_of(rows, style, ";").encode("utf-8-sig"),
    "bar": lambda rows, style: text_of(rows, style, "|").replace("\n", "\r\n").encode(),
    "old Mac": lambda rows, style: text_of(rows, style, ",").replace("\n", "\r").encode(),
    "UTF-16": lambda rows, style: text_of(rows, style, "\t").encode("utf-16"),
    "gzip": lambda rows, style: gzip.compress(text_of(rows, style, ";").encode()),
    "zip": lambda rows, style: zipped(text_of(rows, style, ",").encode()),
    "remarks": lambda rows, style: f"# by lab\n{text_of(rows, style, ',')}".encode(),
    "workbook": workbook,
    "parquet": parquet,
    "JSON": lambda rows, _: json.dumps(rows).encode(),
    "JSON lines": lambda rows, _: "\n".join(map(json.dumps, rows)).encode(),
    "JSON columns": lambda rows, _: json.dumps(json.loads(pd.DataFrame(rows).to_json())).encode(),
}


def orders(rows: Rows) -> Iterator[Rows]:
    """Some orders of the columns, with one that is not used."""
    names = [*rows[0], "remark"]
    everything = list(itertools.permutations(names))
    for order in random.Random(1).sample(everything, min(6, len(everything))):
        yield [{name: {**row, "remark": "x"}[name] for name in order} for row in rows]


def values(table: PairTable | SubmissionTable | ScoreTable) -> object:
    if isinstance(table, PairTable):
        return [(pair.pair_id, pair.label) for pair in table.pairs]
    if isinstance(table, SubmissionTable):
        return [
            (row.prediction.pair_id, row.prediction.prediction_up, row.prediction.prediction_down)
            for row in table.rows
        ]
    return [table.ids, table.columns]


@pytest.mark.few(14)
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(
    "rows", [LABELS, PREDICTIONS, SCORES], ids=["labels", "predictions", "scores"]
)
def test_the_same_rows_come_in(kind: str, rows: Rows) -> None:
    expected = values(read(text_of(rows, ".", ",").encode(), "t.csv"))
    for style, ordered in itertools.product(STYLES, orders(rows)):
        table = read(FORMATS[kind](ordered, style), "t.csv")
        assert not table.rejected, (style, table.rejected[0])
        assert values(table) == expected, style
        assert any("remark" in note for note in table.notes)


@pytest.mark.parametrize("kind", ["comma", "tab", "semicolon"])
def test_numbers_that_may_be_thousands_are_refused_with_advice_that_helps(kind: str) -> None:
    rows = [
        {"id": f"{p}_{g}", "score": value}
        for (p, g), value in zip(PAIRS, (1.234, 2.345, 3.456, 4.567), strict=True)
    ]
    with pytest.raises(InputError, match="decimal point"):
        read(FORMATS[kind](rows, ","), "t.csv")
    table = read(FORMATS[kind](rows, "."), "t.csv")
    assert isinstance(table, ScoreTable)
    assert table.columns == {"score": (1.234, 2.345, 3.456, 4.567)}
