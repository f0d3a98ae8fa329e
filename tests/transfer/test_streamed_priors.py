"""Predictions from one Parquet file to another: the same as in memory, wherever batches end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from core.errors import InputError
from core.transfer.knn import Weighting
from core.transfer.labelled_rows import Axis, knowledge_of, rows_of
from core.transfer.protocols import EvaluationProtocol, KnnInputs, SimilaritySettings, predict_knn
from core.transfer.similarity import Space
from core.transfer.streamed_priors import SymbolPredictions, distinct_symbols, stream_predictions, symbol_priors

SYMBOLS = [f"S{i}" for i in range(6)]
COLUMNS = pa.table({"p_de": pa.array([0.1, None, 0.3, 0.4, 0.5, 0.6]), "flags": pa.array(["", "a b", "", "a", "", ""])})
KNOWN = [("P0", "S0"), ("P1", "S1")]


def write(path: Path, pert: list[str | None], gene: list[str | None], row_group: int = 1000) -> Path:
    table = pa.table({"id": pa.array(range(len(pert))), "pert": pa.array(pert, pa.string()), "gene": pa.array(gene, pa.string())})
    parquet.write_table(table, path, row_group_size=row_group)
    return path


def predictions_of(axis: Axis = "gene") -> SymbolPredictions:
    return SymbolPredictions(axis, SYMBOLS, COLUMNS, KNOWN)


@given(
    st.lists(st.tuples(st.integers(2, 9), st.integers(0, 5)), max_size=40),
    st.integers(1, 45),
    st.integers(1, 45),
)
def test_every_row_gets_what_its_symbol_has_wherever_batches_end(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[int, int]], row_group: int, batch: int
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    pert, gene = [f"P{p}" for p, _ in pairs], [f"S{g}" for _, g in pairs]
    source = write(folder / "in.parquet", [*pert], [*gene], row_group)
    assert distinct_symbols(source, "gene") == sorted(set(gene))
    assert distinct_symbols(source, "pert") == sorted(set(pert))
    assert stream_predictions(source, folder / "out.parquet", predictions_of(), batch) == len(pairs)
    found = parquet.read_table(folder / "out.parquet").to_pydict()
    de, flags = COLUMNS["p_de"].to_pylist(), COLUMNS["flags"].to_pylist()
    expected = {"pert": pert, "gene": gene, "p_de": [de[g] for _, g in pairs], "flags": [flags[g] for _, g in pairs]}
    assert found == expected


@pytest.mark.parametrize("axis", ["gene", "pert"])
@pytest.mark.parametrize(
    "settings",
    [{}, {"k": 2}, {"power": 1.0, "de_power": 3.0}, {"centre": True}, {"strength": 0.7}],
    ids=str,
)
def test_priors_of_symbols_are_those_of_rows(axis: Axis, settings: dict[str, float]) -> None:
    """Against `predict_knn` on every unlabelled pair, at the symbols of both axes."""
    rng = np.random.default_rng(5)
    every = rows_of(*np.divmod(np.arange(90), 9))
    labels = rng.choice(np.array(["up", "down", "none", None], dtype=object), 90, p=[0.2, 0.1, 0.3, 0.4])
    known, queries = knowledge_of(labels, every), every.take(labels == None)  # noqa: E711 – of every row
    space = Space("random", rng.normal(size=(10, 4)))
    space.columns[[3, 7]] = np.nan
    weighting = Weighting(**{name: settings[name] for name in ("power", "de_power", "k") if name in settings}, axis=axis)
    similarity = SimilaritySettings(weighting, bool(settings.get("centre")), settings.get("strength", 0.0))
    knn = KnnInputs(queries, known, (space,), similarity, "no labels")
    expected = predict_knn(EvaluationProtocol("test"), knn)
    codes = queries.gene if axis == "gene" else queries.pert
    for found, rows in zip(symbol_priors(knn, np.arange(10)), (expected.priors, expected.null), strict=True):
        for values, of_rows in zip((found.de, found.up, found.support), (rows.de, rows.up, rows.support), strict=True):
            np.testing.assert_allclose(values[codes], of_rows, rtol=1e-12)
    assert np.isnan(expected.priors.de).any()


def test_both_axes_have_no_prior_of_a_symbol() -> None:
    rows = rows_of([0, 1], [1, 0])
    knn = KnnInputs(rows, knowledge_of(["up", "none"], rows), (), SimilaritySettings(Weighting(axis="both")))
    with pytest.raises(InputError, match="axis: got both; expected gene or pert"):
        symbol_priors(knn, np.arange(2))


@pytest.mark.parametrize(
    ("pert", "gene", "message"),
    [
        (["P2", None], ["S1", "S2"], "row 1: pert is empty"),
        (["P2", "P3", "P4"], ["S1", "S2", None], "row 2: gene is empty"),
        (["P0", "P1", "P1"], ["S1", "S0", "S1"], "row 2: P1 on S1 is a labelled row"),
        (["P2", "P2"], ["S1", "X"], "row 1: X was not in the file when it was first read"),
    ],
)
@pytest.mark.parametrize("batch", [1, 100])
def test_a_row_that_cannot_be_predicted_is_named_and_nothing_is_left(
    tmp_path: Path, pert: list[str | None], gene: list[str | None], message: str, batch: int
) -> None:
    source = write(tmp_path / "in.parquet", pert, gene)
    with pytest.raises(InputError, match=message):
        stream_predictions(source, tmp_path / "out.parquet", predictions_of(), batch)
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


def test_other_files_are_refused(tmp_path: Path) -> None:
    source = write(tmp_path / "in.parquet", ["P2"], ["S1"])
    with pytest.raises(InputError, match="is the file of pairs itself"):
        stream_predictions(source, source, predictions_of())
    (tmp_path / "text").write_text("pert,gene\n")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        distinct_symbols(tmp_path / "text", "gene")
    with pytest.raises(InputError, match="no such file"):
        distinct_symbols(tmp_path / "none", "gene")
    for table in ({"pert": ["P"]}, {"pert": ["P"], "gene": [1]}):
        parquet.write_table(pa.table(table), tmp_path / "other")
        with pytest.raises(InputError, match="expected pert and gene as text"):
            distinct_symbols(tmp_path / "other", "pert")


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)  # pandas writes the latter
@pytest.mark.parametrize("encoded", [True, False])
def test_columns_may_be_text_of_any_kind(tmp_path: Path, kind: pa.DataType, encoded: bool) -> None:
    columns = {"pert": pa.array(["P2", "P3"], kind), "gene": pa.array(["S3", "S0"], kind)}
    if encoded:
        columns = {name: column.dictionary_encode() for name, column in columns.items()}
    parquet.write_table(pa.table(columns), tmp_path / "in.parquet")
    assert distinct_symbols(tmp_path / "in.parquet", "gene") == ["S0", "S3"]
    stream_predictions(tmp_path / "in.parquet", tmp_path / "out.parquet", predictions_of())
    assert parquet.read_table(tmp_path / "out.parquet")["p_de"].to_pylist() == [0.4, 0.1]
