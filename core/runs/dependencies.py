"""What a worker needs besides its run's folder, and the context that a method gets of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from core.base.errors import NotFound, StateError
from core.base.net.server_access import ServerAccess
from core.base.types import TRAIN, Evidence, Label, Options, Pair, TraceEvent
from core.evidence.label_view import LabelView, all_training, blinded_view, fold_views
from core.evidence.packs import Packs
from core.evidence.source_client import SourceClient
from core.evidence.sources import SourceSettings
from core.llm.client import Client
from core.llm.kept_answer import ReplyCache
from core.llm.messages import Message, Reply
from core.methods.base import (
    AsksAgain,
    Context,
    EarlierRow,
    Method,
    TextsOfRun,
    method_named,
)
from core.methods.coded_names import REWRITTEN, GeneNaming
from core.methods.fusion_components import ComponentLoader
from core.runs.jobs.state import HEARTBEAT_EVERY_S
from core.runs.spec import RunSpec, dataset_sha256
from core.store import Cursor, Store, evidence, pairs, predictions, runs, spaces, traces
from core.store.runs import Run

INGEST_EVERY_S = 2.0


@runtime_checkable
class ReadsTexts(Protocol):
    """A method that reads the texts of a run, the parent of its runs; their rows are those that
    have such texts.

    It sees no labels and no predictions.
    """

    def parent(self, options: Options) -> str:
        """Return the name or id of the run whose texts are read."""
        ...

    def rows_with_texts(self, db: Cursor, run: Run, options: Options) -> set[str]:
        """Return the ids of the rows of a run that have a text to read. Raise InputError if none
        has."""
        ...

    def load_texts(self, db: Cursor, run: str, rows: Sequence[str], options: Options) -> TextsOfRun:
        """Return the texts of these rows of a run (id), in the order of the rows; a row may have
        lost its texts."""
        ...

    def row_prompts(
        self, texts: TextsOfRun, pair: Pair, options: Options
    ) -> Sequence[tuple[Message, ...]]:
        """Return the prompts of a row."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Dependencies:
    """What a worker works with.

    read_packs: returns the knowledge packs of these names and hashes, called for the runs that read
    some. read_prompts: returns id → prompt of the file with this SHA-256, called for the runs that
    ask the prompts of a file. source_settings: returns the addresses of the public sources of
    evidence, called for the runs that need them. cache: the file of the response cache. access: the
    model servers that may be asked, with their keys, in memory only. method: returns the method of
    a name. components: as in `Context`. ingest_every_s, heartbeat_every_s: the least time between
    two.
    """

    store: Store
    read_packs: Callable[[Mapping[str, str]], Packs]
    read_prompts: Callable[[str], Mapping[str, str]]
    source_settings: Callable[[], SourceSettings]
    cache: Path | None = None
    access: ServerAccess = field(default_factory=ServerAccess, repr=False)
    method: Callable[[str], Method] = method_named
    components: ComponentLoader | None = None
    ingest_every_s: float = INGEST_EVERY_S
    heartbeat_every_s: float = HEARTBEAT_EVERY_S


def load_pairs(store: Store, dataset: str) -> dict[str, Pair]:
    """Return every row of a dataset by its id, in file order, behind them the pairs that people
    typed."""
    with store.read() as db:
        frame = pairs.frame(db, dataset, asked=True)
    columns = (frame[name].tolist() for name in ("pair_id", "pert", "gene", "label", "split"))
    return {
        pair_id: Pair(pair_id, pert, gene, Label(label) if isinstance(label, str) else None, split)
        for pair_id, pert, gene, label, split in zip(*columns, strict=True)
    }


def find_rows(known: Mapping[str, Pair], spec: RunSpec) -> tuple[Pair, ...]:
    """Return the run's rows, with their labels. Raise StateError if the dataset has changed since
    the run was planned."""
    present = dataset_sha256(known.values())
    if present != spec.dataset_sha256:
        raise StateError(
            f"dataset {spec.dataset}: has other rows or labels than when the run was planned (hash"
            f" {present[:10]}, expected {spec.dataset_sha256[:10]}); start a new run"
        )
    missing = next((row for row in spec.rows if row not in known), None)
    if missing is not None:
        raise NotFound(f"row {missing!r}: not in dataset {spec.dataset}")
    return tuple(known[row] for row in spec.rows)


def source_client(dependencies: Dependencies, spec: RunSpec) -> SourceClient | None:
    """Return a client for public sources; None for a run that reads packs only."""
    sources = spec.options.get("sources", "packs")
    if sources == "packs":
        return None
    return SourceClient(
        dependencies.source_settings(),
        "live" if sources == "web" else "offline",
        spec.options.get("literature", "passage"),
    )


