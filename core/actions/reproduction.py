"""Published numbers, computed again from a workspace's files; nothing in it changes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from core import embeddings
from core.actions.spaces import BUILDERS, MINILM
from core.actions.workspace import Workspace
from core.experiments.published.registry import load_registry
from core.experiments.published.reproduce import Progress, Reproduced, reproduce
from core.experiments.published.sources import NotHere, Sources

# Kind of a space → its published settings.
_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "text": {"columns": 200, "seed": 0},
    "network": {"columns": 128, "seed": 0},
    "sentences": {"model": MINILM},
}
CUTS = 4  # of the folds: the published means are of four seeds


def reproduce_numbers(
    workspace: Workspace, only: str | None = None, progress: Progress | None = None, cuts: int = CUTS
) -> tuple[Reproduced, ...]:
    """Return the published numbers that `only` chooses (see `Registry.choose`) beside ours."""
    registry = load_registry()
    numbers = registry.choose(only)
    sources = Sources(workspace.store, registry.sources, partial(_build_space, workspace), cuts)
    return reproduce(numbers, sources, progress)


def find_sources(workspace: Workspace) -> dict[str, tuple[str, str | None] | None]:
    """Return which of the files that published numbers were measured on are here: key → id and SHA-256, None if it is not."""
    sources = Sources(workspace.store, load_registry().sources, partial(_build_space, workspace))
    found: dict[str, tuple[str, str | None] | None] = {}
    for key in sources.files:
        try:
            source = sources.find(key)
            found[key] = source.id, source.sha256
        except NotHere:
            found[key] = None
    return found


def _build_space(workspace: Workspace, kind: str, pack: str, sha256: str) -> embeddings.Space:
    spec = {"pack": pack, "pack_sha256": sha256, **_OPTIONS.get(kind, {})}
    return BUILDERS[kind](workspace, spec, kind)
