"""What a worker needs from outside its run's folder, and what a method is given of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from core.engine.run_state import BEAT_S
from core.engine.spec import RunSpec, dataset_sha256
from core.errors import InputError, NotFound, StateError
from core.evidence.label_view import TRAIN, LabelView, all_training, blinded, fold_views
from core.evidence.packs import Packs
from core.evidence.source_client import SourceClient
from core.evidence.sources import SourceSettings
from core.llm.client import Client
from core.methods.base import Context, DerivedMethod, Method
from core.methods.components import ComponentLoader
from core.methods.registry import method_named
from core.store import Store, pairs, spaces
from core.types import Label, Pair

FOLD_S = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class Dependencies:
    """Where a worker works.

    cache: the file of the response cache. api_key: for the model server, in memory only. method: the method of a name.
    components: as in `Context`. fold_s: between two folds into the store. beat_s: between two beats. net: where public sources
    of evidence are, asked for by runs that need them.
    """

    store: Store
    packs: Packs = field(default_factory=Packs)
    cache: Path | None = None
    api_key: str = field(default="", repr=False)
    method: Callable[[str], Method] = method_named
    components: ComponentLoader | None = None
    fold_s: float = FOLD_S
    beat_s: float = BEAT_S
    net: Callable[[], SourceSettings] | None = None


def pairs_of(store: Store, dataset: str) -> dict[str, Pair]:
    """Every row of a dataset by its id, in file order."""
    with store.read() as db:
        frame = pairs.frame(db, dataset)
    columns = (frame[name].tolist() for name in ("pair_id", "pert", "gene", "label", "split"))
    return {
        pair_id: Pair(pair_id, pert, gene, Label(label) if isinstance(label, str) else None, split)
        for pair_id, pert, gene, label, split in zip(*columns, strict=True)
    }


def rows_of(known: Mapping[str, Pair], spec: RunSpec) -> tuple[Pair, ...]:
    """The run's rows, with their labels. Raises StateError where the dataset is not the one of the specification."""
    found = dataset_sha256(known.values())
    if found != spec.dataset_sha256:
        raise StateError(
            f"dataset {spec.dataset}: has other rows or labels than when the run was planned (hash {found[:10]}, expected "
            f"{spec.dataset_sha256[:10]}); start a new run"
        )
    missing = next((row for row in spec.rows if row not in known), None)
    if missing is not None:
        raise NotFound(f"row {missing!r}: not in dataset {spec.dataset}")
    return tuple(known[row] for row in spec.rows)


def web_of(world: Dependencies, spec: RunSpec) -> SourceClient | None:
    """The client for public sources, None for a run that reads the packs alone. Raises InputError without addresses."""
    sources = spec.options.get("sources", "packs")
    if sources == "packs":
        return None
    if world.net is None:
        raise InputError(f"sources: {sources}, but no addresses of public sources are known here; expected packs")
    return SourceClient(world.net(), "live" if sources == "web" else "offline", spec.options.get("literature", "passage"))


def context_of(
    world: Dependencies, spec: RunSpec, method: Method, client: Client | None, web: SourceClient | None = None
) -> Context:
    """What the method may use; the web learns which symbols the run is about.

    Raises StateError where the method, the dataset, a pack or a gene space is another than the specification says.
    """
    if method.version != spec.version:
        raise StateError(f"method {spec.method}: is version {method.version}, expected {spec.version}; start a new run")
    if not isinstance(method, DerivedMethod):  # which reads none
        _refuse_others("knowledge packs", {name: source.sha256 for name, source in world.packs.sources.items()}, spec.packs)
    with world.store.read() as db:
        _refuse_others("gene spaces", {name: spaces.find(db, name).sha256 for name in spec.sources}, spec.sources)
    known = pairs_of(world.store, spec.dataset)
    rows = rows_of(known, spec)
    if web is not None:
        web.expect((row.pert for row in rows), (row.gene for row in rows))
    return Context(
        pairs=tuple(unlabelled(row) for row in rows),
        options=dict(spec.options),
        view_of=_view_of(known, rows, spec),
        packs=world.packs,
        client=client,
        model=spec.model,
        seed=spec.seed,
        repeat=spec.repeat,
        components=world.components,
        web=web,
    )


def unlabelled(row: Pair) -> Pair:
    """The row as a method gets it."""
    return Pair(row.pair_id, row.pert, row.gene, None, row.split)


def _view_of(known: Mapping[str, Pair], rows: tuple[Pair, ...], spec: RunSpec) -> Callable[[Pair], LabelView]:
    if spec.view.kind == "folds":
        # Labelled rows alone where the run has no others, so that the cells are those of a kNN under folds.
        asked = set(spec.rows)
        cut = [row for row in known.values() if (row.label is not None and row.split == TRAIN) or row.pair_id in asked]
        return fold_views(cut, spec.view.k, spec.view.seed).view_of
    view = all_training(known.values()) if spec.view.kind == "all" else blinded(known.values(), rows)
    return lambda _: view


def _refuse_others(what: str, here: Mapping[str, str], planned: Mapping[str, str]) -> None:
    """Raise StateError where contents, name → SHA-256, are not those that a run was planned with."""
    if dict(here) != dict(planned):
        raise StateError(f"{what}: {_named(here)}, expected {_named(planned)} as planned; start a new run")


def _named(contents: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {sha256[:10]}" for name, sha256 in sorted(contents.items())) or "none"
