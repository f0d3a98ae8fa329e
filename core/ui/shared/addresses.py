"""The addresses of pages, and redirects from former addresses, so that old links still open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

# Former address → the present file in pages/, which is also its address.
FORMER = {
    **{"debates": "rows", "read": "arguments", "breakdown": "scores", "what_if": "fuse", "launch": "run", "report": "share"},
    **{"submit": "share", "experiments": "ledger"},
}
# Former address → the value of its parameter "tab" ("" without one) → the file, and the parameters that open the same there.
_FORMER_TABS: Mapping[str, Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "submit": {
        "": ("share", {"tab": "Package a run"}),
        "Package a run": ("share", {"tab": "Package a run"}),
        "Check a file": ("share", {"tab": "Check a file"}),
    },
    "experiments": {
        **{"": ("ledger", {}), "Ledger": ("ledger", {}), "Benchmark": ("benchmark", {}), "Plan": ("plan", {})},
        **{"Evidence": ("evidence", {}), "Ablations": ("ablations", {}), "Published numbers": ("published", {})},
        **{name: ("scores", {"part": "Baselines"}) for name in ("Controls", "Baselines")},
    },
    "data": {
        **{"Cells": ("data", {"tab": "Import"}), "Leakage": ("data", {"tab": "Spaces and leaks"})},
        "Spaces": ("data", {"tab": "Spaces and leaks"}),
        **{name: ("data", {"tab": "History"}) for name in ("Imported files", "Rejected rows", "Changes")},
        **{name: ("data", {"tab": "Runs and notes"}) for name in ("Runs", "Notes")},
    },
}
# Former address and the parameter of a control that is in a fold today → the parameters that open the fold.
_FORMER_FOLDS: Mapping[tuple[str, str], Mapping[str, str]] = {("what_if", "moved"): {"figures": "true"}}


class Place(NamedTuple):
    """A page by its file in pages/, without its suffix, and its query parameters."""

    file: str
    parameters: Mapping[str, str | list[str]]


def find_redirect(address: str, parameters: Mapping[str, list[str]]) -> Place | None:
    """Return the present place of a link with a page's former address or tab; None for a present address."""
    tab = "".join(parameters.get("tab", [])[:1])
    found = _FORMER_TABS.get(address, {}).get(tab)
    if found is not None:
        file, opens = found
        return Place(file, {name: values for name, values in parameters.items() if name != "tab"} | dict(opens))
    if address not in FORMER:
        return None
    opens = dict(fold for name in parameters for fold in _FORMER_FOLDS.get((address, name), {}).items())
    return Place(FORMER[address], {**parameters, **opens})
