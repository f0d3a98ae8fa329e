"""Published numbers, computed again from a workspace's files; nothing in it changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from core import embeddings
from core.actions.spaces import BUILDERS, MINILM
from core.actions.workspace import Workspace
from core.experiments.reproduce import Files, Reproduced, choose_numbers, reproduce

# Kind of a space → its published settings.
_OPTIONS: dict[str, dict[str, Any]] = {
    "text": {"columns": 200, "seed": 0},
    "network": {"columns": 128, "seed": 0},
    "sentences": {"model": MINILM},
}


def reproduce_numbers(
    workspace: Workspace,
    only: str | None = None,
    begin: Callable[[str], object] = lambda _name: None,
    cuts: int = 4,
) -> tuple[Reproduced, ...]:
    """Return the published numbers that `only` chooses beside ours, computed one after the other.

    begin: called with the name of each. cuts: of the folds; the published means are of four.
    """

    def build_space(kind: str, pack: str, sha256: str) -> embeddings.Space:
        spec = {"pack": pack, "pack_sha256": sha256, **_OPTIONS.get(kind, {})}
        return BUILDERS[kind](workspace, spec, kind)

    files, results = Files(workspace.store, build_space, cuts), []
    for number in choose_numbers(only):
        begin(number.name)
        results.append(reproduce(number, files))
    return tuple(results)
