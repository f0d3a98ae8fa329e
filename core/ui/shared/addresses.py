"""Addresses of pages that are gone, so that old links still open."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode

# Former address → the tab of Experiments that shows the same.
MOVED: Mapping[str, str] = {"ledger": "Ledger", **dict.fromkeys(("evidence", "ablations", "benchmark", "plan"), "Start")}


def present_address(path: str, query: str) -> str:
    """Return where an old link leads now, relative to its path; empty for a link that is not old."""
    tab = MOVED.get(path.rpartition("/")[2])
    if tab is None:
        return ""
    named = [(name, value) for name, value in parse_qsl(query, keep_blank_values=True) if name != "tab"]
    return f"./experiments?{urlencode([('tab', tab), *named])}"
