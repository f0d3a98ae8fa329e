"""A table of differential expression gives the same labels and predictions in every format, order and style of numbers."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from core.base.errors import InputError
from core.base.types import Pair
from core.features.cells.changes_table import label_changes
from core.features.cells.labels import SamplingSettings
from core.features.cells.predicted_table import WantedPairs, read_predicted_table
from core.features.cells.screen import LabelSettings
from core.features.importing.roles import AS_GUESSED, TableOptions
from tests.features.importing.test_every_format import FORMATS, STYLES, orders, text_of

GENES = ("Stat1", "Rela", *(f"Gene{i}" for i in range(12)))
RATIOS = (
    0.0625,
    1234.5,
    0.03125,
    1048576.0,
    1.0625,
    0.96875,
    2.5,
    0.125,
    1.03125,
    0.9375,
    1.5,
    0.5,
    1.0,
    4.25,
)
P_VALUES = (
    1e-09,
    2.5e-08,
    0.0003,
    1e-300,
    0.75,
    0.8125,
    0.5,
    0.25,
    0.9375,
    0.625,
    0.4375,
    0.3125,
    1.0,
    0.001,
)
ROWS = [
    {
        "perturbation": pert,
        "gene": gene,
        "fold_change": RATIOS[(i + shift) % 14],
        "p_value": P_VALUES[(i + shift) % 14],
    }
    for pert, shift in (("Stat1", 0), ("Rela", 3))
    for i, gene in enumerate(GENES)
]
SETTINGS = LabelSettings(sampling=SamplingSettings(all_pairs=True, least_effects=1))
PAIRS = WantedPairs(
    [Pair(f"{p}_{g}", p, g, None, "train") for p in ("Stat1", "Rela") for g in (*GENES, "Other")]
)


def outcome(path: Path, options: TableOptions = AS_GUESSED) -> tuple[object, ...]:
    labels = label_changes(path, SETTINGS)
    predicted = read_predicted_table(path, PAIRS, options)
    assert (labels.rejected, predicted.rejected) == ((), ())
    arrays = (
        labels.changes.log2_fc,
        labels.changes.p,
        labels.changes.fdr,
        labels.codes,
        predicted.signed,
        predicted.evidence,
    )
    return (
        labels.groups.targets,
        labels.genes,
        predicted.measure,
        *(array.tolist() for array in arrays),
    )


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("plain") / "de.csv"
    path.write_text(text_of(ROWS, ".", ","))
    return str(outcome(path))  # NaN is equal to itself as text


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", FORMATS)
def test_the_same_labels_and_predictions(tmp_path: Path, kind: str, expected: str) -> None:
    path = tmp_path / "de.csv"
    for style, ordered in itertools.product(STYLES, itertools.islice(orders(ROWS), 3)):
        path.write_bytes(FORMATS[kind](ordered, style))
        assert str(outcome(path)) == expected, style
        assert any("remark" in note for note in label_changes(path, SETTINGS).of_table["notes"])


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", ["comma", "tab", "semicolon", "JSON", "parquet", "workbook"])
def test_one_of_two_lines(tmp_path: Path, kind: str) -> None:
    """Both lines in turn, so that repeats lie near one another, or one after the other."""
    first = [{**row, "line": "K562"} for row in ROWS]
    second = [
        {**row, "fold_change": 1 / float(str(row["fold_change"])), "line": "RPE1"} for row in ROWS
    ]
    path = tmp_path / "de.csv"
    for rows in ([*first, *second], [*itertools.chain(*zip(second, first, strict=True))]):
        path.write_bytes(FORMATS[kind](rows, "."))
        with pytest.raises(InputError, match=r"another line .*K562.*--where line="):
            label_changes(path, SETTINGS)
        with pytest.raises(InputError, match=r"another line .*--where line="):
            read_predicted_table(path, PAIRS)
        chosen = LabelSettings(sampling=SETTINGS.sampling, where={"line": "K562"})
        predicted = read_predicted_table(path, PAIRS, TableOptions(where={"line": "K562"}))
        found = (label_changes(path, chosen).codes.tolist(), predicted.signed.tolist())
        path.write_bytes(FORMATS[kind](ROWS, "."))
        assert str(found) == str(
            (
                label_changes(path, SETTINGS).codes.tolist(),
                read_predicted_table(path, PAIRS).signed.tolist(),
            )
        )


def test_numbers_that_may_be_thousands_are_refused(tmp_path: Path) -> None:
    rows = [{**row, "fold_change": f"1,{i:03d}", "p_value": 1} for i, row in enumerate(ROWS)]
    (tmp_path / "de.csv").write_text(text_of(rows, ".", ";"))
    with pytest.raises(InputError, match="decimal point"):
        label_changes(tmp_path / "de.csv", SETTINGS)


def test_a_where_that_no_row_has_names_the_values(tmp_path: Path) -> None:
    path = tmp_path / "de.csv"
    path.write_text(text_of([{**row, "line": "K562"} for row in ROWS], ".", ","))
    with pytest.raises(InputError, match="--where line=HeLa: no row has it; line has K562"):
        read_predicted_table(path, PAIRS, TableOptions(where={"line": "HeLa"}))
