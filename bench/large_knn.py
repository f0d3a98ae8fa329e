"""A file of many pairs predicted by a kNN, from Parquet to Parquet (`bench knn --rows 100000000`), at several sizes.

Labelled rows are as many as in the challenge, the file's genes and perturbations as in a genome-wide screen. Beside it stands
what a person does: read the table with pandas, merge the genes' predictions, write it; at the smallest size alone, since all
rows are in memory then. Seconds a row are of the processor, of all threads, with the work on similarities and without.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from bench.measure import measure_alone
from core.actions.streamed_knn import columns_of
from core.transfer.labelled_rows import knowledge_of, rows_of
from core.transfer.protocols import KnnInputs, SimilaritySettings
from core.transfer.similarity import Space
from core.transfer.streamed_priors import SymbolPredictions, distinct_symbols, stream_predictions, symbol_priors

N_GENES, N_PERTS, KNOWN_ROWS, KNOWN_PERTS, KNOWN_GENES = 20_000, 10_000, 7705, 386, 1570
COLUMNS, COVERAGE, SEED = 256, 0.8, 7
SMALLEST = 1_000_000
WRITTEN_ROWS = 1 << 20


def run_large(rows: int) -> dict[str, Any]:
    """Predict files of a million rows, ten times as many, and so on up to `rows`."""
    sizes = [n for n in (SMALLEST * 10**i for i in range(6)) if n < rows] + [rows]
    found: dict[int, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for n in sizes:
            measure_alone(make_pairs, folder / "pairs.parquet", n)
            found[n] = measure_alone(predict_pairs, folder)
            if n == sizes[0]:
                plain = measure_alone(predict_plainly, folder)
                difference = measure_alone(largest_difference, folder).result
            (folder / "out.parquet").unlink()
    largest, smallest = found[rows], found[sizes[0]]
    return {
        "name": "knn",
        "rows": rows,
        "ours_s": smallest.result["stream_s"],
        "reference_s": plain.result,
        "ratio": plain.result / smallest.result["stream_s"],
        "max_abs_diff": difference,
        "peak_mb_ours": largest.peak_mb,
        "peak_mb_reference": plain.peak_mb,
        "wall_s": largest.wall_s,
        "cpu_us_per_row": {n: 1e6 * each.result["stream_s"] / n for n, each in found.items()},
        "cpu_us_per_row_with_similarities": {n: 1e6 * each.cpu_s / n for n, each in found.items()},
        "peak_mb": {n: each.peak_mb for n, each in found.items()},
    }


def make_pairs(path: Path, rows: int) -> None:
    """Write every pair of a perturbation that has no label with all genes, one perturbation after the other, up to `rows`."""
    perts, genes = (pa.array([f"{letter}{i}" for i in range(n)]) for letter, n in (("Q", N_PERTS), ("G", N_GENES)))
    schema = pa.schema([("pert", pa.string()), ("gene", pa.string())])
    with parquet.ParquetWriter(path, schema) as writer:
        for some in _pieces(rows):
            at = np.arange(some.start, some.stop)
            columns = [perts.take(pa.array(at // N_GENES % N_PERTS)), genes.take(pa.array(at % N_GENES))]
            writer.write_table(pa.table(columns, schema=schema))


def _pieces(rows: int) -> Iterator[range]:
    for start in range(0, rows, WRITTEN_ROWS):
        yield range(start, min(start + WRITTEN_ROWS, rows))


def predict_pairs(folder: Path) -> dict[str, float]:
    """Processor seconds of what every row takes part in: finding the distinct genes, and writing the predictions."""
    source = folder / "pairs.parquet"
    start = time.process_time()
    genes = distinct_symbols(source, "gene")
    found_s = time.process_time() - start
    predictions = predictions_of(genes)
    predictions.columns.to_pandas().assign(gene=genes).to_pickle(folder / "genes.pickle")
    start = time.process_time()
    stream_predictions(source, folder / "out.parquet", predictions)
    return {"stream_s": found_s + time.process_time() - start}


def predictions_of(genes: list[str]) -> SymbolPredictions:
    """The predictions of these genes from random labelled rows in a random space that lacks one gene in five."""
    rng = np.random.default_rng(SEED)
    known = rows_of(rng.integers(0, KNOWN_PERTS, KNOWN_ROWS), rng.integers(0, min(KNOWN_GENES, len(genes)), KNOWN_ROWS))
    labels = np.array(["up", "down", "none"], dtype=object)[rng.choice(3, KNOWN_ROWS, p=[0.306, 0.141, 0.553])]
    space = Space("random", rng.normal(size=(len(genes), COLUMNS)))
    space.columns[rng.random(len(genes)) >= COVERAGE] = np.nan
    knn = KnnInputs(known, knowledge_of(labels, known), (space,), SimilaritySettings())
    columns = columns_of(genes, *symbol_priors(knn, np.arange(len(genes))))
    pairs = [(f"P{pert}", genes[gene]) for pert, gene in zip(known.pert, known.gene, strict=True)]
    return SymbolPredictions("gene", genes, columns, pairs)


def predict_plainly(folder: Path) -> float:
    """Processor seconds of the same by pandas, in memory."""
    genes = pd.read_pickle(folder / "genes.pickle")
    start = time.process_time()
    rows = pd.read_parquet(folder / "pairs.parquet")
    rows.merge(genes, on="gene", how="left").to_parquet(folder / "plain.parquet")
    return time.process_time() - start


def largest_difference(folder: Path) -> float:
    """Between both files, over all rows and numbers; flags that differ count 1."""
    ours, plain = (pd.read_parquet(folder / f"{name}.parquet") for name in ("out", "plain"))
    numbers = [name for name in ours.columns if ours[name].dtype == float]
    same = (ours[["pert", "gene", "flags"]].astype(str) == plain[["pert", "gene", "flags"]].astype(str)).to_numpy().all()
    difference = np.abs(ours[numbers].fillna(-1).to_numpy() - plain[numbers].fillna(-1).to_numpy())
    return max(float(difference.max()), float(not same))
