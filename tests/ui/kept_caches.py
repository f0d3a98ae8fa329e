"""What the loaders of pages have read of a workspace that no test changes, kept from one test of it to the next.

A test that replaces anything that loaders compute with must not look in here: it uses `visit`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from streamlit.runtime.caching import cache_data_api, cache_resource_api

LOADERS = "core.ui.loaders."
_OWNERS = (cache_data_api._data_caches, cache_resource_api._resource_caches)
_KEPT = {}


@contextmanager
def kept_caches(workspace: Path) -> Iterator[None]:
    """Put in what was read of a workspace, and take it out again with what a block reads; all caches are empty before."""
    for owner, kept in zip(_OWNERS, _KEPT.get(workspace, ()), strict=False):
        owner._function_caches = {None: dict(kept)}
    yield
    _KEPT[workspace] = [_take_out(owner) for owner in _OWNERS]


def _take_out(owner: Any) -> dict[str, Any]:
    """Take the caches of loaders out, so that emptying the others leaves them."""
    everything = owner._function_caches.get(None, {})
    loaders = {
        key: cache for key, cache in everything.items() if cache.display_name.startswith(LOADERS)
    }
    owner._function_caches = {
        None: {key: cache for key, cache in everything.items() if key not in loaders}
    }
    return loaders
