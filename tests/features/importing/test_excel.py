"""Symbols that a spreadsheet changed, and those that only look so."""

from __future__ import annotations

import pytest

from core.features.importing.name_kinds import is_log_p_name, is_p_value_name, is_rank_name
from core.features.importing.symbols import spreadsheet_damage


@pytest.mark.parametrize(
    ("symbol", "words"),
    [
        *(
            (each, "a date")
            for each in ("1-Mar", "2-Sep", "Mar-01", "1-Dec-20", "3/1/2020", "2020-03-01", "1-mrz")
        ),
        *(
            (each, "a date")
            for each in ("1. Mrz", "2 Sep", "01. Mär", "1-mars", "Dez 01", "1/Mar/2024")
        ),
        *((each, "a number, made") for each in ("2.31E+13", "2,31E+13", "1.0")),
        *(
            ("43891", "a day"),
            ("7157", "Entrez"),
            ("TRUE", "truth"),
            ("nan", "missing"),
            ("#NAME?", "error"),
        ),
        *(
            ("9/1", "a date"),
            ("WAHR", "truth"),
            ("<NA>", "missing"),
            ("-", "nothing"),
            ("?", "nothing"),
        ),
    ],
)
def test_damage_is_named(symbol: str, words: str) -> None:
    assert words in spreadsheet_damage(symbol)


@pytest.mark.parametrize(
    "symbol",
    ["MARCH1", "SEPT2", "DEC1", "2310009E13Rik", "H2-K1", "NKX2-1", "NA", "None", "A1BG", "7SK"],
)
def test_symbols_are_left_alone(symbol: str) -> None:
    assert spreadsheet_damage(symbol) == ""


@pytest.mark.parametrize(
    "name",
    [
        "p",
        "pval",
        "p_value",
        "P.Value",
        "padj",
        "adj.P.Val",
        "FDR_bh",
        "q",
        "pvals_adj",
        "de_pval",
        "wilcoxon_p",
        "raw_p",
        "lfsr",
        "p_none",
        "posterior_null",
        "prob_no_effect",
        "h0_probability",
    ],
)
def test_columns_of_p_values(name: str) -> None:
    assert is_p_value_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "p_de",
        "p_up",
        "neg_log10_p",
        "-log10(padj)",
        "1-p",
        "score",
        "probability",
        "log_fdr",
        "gpt_p",
        "eval",
        "z_vs_null",
    ],
)
def test_columns_that_only_look_so(name: str) -> None:
    assert not is_p_value_name(name)


@pytest.mark.parametrize(
    ("name", "is_log"),
    [("log10p", True), ("-log10(padj)", True), ("log_pval", True), ("logp", False)],
)
def test_logarithms_of_p_values(name: str, is_log: bool) -> None:
    """log p alone may be a log-probability."""
    assert is_log_p_name(name) == is_log


@pytest.mark.parametrize(
    "name",
    [
        "rank",
        "Ranking",
        "ranks",
        "rank_de",
        "rank de",
        "effect_rank",
        "de.rank",
        "deRank",
        "RANK",
        "ontology_rank",
    ],
)
def test_columns_of_ranks(name: str) -> None:
    assert is_rank_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "rank_score",
        "pct_rank",
        "frank",
        "PageRank",
        "PctRank",
        "pagerank",
        "rank_sum",
        "inverse_rank",
        "low_rank",
        "crank",
    ],
)
def test_columns_whose_larger_values_rank_first(name: str) -> None:
    assert not is_rank_name(name)
