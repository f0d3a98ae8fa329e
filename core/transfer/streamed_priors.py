"""Predict more pairs than fit in memory, from one Parquet file to another, in batches of rows.

If every row may see all labelled rows, all rows of one gene have the same prior (or of one perturbation, if perturbations are
compared). So similarities are computed once for each symbol, and a row takes the prior of its symbol. The cost of a row depends
neither on the number of rows nor on the number of genes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from core.errors import InputError
from core.file_io import part_of
from core.parquet_walk import walk_parquet
from core.stats.arrays import Bools, Codes
from core.transfer.knn import Priors, Similarities, Weighting, knn_priors
from core.transfer.labelled_rows import Axis, Rows
from core.transfer.protocols import EvaluationProtocol, KnnInputs, priors_of_groups, query_groups
from core.transfer.similarity import ConstantSimilarity

BATCH_ROWS = 1 << 19  # in memory at a time, and in each row group of the output
PAIR = ("pert", "gene")
_CONSTANT = Similarities(ConstantSimilarity(), ConstantSimilarity())


@dataclass(frozen=True, slots=True, eq=False)
class SymbolPredictions:
    """The predictions for the rows of each symbol.

    axis: "gene" or "pert", the column with a row's symbol. columns: of any types, one row for each symbol, in the order of
    `symbols`. known: the labelled pairs; none of them may be among the rows.
    """

    axis: Axis
    symbols: Sequence[str]
    columns: pa.Table
    known: Sequence[tuple[str, str]]


def symbol_priors(knn: KnnInputs, symbols: Codes) -> tuple[Priors, Priors]:
    """Return the priors of rows with these symbols under the protocol test, and their base rates (see `KnnPrediction.null`).

    knn: as for `predict_knn`; its queries are ignored. Raise InputError if both axes are compared, and for a space built from
    labels.
    """
    refuse_both_axes(knn.similarity.weighting)
    queries = Rows(symbols, symbols)
    groups = query_groups(EvaluationProtocol("test"), replace(knn, queries=queries), None)
    priors = priors_of_groups(groups, queries, knn.known, knn.similarity, None)
    return priors, knn_priors(queries, knn.known, _CONSTANT, knn.similarity.weighting)


def refuse_both_axes(weighting: Weighting) -> None:
    """Raise InputError if both axes are compared, because priors then differ from pair to pair."""
    if weighting.axis == "both":
        raise InputError("axis: got both; expected gene or pert for a file of pairs, so that similar symbols are found once")


def distinct_symbols(source: Path, axis: Axis) -> list[str]:
    """Return the symbols in a file's column pert or gene, in alphabetical order.

    Raise InputError unless the file has both columns as text.
    """
    found: set[str] = set()
    for batch in _batches(source, (axis,)):
        found.update(batch.column(axis).unique().to_pylist())
    return sorted(found)


def stream_predictions(source: Path, out: Path, predictions: SymbolPredictions, batch_rows: int = BATCH_ROWS) -> int:
    """Write pert, gene and the columns of `predictions` for each row of a Parquet file, in its order. Return the number of rows.

    The file gets its name when it is complete. Raise InputError, naming the row, for an empty symbol, for a symbol without
    predictions, and for a labelled pair. Raise OSError if the file cannot be written.
    """
    if out.exists() and out.samefile(source):
        raise InputError(f"{out}: is the file of pairs itself; expected another output file")
    columns = predictions.columns.combine_chunks()
    known = _KnownPairs.of(predictions.known)
    text = pa.dictionary(pa.int32(), pa.string())
    schema = pa.schema([*((name, text) for name in PAIR), *columns.schema])
    rows = 0
    with _write_whole(out) as partial, parquet.ParquetWriter(partial, schema) as writer:
        for batch in _batches(source, PAIR, batch_rows):
            symbols = {name: batch.column(name).cast(text) for name in PAIR}
            known.refuse(symbols, f"{source}, row", rows)
            codes = _codes(symbols[predictions.axis], predictions.symbols)
            if (missing := np.flatnonzero(codes < 0)).size:
                at = int(missing[0])
                raise InputError(
                    f"{source}, row {rows + at:,}: {symbols[predictions.axis][at]} was not in the file when it was first read"
                )
            values = columns.take(pa.array(codes))
            writer.write_table(pa.table([*symbols.values(), *values.columns], schema=schema), row_group_size=batch_rows)
            rows += len(batch)
    return rows


@dataclass(frozen=True, slots=True, eq=False)
class _KnownPairs:
    """The labelled pairs as a table over their symbols, of shape (n_perts, n_genes)."""

    perts: Sequence[str]
    genes: Sequence[str]
    is_known: Bools

    @classmethod
    def of(cls, pairs: Sequence[tuple[str, str]]) -> _KnownPairs:
        perts, genes = (sorted({pair[side] for pair in pairs}) for side in (0, 1))
        places = [{symbol: i for i, symbol in enumerate(symbols)} for symbols in (perts, genes)]
        # One more row and column for symbols without labelled rows, whose code is -1.
        is_known = np.zeros((len(perts) + 1, len(genes) + 1), dtype=np.bool_)
        for pert, gene in pairs:
            is_known[places[0][pert], places[1][gene]] = True
        return cls(perts, genes, is_known)

    def refuse(self, symbols: dict[str, pa.DictionaryArray], where: str, before: int) -> None:
        """Raise InputError if one of the rows is a labelled pair. before: the number of earlier rows in the file."""
        seen = self.is_known[_codes(symbols["pert"], self.perts), _codes(symbols["gene"], self.genes)]
        if seen.any():
            at = int(seen.argmax())
            pair = " on ".join(str(symbols[name][at]) for name in PAIR)
            raise InputError(f"{where} {before + at:,}: {pair} is a labelled row and would see its own label; leave it out")


def _codes(column: pa.DictionaryArray, symbols: Sequence[str]) -> Codes:
    """Return the position of each row's symbol among the symbols, -1 for an unknown symbol."""
    places = pc.index_in(column.dictionary, value_set=pa.array(symbols, pa.string())).fill_null(-1)
    codes: Codes = places.to_numpy().astype(np.intp)[column.indices.to_numpy()]
    return codes


