"""Predict the pairs of a Parquet file of any size by a kNN; the workspace does not change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from core.actions.component_loader import UNLABELLED, load_index, load_spaces
from core.actions.workspace import Workspace
from core.errors import InputError
from core.methods.knn import build_prediction, stand_in_rate
from core.store.datasets import Dataset
from core.system_errors import explain
from core.transfer.knn import Priors
from core.transfer.knn_settings import KnnSettings
from core.transfer.protocols import KnnInputs
from core.transfer.streamed_priors import (
    SymbolPredictions,
    distinct_symbols,
    refuse_both_axes,
    stream_predictions,
    symbol_priors,
)


@dataclass(frozen=True, slots=True)
class StreamedPredictions:
    """What was written. rows: of the file; symbols: of the axis that was compared; uncovered: those of them without a prior of an
    effect, whose rows have base rates and the flag `uncovered`."""

    rows: int
    symbols: int
    uncovered: int


def predict_file(workspace: Workspace, dataset: Dataset, settings: KnnSettings, source: Path, out: Path) -> StreamedPredictions:
    """Predict the pairs of a Parquet file (columns pert and gene) from a dataset's training labels, and write another.

    Its rows stand in the same order and have pert, gene, prediction_up, prediction_down, p_de, p_up_given_de, support and flags
    (words with a blank between them). Raise InputError for another protocol than test, both axes, a file that is there already,
    and a labelled pair among the rows.
    """
    axis = settings.similarity.weighting.axis
    if settings.protocol.kind != "test":
        raise InputError(
            f"a file of pairs under {settings.protocol.kind}: expected the protocol test, since its rows have no label"
        )
    if out.exists():
        raise InputError(f"{out}: exists; choose another --out")
    refuse_both_axes(settings.similarity.weighting)
    symbols = distinct_symbols(source, axis)
    index = load_index(workspace, dataset).with_symbols(symbols)
    known = [
        (index.symbol(pert), index.symbol(gene)) for pert, gene in zip(index.known.rows.pert, index.known.rows.gene, strict=True)
    ]
    if not known:
        raise InputError(f"knn: dataset {dataset.name} has no labelled rows to learn from")
    spaces = tuple(load_spaces(workspace, index, dataset, settings.spaces))
    inputs = KnnInputs(index.known.rows, index.known, spaces, settings.similarity, UNLABELLED)
    priors, base = symbol_priors(inputs, np.searchsorted(np.array(index.symbols, dtype=object), symbols))
    predictions = SymbolPredictions(axis, symbols, columns_of(symbols, priors, base), known)
    try:
        rows = stream_predictions(source, out, predictions)
    except OSError as error:
        raise explain(error, out) from error
    return StreamedPredictions(rows, len(symbols), int((~priors.covered).sum()))


def columns_of(symbols: Sequence[str], priors: Priors, base: Priors) -> pa.Table:
    """Return the columns of each symbol's prediction, with stand-ins and flags as every run of a kNN has them."""
    numbers = zip(symbols, *(values.tolist() for values in (priors.de, priors.up, base.de, base.up)), strict=True)
    found = [
        build_prediction(symbol, (de, up), (stand_in_rate(base_de), stand_in_rate(base_up)))
        for symbol, de, up, base_de, base_up in numbers
    ]
    names = ("prediction_up", "prediction_down", "p_de", "p_up_given_de")
    columns = {name: pa.array([getattr(row, name) for row in found], pa.float64()) for name in names}
    flags = pa.array([" ".join(row.flags) for row in found], pa.string()).dictionary_encode()
    return pa.table(columns | {"support": pa.array(priors.support), "flags": flags})
