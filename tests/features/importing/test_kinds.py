"""A matrix of effects, counts or expression is said to be one; vectors of genes are taken."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

from core.base.errors import InputError
from core.base.tables import Table, table_of
from core.features.importing.name_kinds import refuse_matrix
from core.features.importing.roles import choose_roles
from core.features.importing.spaces.tables import make_imported_space

GENES = ["STAT1", "IRF1", "MYD88", "TLR4", "JUN", "FOS", "RELA", "CD14", "GBP2", "C1orf35"]
BARCODES = ["AAACCTGAGAAACCAT-1", "AAACCTGAGAAACCGC-1", "s2_AAACCTGAGAAACCTA", "AAACCTGAGAAAGTGG"]


@pytest.mark.parametrize(
    ("rows", "columns", "words"),
    [
        (["STAT1", "IRF1"], GENES, "perturbations by genes"),
        (["STAT1+ctrl", "ctrl", "IRF1+ctrl"], GENES, "perturbations by genes"),
        (GENES, ["STAT1", "IRF1", "JUN+ctrl"], "genes by perturbations"),
        (["KLF4", "SOX2"], GENES, "by genes"),
        (GENES, GENES[::-1], "genes by genes"),
        (GENES, BARCODES, "genes by cells"),
        (BARCODES, GENES, "cells by genes"),
        (GENES, ["GSM101", "GSM102", "GSM103"], "genes by samples"),
        (GENES, ["WT_rep1", "WT_rep2", "KO_rep1"], "genes by samples"),
    ],
)
def test_a_matrix_is_said_to_be_one(rows: list[str], columns: list[str], words: str) -> None:
    for check in (
        lambda: refuse_matrix(rows, columns, "m.csv"),
        lambda: choose_roles(
            Table("m.csv", ["", *columns], enumerate([row, *columns] for row in rows))
        ),
        lambda: make_imported_space(
            "m", rows, np.ones((len(rows), len(columns))), "m.csv", columns=columns
        ),
    ):
        with pytest.raises(InputError, match=f"{words}.*d0, d1"):
            check()


@pytest.mark.parametrize(
    "columns",
    [
        ["d0", "d1", "d2"],
        [str(i) for i in range(9)],
        [f"PC{i}" for i in range(9)],
        [f"LV{i}" for i in range(9)],
        ["Liver", "Brain", "Heart", "Lung", "Spleen", "Skin", "Colon", "Testis"],
        ["GO:0000001", "GO:0000002", "GO:0000003"],
    ],
)
def test_vectors_of_genes_are_no_matrix(columns: list[str]) -> None:
    refuse_matrix(GENES, columns, "m.csv")


def test_counts_in_columns_of_any_name_are_no_space() -> None:
    counts = np.random.default_rng(1).poisson(0.5, (10, 6))
    with pytest.raises(InputError, match="counts"):
        make_imported_space("m", GENES, counts, "m.csv", columns=["a", "b", "c", "e", "g", "h"])
    members = (counts > 0).astype(float)
    assert (
        make_imported_space(
            "m", GENES, members + np.eye(10, 6), "m.csv", columns=[f"d{i}" for i in range(6)]
        ).columns
        == 6
    )


def test_the_advice_gives_a_table_of_pairs() -> None:
    frame = pd.DataFrame(np.arange(20.0).reshape(2, 10), index=["STAT1", "IRF1"], columns=GENES)
    long = frame.rename_axis(index="pert", columns="gene").stack().reset_index(name="log2_fc")
    roles = choose_roles(table_of(io.BytesIO(long.to_csv(index=False).encode()), "long.csv"))
    assert dict(roles.of) == {"pert": "pert", "gene": "gene", "log2_fc": "log2_fc"}
