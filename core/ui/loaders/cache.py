"""Caches keyed by the store's counters: a value is loaded again when a counter of its sources has
changed.

A loader opens the store with `reading()` only for its queries and computes after the block, so that
no writer waits for a computation. Inside the block, call no other cached loader: its cache may wait
for a thread that waits for the store.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, lru_cache, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import streamlit as st

from core.store import Cursor, changes
from core.ui.server_workspace import read_workspace

P = ParamSpec("P")
R = TypeVar("R")
_VERSIONS: ContextVar[dict[str, int]] = ContextVar("versions")
_IS_READING: ContextVar[bool] = ContextVar("is_reading", default=False)


@contextmanager
def reading() -> Iterator[Cursor]:
    """Open a cursor on the store for the duration of the block."""
    token = _IS_READING.set(True)
    try:
        with read_workspace().store.read() as db:
            yield db
    finally:
        _IS_READING.reset(token)


def from_store(query: Callable[Concatenate[Cursor, P], R]) -> Callable[P, R]:
    """Return a loader that opens the store for one query."""

    @wraps(query)
    def load(*arguments: P.args, **named: P.kwargs) -> R:
        with reading() as db:
            return query(db, *arguments, **named)

    return load


def refresh() -> None:
    """Read the present counters, once at the start of a page's run. An unchanged store is not
    opened."""
    state = read_workspace().store.settled_state()
    _VERSIONS.set(_read_versions() if state is None else _versions_in(state))


@lru_cache(maxsize=1)
def _versions_in(state: tuple[object, ...]) -> dict[str, int]:
    """Return the counters of a store in this state. The state was read before them, so a later
    change has another state."""
    del state  # part of the key only
    return _read_versions()


def _read_versions() -> dict[str, int]:
    with reading() as db:
        return changes.versions(db)


def version_of(scopes: Iterable[str]) -> tuple[int, ...]:
    """Return the counters of these scopes."""
    try:
        counters = _VERSIONS.get()
    except LookupError:  # a callback runs before its page
        refresh()
        counters = _VERSIONS.get()
    return tuple(counters.get(scope, 0) for scope in scopes)


def _without_many_parts(values: tuple[Any, ...]) -> str | list[Any]:
    """Return one text for the ids of many rows. Streamlit would hash them one by one, at 4 µs each
    in every run of a page."""
    return json.dumps(values) if all(type(value) is str for value in values) else list(values)


def run_version(run: str) -> tuple[int, ...]:
    """Return the counters of a run and of the datasets: part of the key of every other cache of
    results from a run."""
    return version_of([f"run:{run}", "datasets"])


def versions_of(runs: Iterable[str]) -> tuple[int, ...]:
    """Return the counters of several runs, of the datasets and of the spaces: of everything that a
    fusion is computed from."""
    return version_of([*(f"run:{run}" for run in runs), "datasets", "spaces"])


def cache_by(
    *scopes: str, entries: int = 10, shared: bool = False
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Cache a loader's results while the counters of `scopes` are unchanged; "{0}" in a scope is
    the first argument.

    entries: how many results are kept. shared: every caller gets the same object, uncopied, and
    must not change it.
    """

    def decorate(load: Callable[P, R]) -> Callable[P, R]:
        def compute(arguments: tuple[Any, ...], version: tuple[int, ...]) -> R:
            del version  # part of the key only
            return load(*arguments)  # type: ignore[call-arg]

        # Streamlit distinguishes functions by it
        compute.__qualname__ = f"{load.__module__}.{load.__qualname__}.compute"

        # made at the first call: at an import there is no server yet, and Streamlit warns of it
        @cache
        def cached_compute() -> Callable[[tuple[Any, ...], tuple[int, ...]], R]:
            make = st.cache_resource if shared else st.cache_data
            hashes: dict[str | type, Callable[[Any], Any]] = {tuple: _without_many_parts}
            return make(max_entries=entries, show_spinner=False, hash_funcs=hashes)(compute)

        @wraps(load)
        def look_up(*args: P.args, **kwargs: P.kwargs) -> R:
            assert not kwargs, "cached loaders take positional arguments"
            assert not _IS_READING.get(), "a cached loader was called inside a reading block"
            return cached_compute()(args, version_of([scope.format(*args) for scope in scopes]))

        return look_up

    return decorate
