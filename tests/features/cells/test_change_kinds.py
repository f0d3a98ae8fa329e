"""Kinds of tables of differential expression that were read wrongly, or refused without a way that works."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pytest

from core.base.errors import InputError, UnknownFormat
from core.base.types import Pair
from core.features.cells.changes_table import label_changes
from core.features.cells.groups import GroupSettings
from core.features.cells.labels import DOWN, UP, SamplingSettings
from core.features.cells.predicted_table import WantedPairs, read_predicted_table
from core.features.cells.screen import LabelSettings
from core.features.importing.reader import read
from core.features.importing.roles import TableOptions
from core.stats.multiplicity import benjamini_hochberg

PERTS = ("Stat1", "Rela", "Jun")
GENES = (*PERTS, *(f"Gene{i}" for i in range(57)))
SETTINGS = LabelSettings(sampling=SamplingSettings(all_pairs=True, least_effects=1))
PAIRS = WantedPairs(
    [Pair(f"{pert}_{gene}", pert, gene, None, "train") for pert in PERTS for gene in GENES]
)


def all_tests(perts: tuple[str, ...] = PERTS) -> pd.DataFrame:
    """A row for each test: a third of the genes changes, the p-values of the others are uniform."""
    rng = np.random.default_rng(0)
    n = len(perts) * len(GENES)
    is_changed = rng.random(n) < 0.3
    change = np.where(
        is_changed, rng.choice([-1, 1], n) * rng.uniform(0.6, 3, n), rng.normal(0, 0.15, n)
    )
    p = np.where(is_changed, 10 ** -rng.uniform(2, 12, n), rng.random(n))
    pairs = pd.MultiIndex.from_product([perts, GENES], names=["pert", "gene"])
    table = pd.DataFrame({"log2_fc": change, "p_value": p}, index=pairs).reset_index()
    return table.assign(
        padj=np.concatenate(
            [
                benjamini_hochberg(part.to_numpy())
                for _, part in table.groupby("pert", sort=False)["p_value"]
            ]
        )
    )


def codes(path: Path, table: pd.DataFrame, **settings: object) -> pd.Series:
    """The labels of a table, by pair."""
    table.to_csv(path, index=False)
    found = label_changes(path, replace(SETTINGS, **settings))  # type: ignore[arg-type]
    pairs = pd.MultiIndex.from_product([found.groups.targets, found.genes])
    return pd.Series(found.codes.ravel(), pairs).sort_index()


def notes(path: Path, **settings: object) -> str:
    return "; ".join(label_changes(path, replace(SETTINGS, **settings)).of_table["notes"])  # type: ignore[arg-type]


@pytest.fixture
def expected(tmp_path: Path) -> pd.Series:
    found = codes(tmp_path / "expected.csv", all_tests()[["pert", "gene", "log2_fc", "p_value"]])
    assert min((found == code).sum() for code in (UP, DOWN)) > 10
    return found


@pytest.mark.parametrize(
    "name",
    ["padj", "FDR", "p_val_adj", "adj.P.Val", "qvalue", "BH", "pval_fdr_bh", "adjusted p-value"],
)
def test_adjusted_p_values_are_not_adjusted_again(
    tmp_path: Path, expected: pd.Series, name: str
) -> None:
    path = tmp_path / "de.csv"
    pd.testing.assert_series_equal(
        codes(path, all_tests().drop(columns="p_value").rename(columns={"padj": name})), expected
    )
    assert f"FDR: as in {name}, not adjusted again" in notes(path)


@pytest.mark.parametrize("name", ["p_value", "PValue", "wilcoxon_pval"])
def test_p_values_are_adjusted_once_though_the_table_has_both(
    tmp_path: Path, expected: pd.Series, name: str
) -> None:
    path = tmp_path / "de.csv"
    table = all_tests().assign(
        padj=lambda t: np.minimum(1, 20 * t["p_value"])
    )  # as Bonferroni's, over other tests
    pd.testing.assert_series_equal(codes(path, table.rename(columns={"p_value": name})), expected)
    assert f"from {name}" in notes(path) or name not in ("p_value", "PValue")


LN, TEN = np.log(2), np.log10(2)
BASES = {
    "Seurat 3": (lambda t: t.assign(avg_logFC=t["log2_fc"] * LN), "avg_logFC: natural"),
    "by name": (lambda t: t.assign(lnFC=t["log2_fc"] * LN), "lnFC: natural"),
    "ten": (lambda t: t.assign(log10FC=t["log2_fc"] * TEN), "log10FC: log10"),
    "ratio": (lambda t: t.assign(FoldChange=2 ** t["log2_fc"]), "FoldChange: ratios"),
    "presto": (
        lambda t: t.assign(avgExpr=1.0, logFC=t["log2_fc"] * LN, auc=0.5, pct_in=4.0, pct_out=5.0),
        "logFC: natural",
    ),
    "edgeR": (lambda t: t.assign(logFC=t["log2_fc"], logCPM=5.0), "logFC: log2"),
    "glmGamPoi": (
        lambda t: t.assign(lfc=t["log2_fc"], f_statistic=1.0, df1=1, df2=10),
        "lfc: log2",
    ),
    "scanpy": (
        lambda t: t.rename(columns={"pert": "group", "gene": "names"}).assign(
            scores=1.0, logfoldchanges=t["log2_fc"], pvals_adj=0.5
        ),
        "logfoldchanges: log2",
    ),
    "SCEPTRE": (
        lambda t: t.rename(columns={"pert": "grna_target", "gene": "response_id"}).assign(
            log_2_fold_change=t["log2_fc"], significant=True
        ),
        "log_2_fold_change: log2",
    ),
    "DESeq2": (
        lambda t: t.assign(log2FoldChange=t["log2_fc"], lfcSE=0.1, stat=t["log2_fc"] / 0.1),
        "log2FoldChange: log2",
    ),
    "limma": (
        lambda t: t.assign(logFC=t["log2_fc"], t=1.0, **{"adj.P.Val": 0.5}),
        "logFC: log2",
    ),
    "a spreadsheet": (
        lambda t: t.assign(**{"log2(FC)": t["log2_fc"]}, group="other", names="other"),
        "log2(FC): log2",
    ),
    "pertpy": (
        lambda t: t.rename(columns={"pert": "contrast", "gene": "variable"}).assign(
            log_fc=t["log2_fc"]
        ),
        "log_fc: log2",
    ),
}


@pytest.mark.parametrize("tool", BASES)
def test_fold_changes_have_a_base(tmp_path: Path, expected: pd.Series, tool: str) -> None:
    write, words = BASES[tool]
    path = tmp_path / "de.csv"
    table = write(all_tests()).drop(columns=["log2_fc", "padj"])
    pd.testing.assert_series_equal(codes(path, table), expected)
    assert words in notes(path)
    found = read_predicted_table(path, PAIRS)
    assert found.log2_fc is not None
    np.testing.assert_allclose(found.log2_fc, all_tests()["log2_fc"], rtol=1e-13, atol=1e-14)
    assert words in "; ".join(found.notes)


@pytest.mark.parametrize("name", ["logFC", "coef", "log_fold_change"])
@pytest.mark.parametrize(("role", "factor"), [("log2_fc", 1), ("ln_fc", LN), ("log10_fc", TEN)])
def test_a_base_that_nothing_says_is_asked_for(
    tmp_path: Path, expected: pd.Series, name: str, role: str, factor: float
) -> None:
    table = (
        all_tests()
        .assign(**{name: all_tests()["log2_fc"] * factor})
        .drop(columns=["log2_fc", "padj"])
    )
    path = tmp_path / "de.csv"
    with pytest.raises(InputError, match=f"of a base that its name does not say; .*{role}={name}"):
        codes(path, table)
    with pytest.raises(InputError, match=f"{role}={name}"):
        read_predicted_table(path, PAIRS)
    pd.testing.assert_series_equal(codes(path, table, columns={role: name}), expected)
    assert read_predicted_table(path, PAIRS, TableOptions({role: name})).covered.all()


def test_a_standard_error_has_the_base_of_its_change(tmp_path: Path) -> None:
    table = all_tests()[["pert", "gene"]].assign(lnFC=all_tests()["log2_fc"] * LN, se=0.5 * LN)
    table.to_csv(tmp_path / "de.csv", index=False)
    np.testing.assert_allclose(
        read_predicted_table(tmp_path / "de.csv", PAIRS).signed,
        all_tests()["log2_fc"] / 0.5,
        rtol=1e-13,
    )


@pytest.mark.parametrize(
    ("keep", "reason"),
    [
        (
            lambda t: t["log2_fc"].abs() > 0.25,
            r"lies between -0\.\d+ and 0\.\d+: a table of changed genes alone",
        ),
        (
            lambda t: t["log2_fc"].abs() > 0.1,
            r"lies between -0\.1 and 0\.1: a table of changed genes alone",
        ),
        (lambda t: t["log2_fc"].abs() > 1, "lies between -1"),
        (
            lambda t: t["log2_fc"] > 0,
            r"no negative value .* a table of rises alone \(only.pos of Seurat\)",
        ),
        (lambda t: t["log2_fc"] < 0, "no change is above 0: a table of changed genes alone"),
        (lambda t: t["p_value"] < 0.01, "p-values is above 0.0"),
    ],
)
def test_tables_of_changed_genes_alone_are_refused(
    tmp_path: Path, keep: Callable[[pd.DataFrame], pd.Series], reason: str
) -> None:
    table = all_tests()
    with pytest.raises(InputError, match=reason):
        codes(tmp_path / "de.csv", table[keep(table)], groups=GroupSettings(keep_unknown=True))


@pytest.mark.parametrize(
    "table",
    [
        all_tests().round(1),
        all_tests().round(2),
        all_tests().assign(
            log2_fc=lambda t: t["log2_fc"].where(t["p_value"] < 0.05, 0.0)
        ),  # shrunk
        all_tests().iloc[:60],
    ],
)
def test_tables_of_all_tests_are_not_taken_for_filtered_ones(
    tmp_path: Path, table: pd.DataFrame
) -> None:
    assert len(codes(tmp_path / "de.csv", table))


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "columns",
    [
        {"cell_line": ("RPE1", "K562")},
        {"hours": (6, 24)},
        {"line": ("a", "b"), "time": ("6 h", "1 d")},
    ],
)
@pytest.mark.parametrize("is_mixed", [False, True])
def test_repeats_that_columns_explain_are_asked_about(
    tmp_path: Path, expected: pd.Series, columns: dict[str, tuple[object, object]], is_mixed: bool
) -> None:
    path, right = (
        tmp_path / "de.csv",
        all_tests().assign(**{name: values[0] for name, values in columns.items()}),
    )
    parts = [right]
    for n in range(1, 2 ** len(columns)):
        bits = {name: values[n >> i & 1] for i, (name, values) in enumerate(columns.items())}
        parts.append(all_tests().assign(**bits, log2_fc=-all_tests()["log2_fc"]))
    table = pd.concat(parts, ignore_index=True)
    table = table.sample(frac=1, random_state=0) if is_mixed else table
    where = {name: str(values[0]) for name, values in columns.items()}
    named = " or ".join(columns)
    with pytest.raises(InputError, match=f"with another {named} .*--where"):
        codes(path, table)
    with pytest.raises(
        InputError, match=rf"with another {named} .*as in --where '?{next(iter(columns))}=[^(]*$"
    ):
        read_predicted_table(path, PAIRS)
    pd.testing.assert_series_equal(codes(path, table, where=where), expected)
    found = read_predicted_table(path, PAIRS, TableOptions(where=where))
    np.testing.assert_array_equal(np.sign(found.signed), np.sign(all_tests()["log2_fc"]))


def test_guides_are_nothing_to_choose_by(tmp_path: Path) -> None:
    guides = [all_tests().assign(guide=lambda t, n=n: t["pert"] + f"_sg{n}") for n in (1, 2)]
    with pytest.raises(InputError, match="a pair is repeated"):
        codes(tmp_path / "de.csv", pd.concat(guides))


def test_genes_go_by_their_symbols_where_identifiers_stand_beside(
    tmp_path: Path, expected: pd.Series
) -> None:
    table = all_tests().rename(columns={"gene": "symbol"})
    identifiers = table["symbol"].map(
        {symbol: f"ENSMUSG{i:011d}" for i, symbol in enumerate(GENES)}
    )
    pd.testing.assert_series_equal(
        codes(tmp_path / "de.csv", table.assign(gene=identifiers)), expected
    )


def test_repeats_that_nothing_explains_are_refused_or_listed(tmp_path: Path) -> None:
    path, table = tmp_path / "de.csv", all_tests().assign(base_mean=np.linspace(1, 900, 180))
    with pytest.raises(
        InputError, match=r"a pair is repeated \(Stat1, Rela\), expected one row for each"
    ):
        codes(path, pd.concat([table, table.iloc[1:3].assign(base_mean=0.5)]))
    assert [row.line for row in read_predicted_table(path, PAIRS).rejected] == [182, 183]


@pytest.mark.parametrize(
    "name", ["Dasatinib 100 nM", "LPS 6h", "Vorinostat", "10 ng/ml IL4", "IFNg"]
)
def test_drugs_doses_and_times_are_no_perturbed_genes(tmp_path: Path, name: str) -> None:
    table = all_tests(("Stat1", name))
    with pytest.raises(
        InputError,
        match=rf"not among the measured ones: {name}; {name} look like drugs.*--keep-unknown",
    ):
        codes(tmp_path / "de.csv", table)
    assert name in codes(tmp_path / "de.csv", table, groups=GroupSettings(keep_unknown=True)).index


@pytest.mark.parametrize(
    "damaged", ["1-Mar", "2024-09-02", "2.31E+13", "43710", "02/03/2024", "#REF!"]
)
def test_what_excel_made_of_symbols_is_named(tmp_path: Path, damaged: str) -> None:
    path, table = tmp_path / "de.csv", all_tests().replace({"gene": {"Gene5": damaged}})
    assert damaged not in codes(path, table).index.get_level_values(1)
    assert f"3 rows name no gene and are left out, the first '{damaged}' as gene: " in notes(path)
    assert [row.reason for row in read_predicted_table(path, PAIRS).rejected] == [
        "no gene symbol"
    ] * 3
    with pytest.raises(InputError, match="180 rows name no gene, the first"):
        codes(path, table.assign(gene=damaged))


@pytest.mark.few(1)
@pytest.mark.parametrize("column", ["pert", "gene"])
@pytest.mark.parametrize("is_merged", [False, True])
def test_cells_below_a_name_are_filled(
    tmp_path: Path, expected: pd.Series, column: str, is_merged: bool
) -> None:
    table = all_tests().sort_values(column, kind="stable").drop(columns="padj")
    book, line, at = openpyxl.Workbook(), 1, [*table].index(column) + 1
    book.active.append([*table])
    for name, rows in table.groupby(column, sort=False):
        for row in rows.assign(**{column: [name, *[None] * (len(rows) - 1)]}).itertuples(
            index=False
        ):
            book.active.append([*row])
        if is_merged:
            book.active.merge_cells(
                start_row=line + 1, end_row=line + len(rows), start_column=at, end_column=at
            )
        book.active.append([])
        line += len(rows) + 1
    path = tmp_path / "de.xlsx"
    book.save(path)
    found = label_changes(path, SETTINGS)
    assert found.codes.ravel().tolist() == expected.tolist()
    assert f"empty cells of column {column} are read as the name above" in notes(path)
    assert read_predicted_table(path, PAIRS).covered.all()


def test_rows_without_a_perturbation_are_counted(tmp_path: Path) -> None:
    path, table = tmp_path / "de.csv", all_tests()
    codes(path, table.assign(pert=table["pert"].where(np.arange(len(table)) % 9 > 0, "")))
    assert "20 rows name no perturbation and are left out" in notes(path)


@pytest.mark.parametrize(
    ("infinite", "nothing"), [("inf", "-inf"), ("Inf", "-Inf"), ("Infinity", "-Infinity")]
)
def test_infinite_changes_are_those_of_cells(tmp_path: Path, infinite: str, nothing: str) -> None:
    path, table = tmp_path / "de.csv", all_tests().astype({"log2_fc": object})
    table.loc[[4, 5], "log2_fc"] = [infinite, nothing]
    table.loc[[4, 5], "p_value"] = 1e-20
    found = codes(path, table)
    assert (found["Stat1", GENES[4]], found["Stat1", GENES[5]]) == (UP, DOWN)
    assert "2 infinite changes are read as 20-fold" in notes(path)
    predicted = read_predicted_table(path, PAIRS)
    np.testing.assert_allclose(predicted.log2_fc[[4, 5]], [np.log2(20), -np.log2(20)])
    assert "2 infinite changes" in "; ".join(predicted.notes)


def test_scanpys_groups_side_by_side(tmp_path: Path, expected: pd.Series) -> None:
    parts = []
    for pert, rows in all_tests().groupby("pert", sort=False):
        ordered = rows.sort_values("p_value")  # each group has its own order of genes
        names = {"gene": "names", "log2_fc": "logfoldchanges", "p_value": "pvals"}
        columns = {f"{pert}_{name}": ordered[of].to_numpy() for of, name in names.items()}
        parts.append(pd.DataFrame(columns))
    path, table = tmp_path / "de.csv", pd.concat(parts, axis=1)
    pd.testing.assert_series_equal(codes(path, table), expected)
    assert "a table of scanpy with 3 groups side by side" in notes(path)
    assert read_predicted_table(path, PAIRS).covered.all()
    with pytest.raises(UnknownFormat, match=r"differential expression .*`cells labels FILE"):
        read(path.read_bytes(), "de.csv")


@pytest.mark.parametrize(
    "header", ["id,num,neg|score,neg|p-value,pos|score", "Gene,sgRNA,day23|beta,day23|z"]
)
def test_summaries_of_mageck_are_named(tmp_path: Path, header: str) -> None:
    path = tmp_path / "de.csv"
    path.write_text(
        f"{header}\n" + "\n".join(f"Gene{i},3" + ",0.5" * (header.count(",") - 1) for i in range(9))
    )
    for read_it in (
        lambda: label_changes(path, SETTINGS),
        lambda: read(path.read_bytes(), "de.csv"),
    ):
        with pytest.raises(UnknownFormat, match="a summary of MAGeCK"):
            read_it()
