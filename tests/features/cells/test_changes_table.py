"""Labels of tables of differential expression, in the columns of pdex, scanpy and DESeq2."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.base.errors import InputError, UnknownFormat
from core.features.cells.changes_table import label_changes
from core.features.cells.groups import GroupSettings
from core.features.cells.labels import DOWN, LEFT_OUT, NONE, UP, SamplingSettings
from core.features.cells.screen import LabelSettings
from core.features.importing.reader import read_path

# Of A: G1 up, G2 down, G3 neither, A itself down. p of 1e-9 among four genes is an FDR of at most 4e-9, 0.9 one of 0.9.
ROWS = pd.DataFrame(
    {
        "target": ["A"] * 4 + ["A+B"] + ["non-targeting"],
        "feature": ["G1", "G2", "G3", "A", "G1", "G1"],
        "fold_change": [2.0, 0.25, 1.0, 0.1, 2.0, 1.0],
        "p_value": [1e-9, 1e-9, 0.9, 1e-9, 1e-9, 0.9],
    }
)
SETTINGS = LabelSettings(sampling=SamplingSettings(all_pairs=True, least_effects=1))


def written(path: Path, table: pd.DataFrame, **how: object) -> Path:
    table.to_csv(path, index=False, **how)  # type: ignore[call-overload]
    return path


@pytest.mark.parametrize("name", ["de.csv", "de.csv.gz", "de.tsv"])
def test_labels_follow_from_fold_change_and_fdr(tmp_path: Path, name: str) -> None:
    found = label_changes(
        written(tmp_path / name, ROWS, sep="\t" if name == "de.tsv" else ","), SETTINGS
    )
    assert found.groups.targets == ("A",)
    assert found.groups.multiple == ("A+B",)
    codes = dict(zip(found.genes, found.codes[0].tolist(), strict=True))
    assert codes == {
        "G1": UP,
        "G2": DOWN,
        "G3": NONE,
        "A": LEFT_OUT,
    }  # of its own target nothing is said
    assert found.changes.log2_fc[0, found.genes.index("G2")] == pytest.approx(-2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"p_value": 5.0}, "column p_value, as p, is above 1 in 6 rows"),
        ({"fold_change": -1.0}, "has negative values"),
        ({"feature": "G1"}, "a pair is repeated"),
        ({"target": "non-targeting"}, "no perturbation of a single gene"),
    ],
)
def test_what_is_no_such_table_is_refused(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        label_changes(written(tmp_path / "de.csv", ROWS.assign(**change)), SETTINGS)


def test_settings_of_cells_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="batch is about cells"):
        label_changes(written(tmp_path / "de.csv", ROWS), LabelSettings(batch="lane"))


def test_an_import_asks_what_such_a_table_is(tmp_path: Path) -> None:
    with pytest.raises(
        UnknownFormat,
        match=r"differential expression .*`cells predictions FILE.*`cells labels FILE",
    ):
        read_path(written(tmp_path / "de.csv", ROWS))


def many(**columns: object) -> pd.DataFrame:
    changes = np.linspace(-2, 2, 20)
    usual = {
        "target": "A",
        "feature": [*(f"G{i}" for i in range(19)), "A"],
        "log2_fc": changes,
        "p_value": 10 ** (-9 * np.abs(changes)),
    }
    return pd.DataFrame(usual | columns)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"p_value": ["<0.001", *["0.5"] * 19]},
            "line 2: not a number, A, G0: '<0.001' as p, .*the first of 1",
        ),
        (
            {"log2_fc": ["up", *["0.5"] * 9, *["-0.5"] * 10]},
            "line 2: not a number, A, G0: 'up' as log2_fc",
        ),
        (
            {"p_value": [1.5, *[0.5] * 19]},
            "line 2: out of range, A, G0: '1.5' as p, expected 0 to 1",
        ),
        (
            {"log2_fc": [-3.0, -2.0, 1.5, 2.0] * 5},
            "lies between -1.5 and 1.5: a table of changed genes alone",
        ),
        (
            {"P.Value": 0.5},
            "columns p_value, P.Value may each be p; say which with --column p=NAME",
        ),
    ],
)
def test_numbers_that_are_none_are_named(
    tmp_path: Path, columns: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        label_changes(written(tmp_path / "de.csv", many(**columns)), SETTINGS)


def test_genes_without_any_change_are_unchanged_ones(tmp_path: Path) -> None:
    changes = [-3.0, -2.0, 1.5, 2.0, *[0.0] * 6] * 2  # as of a tool that shrinks small changes to 0
    found = label_changes(
        written(
            tmp_path / "de.csv",
            many(log2_fc=changes, p_value=[1e-9 if each else 1.0 for each in changes]),
        ),
        SETTINGS,
    )
    codes = dict(zip(found.genes, found.codes[0].tolist(), strict=True))
    assert [codes[f"G{i}"] for i in (1, 2, 4)] == [DOWN, UP, NONE]


def test_a_gene_that_was_not_tested_has_no_label(tmp_path: Path) -> None:
    p = ["NA", *many()["p_value"][1:]]  # as DESeq2 writes
    found = label_changes(written(tmp_path / "de.csv", many(p_value=p)), SETTINGS)
    codes = dict(zip(found.genes, found.codes[0].tolist(), strict=True))
    assert (codes["G0"], codes["G1"]) == (LEFT_OUT, DOWN)


def test_columns_are_named_where_names_do_not_tell(tmp_path: Path) -> None:
    path = written(tmp_path / "de.csv", many().rename(columns={"target": "what"}))
    with pytest.raises(InputError, match="say which column is pert with --column ROLE=NAME"):
        label_changes(path, SETTINGS)
    found = label_changes(path, replace(SETTINGS, columns={"pert": "what"}))
    np.testing.assert_array_equal(found.codes, label_changes(written(path, many()), SETTINGS).codes)


def test_perturbed_genes_without_a_row_are_named(tmp_path: Path) -> None:
    path = written(tmp_path / "de.csv", pd.concat([many(), many(target="Z")]))
    with pytest.raises(InputError, match=r"not among the measured ones: Z; .*--keep-unknown"):
        label_changes(path, SETTINGS)
    kept = replace(SETTINGS, groups=GroupSettings(keep_unknown=True))
    assert label_changes(path, kept).groups.unknown == ("Z",)
