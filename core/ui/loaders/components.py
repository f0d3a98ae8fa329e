"""What neighbours and fusions are computed from: the rows of a dataset as codes, and its gene
spaces."""

from __future__ import annotations

from core.runs import component_loader
from core.store import datasets
from core.transfer.row_index import RowIndex
from core.transfer.similarity import Space
from core.ui.loaders.cache import cache_by, reading
from core.ui.server_workspace import read_workspace


@cache_by("datasets", entries=4, shared=True)
def row_index(dataset: str) -> RowIndex:
    """Return the rows of a dataset (id) as integer codes."""
    with reading() as db:
        record = datasets.find(db, dataset)
    return component_loader.load_index(read_workspace(), record)


@cache_by("spaces", "datasets", entries=12, shared=True)
def space_vectors(dataset: str, space: str) -> Space:
    """Return the vectors of a space (name) for the symbols of a dataset (id)."""
    with reading() as db:
        record = datasets.find(db, dataset)
    return component_loader.load_spaces(read_workspace(), row_index(dataset), record, [space])[0]
