"""Tables of predicted changes: which columns count, what evidence is, which rows are rejected."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from core.base.errors import InputError
from core.base.types import Pair
from core.features.cells.change_rows import refuse_other_scale
from core.features.cells.predicted_table import WantedPairs, read_predicted_table
from core.features.importing.roles import TableOptions

PACK = {"gzip": gzip.compress, "bz2": bz2.compress}
PAIRS = WantedPairs(
    [
        Pair(f"{pert}_{gene}", pert, gene, None, "train")
        for pert in ("A", "B")
        for gene in ("G", "H")
    ]
)
CHANGES = pd.DataFrame(
    {"pert": ["A", "B", "A", "Q"], "gene": ["G", "H", "H", "G"], "log2_fc": [-0.5, 2.0, 0.25, 9.0]}
)  # nothing of B_G; Q is not in the dataset


def written(path: Path, table: pd.DataFrame) -> Path:
    if path.suffix == ".parquet":
        table.to_parquet(path)
    elif path.suffix == ".xlsx":
        table.to_excel(path, index=False)
    else:
        table.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".xlsx"])
def test_changes_alone_are_their_own_evidence(tmp_path: Path, suffix: str) -> None:
    found = read_predicted_table(written(tmp_path / f"t{suffix}", CHANGES), PAIRS)
    np.testing.assert_array_equal(found.signed, [-0.5, 0.25, np.nan, 2.0])
    np.testing.assert_array_equal(found.evidence, [0.5, 0.25, np.nan, 2.0])
    assert (found.measure, found.other_pairs, found.rejected) == ("log2_fc", 1, ())
    assert found.covered.tolist() == [True, True, False, True]


def test_a_standard_error_makes_z(tmp_path: Path) -> None:
    table = CHANGES.assign(SE=[0.25, 4.0, 0.5, 1.0])
    found = read_predicted_table(written(tmp_path / "t.csv", table), PAIRS)
    np.testing.assert_array_equal(found.signed, [-2.0, 0.5, np.nan, 0.5])
    assert found.measure == "z"
    np.testing.assert_array_equal(found.log2_fc, [-0.5, 0.25, np.nan, 2.0])


def test_p_values_rank_by_their_logarithm_with_the_sign_of_the_change(tmp_path: Path) -> None:
    z = np.array([3.0, 1.0, 0.5, 2.0])
    table = CHANGES.assign(p_value=2 * norm.sf(z))
    found = read_predicted_table(written(tmp_path / "t.csv", table), PAIRS)
    np.testing.assert_allclose(found.evidence, -np.log10(2 * norm.sf([3.0, 0.5, np.nan, 1.0])))
    np.testing.assert_array_equal(np.sign(found.signed), [-1, 1, np.nan, 1])
    assert found.measure == "-log10 p"


def test_a_p_value_of_0_is_the_strongest_evidence_and_finite(tmp_path: Path) -> None:
    found = read_predicted_table(
        written(tmp_path / "t.csv", CHANGES.assign(p=[0.0, 1.0, 1e-300, 0.5])), PAIRS
    )
    assert found.evidence[0] == pytest.approx(
        307.65, abs=0.01
    )  # -log10 of the smallest normal number, 2.2e-308
    assert np.nanmax(found.evidence) == found.evidence[0]


def test_z_goes_before_everything_else(tmp_path: Path) -> None:
    table = CHANGES.assign(z=[1.0, -2.0, 3.0, 4.0], se=1.0, p=0.5)
    found = read_predicted_table(written(tmp_path / "t.csv", table), PAIRS)
    np.testing.assert_array_equal(found.signed, [1.0, 3.0, np.nan, -2.0])


def read_as(path: Path, table: pd.DataFrame, **named: str) -> dict[str, str]:
    found = read_predicted_table(written(path / "t.csv", table), PAIRS, TableOptions(named))
    return dict(found.read_as)


def test_columns_are_named_where_names_do_not_tell(tmp_path: Path) -> None:
    table = CHANGES.assign(P=[0.1, 0.2, 0.3, 0.4]).set_axis(
        ["target", "feature", "effect", "P.Value"], axis=1
    )
    with pytest.raises(InputError, match=r"which column is log2_fc .*--column ROLE=NAME"):
        read_as(tmp_path, table)
    named = {"log2_fc": "effect", "p": "P.Value"}
    assert read_as(tmp_path, table, **named) == {"pert": "target", "gene": "feature", **named}
    with pytest.raises(
        InputError, match="columns pert, Pert may each be pert; say which with --column pert=NAME"
    ):
        read_as(tmp_path, CHANGES.assign(Pert="x"))
    with pytest.raises(
        InputError, match="--column z=zz: not in the file; its columns are 'pert, gene, log2_fc'"
    ):
        read_as(tmp_path, CHANGES, z="zz")
    with pytest.raises(InputError, match="--column colour=gene: no such role"):
        read_as(tmp_path, CHANGES, colour="gene")


def test_rows_that_say_nothing_are_rejected_with_their_lines(tmp_path: Path) -> None:
    rows = [
        "pert,gene,log2_fc,se",
        "A,G,1,1",
        "A,G,2,1",
        "A,H,,1",
        "B,G,0.5,x",
        "B,H,1,0",
        "Q,G,x,x",
    ]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(rows))
    found = read_predicted_table(path, PAIRS)
    assert [(bad.line, bad.reason) for bad in found.rejected] == [
        (3, "duplicate"),
        (4, "empty cell"),
        (5, "not a number"),
        (6, "out of range"),
    ]
    np.testing.assert_array_equal(found.signed, [1.0, np.nan, np.nan, np.nan])
    assert found.other_pairs == 1


@pytest.mark.soak
def test_a_pair_on_both_sides_of_a_part_of_the_file_counts_once(tmp_path: Path) -> None:
    """Text files are read in parts of about a megabyte."""
    other = pd.DataFrame({"pert": "Q", "gene": [f"N{i}" for i in range(200_000)], "log2_fc": 0.5})
    table = pd.concat([CHANGES.iloc[:1], other, CHANGES.iloc[:1].assign(log2_fc=7.0)])
    found = read_predicted_table(written(tmp_path / "t.csv", table), PAIRS)
    assert found.signed[0] == -0.5
    assert [(bad.line, bad.reason) for bad in found.rejected] == [(200_003, "duplicate")]


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    for name, content in (("t.xlsx", b"PK"), ("t.docx", b"PK"), ("t.parquet", b"no")):
        (tmp_path / name).write_bytes(content)
    for name in ("t.xlsx", "t.docx", "t.parquet", "missing.csv"):
        with pytest.raises(InputError, match=name):
            read_predicted_table(tmp_path / name, PAIRS)


MANY = pd.DataFrame(
    {
        "pert": [p for p in "AB" for _ in range(10)],
        "gene": [*(f"N{i}" for i in range(8)), "G", "H"] * 2,
    }
)
RATIOS = np.exp2(np.linspace(-2, 2, 20))


INDEXED = {
    "categories": CHANGES.astype({"pert": "category", "gene": "category"}).set_index(
        ["pert", "gene"]
    ),
    "a groupby": CHANGES.groupby(["pert", "gene"])[["log2_fc"]].mean(),
    "other names": CHANGES.set_index(["pert", "gene"]).rename_axis(["perturbation", "feature"]),
    "the other order": CHANGES.set_index(["gene", "pert"]),
    "genes alone": CHANGES.set_index("gene"),
    "numbers before": CHANGES.reset_index().set_index(["index", "pert"]),
}


@pytest.mark.parametrize("kind", INDEXED)
def test_any_index_of_pandas_is_columns(tmp_path: Path, kind: str) -> None:
    INDEXED[kind].to_parquet(tmp_path / "t.parquet")
    np.testing.assert_array_equal(
        read_predicted_table(tmp_path / "t.parquet", PAIRS).signed, [-0.5, 0.25, np.nan, 2.0]
    )


def test_an_index_without_names_is_named_by_the_refusal(tmp_path: Path) -> None:
    CHANGES.set_index(["pert", "gene"]).rename_axis([None, None]).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(
        InputError,
        match=r"columns 'log2_fc, __index_level_0__, __index_level_1__'; .*--column ROLE=NAME",
    ):
        read_predicted_table(tmp_path / "t.parquet", PAIRS)
    options = TableOptions({"pert": "__index_level_0__", "gene": "__index_level_1__"})
    np.testing.assert_array_equal(
        read_predicted_table(tmp_path / "t.parquet", PAIRS, options).signed,
        [-0.5, 0.25, np.nan, 2.0],
    )


@pytest.mark.parametrize("name", ["fold_change", "FoldChange", "fc"])
def test_a_ratio_is_no_logarithm(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / "t.csv", MANY.assign(**{name: RATIOS}))
    with pytest.raises(
        InputError,
        match=rf"no negative value among 20 above 0. .* --column fold_change={name}",
    ):
        read_predicted_table(path, PAIRS, TableOptions({"log2_fc": name}))
    for named in ({"fold_change": name}, {}):
        found = read_predicted_table(path, PAIRS, TableOptions(named))
        np.testing.assert_allclose(found.signed, np.log2(RATIOS)[[8, 9, 18, 19]])
    path = written(tmp_path / "log.csv", MANY.assign(**{name: np.log2(RATIOS)}))
    with pytest.raises(
        InputError,
        match=rf"as fold_change, has negative values: a logarithm is --column log2_fc={name}",
    ):
        read_predicted_table(path, PAIRS)
    np.testing.assert_allclose(
        read_predicted_table(path, PAIRS, TableOptions({"log2_fc": name})).signed,
        np.log2(RATIOS)[[8, 9, 18, 19]],
    )


@pytest.mark.parametrize(
    ("of_ratio", "to_ratio"),
    [(lambda ratio: 100 * (ratio - 1), lambda x: 1 + x / 100), (lambda r: r - 1, lambda x: x + 1)],
)
def test_percentages_and_ratios_less_1_are_no_logarithms(
    tmp_path: Path,
    of_ratio: Callable[[np.ndarray], np.ndarray],
    to_ratio: Callable[[np.ndarray], np.ndarray],
) -> None:
    lost = np.where(np.arange(20) % 10 < 4, 0.0, RATIOS)
    path = written(tmp_path / "t.csv", MANY.assign(log2_fc=of_ratio(lost)))
    with pytest.raises(
        InputError,
        match=r"log2_fc, as log2_fc, holds percentages or ratios less 1.* --column z=log2_fc",
    ):
        read_predicted_table(path, PAIRS)
    written(tmp_path / "t.csv", MANY.assign(fold_change=to_ratio(of_ratio(lost))))
    expected = read_predicted_table(
        written(tmp_path / "ratio.csv", MANY.assign(fold_change=lost)), PAIRS
    )
    np.testing.assert_allclose(read_predicted_table(path, PAIRS).signed, expected.signed)


@pytest.mark.parametrize(
    "values",
    [
        np.concatenate(
            [np.linspace(1, 3, 50), np.linspace(-3, -1, 50)]
        ),  # of a table of what changed
        np.linspace(-1, 1, 20),  # what is cut at one
        np.where(np.arange(20) < 12, -1.0, 1.0),  # signs
        np.array([60.0, -0.5] + [0.5, -2.0] * 9),  # one outlier
        np.array([np.inf, -np.inf] * 5 + [0.5, -0.25] * 5),
        np.linspace(-44, 44, 20),  # as scanpy's, over 1e-9
        np.linspace(-0.9, 3, 20),  # may be either
    ],
)
def test_what_may_be_a_logarithm_is_taken_as_one(values: np.ndarray) -> None:
    refuse_other_scale("t.csv", "log2_fc", "log2_fc", values)


def test_a_logarithm_is_no_p_value(tmp_path: Path) -> None:
    path = written(
        tmp_path / "t.csv", MANY.assign(log2_fc=np.log2(RATIOS), p=np.linspace(0.5, 40, 20))
    )
    with pytest.raises(
        InputError,
        match=r"column p, as p, is above 1 in 19 rows: it is no p-value \(-log10 p, perhaps\)",
    ):
        read_predicted_table(path, PAIRS)


def test_an_adjusted_p_value_counts_where_there_is_no_other(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", CHANGES.assign(FDR=[0.1, 0.01, 1.0, 0.5]))
    found = read_predicted_table(path, PAIRS)
    assert (found.measure, found.read_as["adjusted_p"]) == ("-log10 p", "FDR")


@pytest.mark.parametrize(
    "write", ["{}+ctrl", "ctrl+{}", " {}", "{}\u00a0", "{}_NTC", "{}_sg1", "{}_+_12.5-P1P2"]
)
def test_perturbations_are_read_as_in_cells(tmp_path: Path, write: str) -> None:
    table = CHANGES.assign(
        pert=[write.format(pert) for pert in CHANGES["pert"]],
        gene=[f" {gene}" for gene in CHANGES["gene"]],
    )
    found = read_predicted_table(written(tmp_path / "t.csv", table), PAIRS)
    np.testing.assert_array_equal(found.signed, [-0.5, 0.25, np.nan, 2.0])


def test_controls_and_combinations_are_other_rows(tmp_path: Path) -> None:
    table = CHANGES.assign(pert=["A", "A+B", "ctrl", "nan"])
    found = read_predicted_table(written(tmp_path / "t.csv", table), PAIRS)
    assert (found.other_pairs, found.covered.sum()) == (3, 1)


def test_a_size_of_z_without_a_direction_is_refused(tmp_path: Path) -> None:
    pairs = [Pair(f"A_G{i}", "A", f"G{i}", None, "train") for i in range(20)]
    lines = [f"A,G{i},{(-1) ** i * 0.5},{i + 1}" for i in range(20)]
    (tmp_path / "t.csv").write_text("\n".join(["pert,gene,log2_fc,z", *lines]))
    with pytest.raises(
        InputError,
        match="column z, as z, has no negative value among 20 above 0: a size without a direction",
    ):
        read_predicted_table(tmp_path / "t.csv", WantedPairs(pairs))