def _batches(source: Path, names: Sequence[str], batch_rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
    """Yield a file's rows as dictionaries of texts. Raise InputError unless the file has the columns pert and gene."""
    try:
        _check_columns(parquet.read_schema(source), source)
        walk_parquet(source, str(source), names)
        with parquet.ParquetFile(source, read_dictionary=list(PAIR)) as file:
            rows = 0
            for batch in file.iter_batches(batch_rows, columns=list(names)):
                batch.validate(full=True)  # finds texts that are not UTF-8
                for name in names:
                    if batch.column(name).null_count:
                        at = batch.column(name).is_null().index(True).as_py()
                        raise InputError(f"{source}, row {rows + at:,}: {name} is empty, expected a symbol")
                yield batch
                rows += len(batch)
    except pa.ArrowException as error:
        raise InputError(f"{source}: cannot be read as Parquet ({str(error).splitlines()[0]})") from error
    except FileNotFoundError as error:
        raise InputError(f"{source}: no such file") from error


def _check_columns(schema: pa.Schema, source: Path) -> None:
    for name in PAIR:
        kind = schema.field(name).type if name in schema.names else pa.null()
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            found = ", ".join(f"{field.name} ({field.type})" for field in schema)
            raise InputError(f"{source}: has the columns {found}; expected pert and gene as text")


@contextmanager
def _write_whole(path: Path) -> Iterator[Path]:
    """Yield a temporary path. It becomes `path` when the block ends, and is deleted if the block raises."""
    with part_of(path) as part:
        yield part
        part.replace(path)