def build_context(
    dependencies: Dependencies,
    spec: RunSpec,
    method: Method,
    client: Client | None,
    web: SourceClient | None = None,
) -> Context:
    """Return the method's context; tell `web` the symbols of the run.

    Raise StateError if the method, the dataset, a pack, a gene space or the file of prompts is not
    the one of the specification.
    """
    if spec.version != method.version:
        raise StateError(
            f"method {spec.method}: is version {method.version}, expected {spec.version}; start a"
            " new run"
        )
    packs = dependencies.read_packs(spec.packs) if spec.packs else Packs()
    with dependencies.store.read() as db:
        present = {name: spaces.find(db, name).sha256 for name in spec.sources}
    if present != dict(spec.sources):
        raise StateError(
            f"gene spaces: {_list_contents(present)}, expected {_list_contents(spec.sources)} as"
            " planned; start a new run"
        )
    known = load_pairs(dependencies.store, spec.dataset)
    rows = find_rows(known, spec)
    viewed = rows
    if isinstance(method, AsksAgain):
        # The label view of a run depends on all of its rows, and asking again has the same view.
        with dependencies.store.read() as db:
            ids = predictions.all_ids(db, spec.parents[0])
        viewed = tuple(pair for key, pair in known.items() if key in ids)
    if web is not None:
        web.expect((row.pert for row in rows), (row.gene for row in rows))
    names = spec.options.get("names")
    return Context(
        pairs=tuple(Pair(row.pair_id, row.pert, row.gene, None, row.split) for row in rows),
        options=dict(spec.options),
        view_of=(
            (lambda _: LabelView(()))
            if isinstance(method, ReadsTexts)
            else _view_of(known, viewed, spec)
        ),
        packs=packs,
        client=client,
        model=spec.model,
        seed=spec.seed,
        repeat=spec.repeat,
        components=dependencies.components,
        web=web,
        prompts=dependencies.read_prompts(spec.prompt_file) if spec.prompt_file else {},
        texts=(
            load_texts(dependencies.store, spec, method) if isinstance(method, ReadsTexts) else None
        ),
        earlier=(
            load_earlier(dependencies.store, spec, method) if isinstance(method, AsksAgain) else {}
        ),
        naming=GeneNaming(names, known.values(), packs) if names in REWRITTEN else None,
    )


def load_texts(store: Store, spec: RunSpec, method: ReadsTexts) -> TextsOfRun:
    """Return the texts of a reading's rows.

    Raise NotFound if the run that is read was deleted, StateError if one of the rows has lost its
    text.
    """
    with store.read() as db:
        run = runs.find(db, method.parent(spec.options))
        texts = method.load_texts(db, run.id, spec.rows, spec.options)
    empty = next((row for row in spec.rows if not texts.of_row[row]), None)
    if empty is not None:
        raise StateError(
            f"row {empty!r}: has no text in run {run.name} any more; start a new reading"
        )
    return texts


def load_earlier(store: Store, spec: RunSpec, method: AsksAgain) -> dict[str, EarlierRow]:
    """Return the records of these rows in the run that is asked again. Raise NotFound if it, or one
    of its rows, was deleted."""
    found = {}
    with store.read() as db:
        run = runs.find(db, method.parent(spec.options)).id
        for row in spec.rows:
            runs.refuse_unknown_row(db, run, row)
            seen = (Evidence(**item) for item in evidence.of_row(db, run, row))
            events = (
                {name: event[name] for name in TraceEvent._fields}
                for event in traces.of_row(db, run, row)
            )
            found[row] = EarlierRow(tuple(seen), tuple(TraceEvent(**event) for event in events))
    return found


def _view_of(
    known: Mapping[str, Pair], rows: tuple[Pair, ...], spec: RunSpec
) -> Callable[[Pair], LabelView]:
    if spec.view.kind == "folds":
        # Unlabelled rows that the run does not predict are left out, so that the cells are those of
        # a kNN under folds.
        predicted = {pair.pair_id for pair in rows}
        rows_of_folds = [
            pair
            for key, pair in known.items()
            if (pair.label and pair.split == TRAIN) or key in predicted
        ]
        return fold_views(rows_of_folds, spec.view.k, spec.view.seed).view_of
    view = (
        all_training(known.values())
        if spec.view.kind == "all"
        else blinded_view(known.values(), rows)
    )
    return lambda _: view


def _list_contents(contents: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {sha256[:10]}" for name, sha256 in sorted(contents.items())) or "none"


class RetryCache(ReplyCache):
    """A response cache that lacks each of `rejected_keys` once, so that a reply that made its row
    fail is requested again."""

    def __init__(self, path: Path, rejected_keys: set[str]) -> None:
        super().__init__(path)
        self._rejected_keys = set(rejected_keys)

    def get(self, key: str) -> Reply | None:
        if key in self._rejected_keys:
            self._rejected_keys.discard(key)
            return None
        return super().get(key)
