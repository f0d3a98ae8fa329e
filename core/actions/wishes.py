"""What a person asks a worker for, as the specification of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.actions import packs as pack_actions
from core.actions.transfer import hashes_of, listed
from core.actions.workspace import Workspace
from core.engine import plan
from core.engine.dependencies import pairs_of
from core.engine.spec import LabelViewSpec, RunSpec, dataset_sha256, sha256_of
from core.evidence.packs import PackName, Packs, Source
from core.methods.base import Method, read_options
from core.store import datasets, knowledge
from core.store.knowledge import PackRecord


@dataclass(frozen=True, slots=True)
class Wish:
    """What a person asks for: a method, its options as text or values, rows as in `plan.read_rows`, and the model."""

    dataset: str
    method: Method
    options: Mapping[str, object]
    rows: str = ""
    model: str = ""
    seed: int = 0
    repeat: int = 0
    view: LabelViewSpec = field(default_factory=LabelViewSpec)
    parents: tuple[str, ...] = ()


def specify(workspace: Workspace, wish: Wish) -> RunSpec:
    """The specification of what a person asks for; option `spaces`, where a method has it, names gene spaces.

    Raises InputError for options or rows that cannot be, NotFound for a dataset or a space that is not there.
    """
    options = read_options(wish.method.options, wish.options)
    with workspace.store.read() as db:
        dataset = datasets.find(db, wish.dataset)
        sources = hashes_of(db, listed(options.get("spaces", "")))
    known = pairs_of(workspace.store, dataset.id)
    prompts = wish.method.prompts(options)
    return RunSpec(
        method=wish.method.name,
        version=wish.method.version,
        options=options,
        dataset=dataset.id,
        dataset_sha256=dataset_sha256(known.values()),
        rows=plan.select_rows(list(known.values()), plan.parse_row_selection(wish.rows)),
        model=wish.model,
        seed=wish.seed,
        repeat=wish.repeat,
        prompts_sha256=sha256_of(prompts) if prompts else "",
        view=wish.view,
        parents=wish.parents,
        packs={_PACKS[found.kind][0]: found.sha256 for found in _latest(workspace)},
        sources=sources,
    )


# Of each kind of pack that evidence tools read: its name among `Packs`, and where its contents are.
_PACKS: Mapping[str, tuple[PackName, str]] = {
    "descriptions": ("descriptions", "texts"),
    "orthologs": ("orthologs", "symbols"),
    "pathways": ("pathways", "names"),
    "network": ("edges", "edges"),
    "regulation": ("signs", "signs"),
    "lps_response": ("responses", "genes"),
}


def _latest(workspace: Workspace) -> list[PackRecord]:
    """The latest pack of each kind that evidence tools read."""
    with workspace.store.read() as db:
        return [found for found in {found.kind: found for found in knowledge.all_of_them(db)}.values() if found.kind in _PACKS]


def packs_of(workspace: Workspace) -> Packs:
    """The workspace's knowledge packs as evidence tools read them, the latest of each kind."""
    contents: dict[str, Any] = {}
    sources: dict[PackName, Source] = {}
    for found in _latest(workspace):
        name, place = _PACKS[found.kind]
        contents[name] = getattr(pack_actions.read(workspace, found.name, found.sha256), place)
        sources[name] = Source(found.source, found.sha256)
    return Packs(**contents, sources=sources)
