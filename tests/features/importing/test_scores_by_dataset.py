"""External scores whose perturbations are guides, or in another spelling, of a dataset's genes."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.features.importing.external_scores import ScoreTable
from core.features.importing.reader import read_path
from core.features.importing.score_columns import name_by_dataset

DATASET = [("STAT1", "IRF1"), ("STAT2", "IRF1"), ("HLA-A", "IRF1")]


def scores(folder: Path, perts: list[str]) -> ScoreTable:
    (folder / "s.csv").write_text(
        "pert,gene,score\n" + "".join(f"{pert},IRF1,{i}\n" for i, pert in enumerate(perts))
    )
    found = read_path(folder / "s.csv")
    assert isinstance(found, ScoreTable)
    return found


@pytest.mark.parametrize(
    ("pert", "key"),
    [
        ("STAT1-1", "STAT1_IRF1"),  # a guide
        ("STAT1_sg2", "STAT1_IRF1"),
        ("stat1", "STAT1_IRF1"),
        ("HLA-A", "HLA-A_IRF1"),  # a symbol, and no combination
        ("STAT1-STAT2", "STAT1-STAT2_IRF1"),  # of two genes: no row of the dataset
    ],
)
def test_a_perturbation_is_read_beside_the_genes(tmp_path: Path, pert: str, key: str) -> None:
    assert name_by_dataset(scores(tmp_path, [pert]), DATASET).ids == (key,)


def test_two_guides_of_a_gene_are_one_row_and_the_second_is_rejected(tmp_path: Path) -> None:
    found = name_by_dataset(scores(tmp_path, ["STAT1_sg1", "STAT2", "STAT1_sg2"]), DATASET)
    assert (found.ids, found.columns) == (("STAT1_IRF1", "STAT2_IRF1"), {"score": (0.0, 1.0)})
    assert [(bad.line, bad.reason) for bad in found.rejected] == [(4, "duplicate")]
