"""Tables of differential expression of the field are read as their READMEs say is right, or refused with the reason."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from core.base.errors import InputError
from core.base.types import Pair
from core.features.cells.changes_table import label_changes
from core.features.cells.groups import GroupSettings
from core.features.cells.labels import SamplingSettings
from core.features.cells.predicted_table import WantedPairs, read_predicted_table
from core.features.cells.screen import LabelSettings, ScreenLabels
from core.features.importing.roles import TableOptions
from tests.real.conftest import FIELD, needs_field

pytestmark = needs_field
SETTINGS = LabelSettings(sampling=SamplingSettings(all_pairs=True, least_effects=1))
RIGHT = {
    "up": 37,
    "down": 40,
    "none": 257,
}  # of b01, b03 and b04, whose tables are of the same tests
OF_SCREEN = {"up": 59, "down": 99, "none": 614}  # of b15 and b17


def path_of(name: str) -> Path:
    folder, file = name.split("/")
    return next((FIELD / "data").glob(f"{folder}_*")) / file


def labels_of(name: str, **settings: object) -> ScreenLabels:
    return label_changes(path_of(name), replace(SETTINGS, **settings))  # type: ignore[arg-type]


def counts(labels: ScreenLabels) -> dict[str, int]:
    return labels.pairs["label"].value_counts().to_dict()


def wanted(*pairs: tuple[str, str]) -> WantedPairs:
    return WantedPairs([Pair(f"{pert}_{gene}", pert, gene, None, "train") for pert, gene in pairs])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("06/t_pdex.csv", {"none": 843, "down": 90, "up": 38}),
        *((name, RIGHT) for name in ("b01/both.csv", "b01/padj_only.csv", "b03/all_genes.csv")),
        *((name, RIGHT) for name in ("b04/presto_wilcoxauc.csv", "b04/seurat3_avg_logFC.csv")),
        *((name, RIGHT) for name in ("b14/pert_only_in_first_row.xlsx",)),
        ("b15/00_reference.csv", OF_SCREEN),
        ("b17/03_seurat_findallmarkers.csv", OF_SCREEN),
        ("b17/11_glmGamPoi.csv", OF_SCREEN),
        ("b17/12_pertpy.csv", OF_SCREEN),
        ("b17/14_scanpy_wide.csv", OF_SCREEN),
        ("b17/49_mac.csv", OF_SCREEN),
        ("b17/50_utf16.csv", OF_SCREEN),
        ("b17/53_comment.csv", OF_SCREEN),
        ("b17/54_r_write_table.tsv", OF_SCREEN),
    ],
)
def test_labels_are_those_of_the_right_table(name: str, expected: dict[str, int]) -> None:
    assert counts(labels_of(name)) == expected


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (
            "b03/findallmarkers_default.csv",
            r"lies between -0\.25 and 0\.25: a table of changed genes alone",
        ),
        ("b03/only_pos.csv", "no negative value .*table of rises alone"),
        ("b11/drug_de.csv", r"Dasatinib 1 uM.* look like drugs, doses or times.*--keep-unknown"),
        ("b17/Arce2025_Screen.csv", "a summary of MAGeCK"),
    ],
)
def test_what_makes_wrong_labels_is_refused_with_the_reason(name: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        labels_of(name)


def test_drugs_are_kept_where_somebody_says_so() -> None:
    assert (
        len(labels_of("b11/drug_de.csv", groups=GroupSettings(keep_unknown=True)).groups.unknown)
        == 8
    )


def test_dates_and_infinite_changes_are_said() -> None:
    labels = labels_of("b14/gene_dates.xlsx")
    assert len(labels.rejected) == 48
    assert "a date" in labels.rejected[0].detail
    assert not any("T00:00:00" in gene for gene in labels.genes)
    notes = labels_of("b15/24_inf.csv").of_table["notes"]
    assert any("90 infinite changes are read as 20-fold" in note for note in notes)


def test_an_index_of_pandas_and_combined_names_are_read() -> None:
    for name in ("04/t_multiindex.parquet", "07/t_gears.csv"):
        found = read_predicted_table(path_of(name), wanted(("G002", "G001"), ("G002", "G003")))
        assert found.covered.all()
        assert found.rejected == ()


def test_a_ratio_is_named_and_the_advice_helps() -> None:
    path, pairs = path_of("06/t_pdex.csv"), wanted(("G002", "G001"))
    with pytest.raises(InputError, match="--column fold_change=fold_change"):
        read_predicted_table(path, pairs, TableOptions({"log2_fc": "fold_change"}))
    found = read_predicted_table(path, pairs, TableOptions({"fold_change": "fold_change"}))
    assert found.log2_fc[0] == pytest.approx(0.64675, abs=1e-4)


def test_one_of_two_lines_is_asked_for() -> None:
    path = path_of("b05/pred_two_lines.csv")
    lines = [line.split(",") for line in path.read_text().splitlines()[1:]]
    truth = {(pert, gene): float(change) for pert, gene, change, line in lines if line == "K562"}
    with pytest.raises(
        InputError,
        match=r"another cell_line \(cell_line: RPE1, K562\).*--where cell_line=(K562|RPE1)$",
    ):
        read_predicted_table(path, wanted(*truth))
    found = read_predicted_table(path, wanted(*truth), TableOptions(where={"cell_line": "K562"}))
    assert found.signed.tolist() == [*truth.values()]
