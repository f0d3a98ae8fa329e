"""The texts of all runs of a dataset that hold a phrase."""

from __future__ import annotations

from core.store import text_search
from core.store.text_search import Found, TextQuery
from core.ui.shared.loaders.cache import cache_by, reading, run_version
from core.ui.shared.loaders.records import all_runs


def search_texts(dataset: str, wanted: TextQuery) -> Found:
    """The texts of all runs of a dataset (id) that hold a phrase."""
    versions = tuple(run_version(run.id) for run in all_runs() if run.dataset == dataset)
    return _search_texts(dataset, wanted, versions)


@cache_by("runs", "datasets", entries=20, shared=True)
def _search_texts(dataset: str, wanted: TextQuery, versions: tuple[tuple[int, ...], ...]) -> Found:
    del versions  # part of the key only
    with reading() as db:
        return text_search.search(db, dataset, wanted)
