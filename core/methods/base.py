"""The interface of methods: options, context and prediction; and the list of methods in this
folder."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import core.methods as room
from core.base.errors import InputError
from core.base.feature import declared_in, find_named
from core.base.fields.record import NoSettings, options_of
from core.base.fields.setting import split_names
from core.base.types import Call, Evidence, JsonObject, Options, Pair, RowResult, TraceEvent
from core.evidence.label_view import LabelView
from core.evidence.packs import PackName, Packs
from core.features import hooks, references

if TYPE_CHECKING:
    from core.evidence.source_client import SourceClient
    from core.llm.client import Client
    from core.methods.coded_names import GeneNaming
    from core.methods.fusion_components import ComponentLoader
    from core.methods.row_feed import RowFeed


class RowText(NamedTuple):
    """One text of a row of a run that is read. seq: of its event, -1 of a whole row."""

    seq: int
    stage: str
    role: str
    content: str


@dataclass(frozen=True, slots=True, eq=False)
class TextsOfRun:
    """What a `ReadsTexts` (`core.runs.dependencies`) reads of its run. of_row: pair id → its texts
    in order. evidence: pair id → what the row saw of it, if that is asked for; rows that saw none
    are absent."""

    of_row: Mapping[str, Sequence[RowText]]
    evidence: Mapping[str, Sequence[Evidence]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class EarlierRow:
    """What an earlier run holds of a row: the evidence that its agents saw, and its trace, both in
    order."""

    evidence: tuple[Evidence, ...]
    events: tuple[TraceEvent, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """The context of a method for the rows of one run; labels are accessible only through
    `view_of`.

    pairs: the run's rows, without their labels. options: every option of the method. view_of:
    returns the labelled rows that may be seen for a row. client: None if the method needs no model.
    components: loads the runs and gene spaces that a `DerivedMethod` computes its rows from. web:
    public sources of evidence, None if only packs are read. prompts: id → prompt, of the file that
    the option `prompts` names. texts: what a `ReadsTexts` reads, which sees no labels; None for
    other methods. earlier: pair id → what its run holds of the row, for an `AsksAgain`; empty for
    other methods. feed: receives the events of the predicted row for its watchers; None if it
    cannot be watched. naming: how gene names are shown to a model, if they are changed. dossiers:
    pair id → the evidence of a `GathersDossier`, where it was gathered before.
    """

    pairs: tuple[Pair, ...]
    options: Options
    view_of: Callable[[Pair], LabelView]
    packs: Packs
    client: Client | None = None
    model: str = ""
    seed: int = 0
    repeat: int = 0
    components: ComponentLoader | None = None
    web: SourceClient | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)
    texts: TextsOfRun | None = None
    earlier: Mapping[str, EarlierRow] = field(default_factory=dict)
    notes: JsonObject = field(default_factory=dict)
    feed: RowFeed | None = None
    naming: GeneNaming | None = None
    dossiers: Mapping[str, tuple[Evidence, ...]] = field(default_factory=dict)


@runtime_checkable
class Method(Protocol):
    """A way to predict. A new one is a file in this room with a `METHOD`.

    name: as in the store. version: raised when the same options would predict something else.
    about: one sentence for people.
    """

    name: str
    version: int
    about: str
    needs_model: bool

    @property
    def settings(self) -> type:
        """A dataclass whose fields declare its options (`core.base.fields.setting`); specifications
        hold them by name."""
        ...

    def calls(self, options: Options) -> float:
        """Return how many calls of a model a row takes, retries left out."""
        ...

    def prompts(self, options: Options) -> str:
        """Return the texts that its prompts are made from, whose hash belongs to a run's identity;
        "" without prompts."""
        ...


@runtime_checkable
class RowMethod(Method, Protocol):
    """Predicts row by row; several rows of a run are predicted at a time."""

    async def predict_row(self, pair: Pair, context: Context) -> RowResult:
        """Return the prediction of one row. A DeskError becomes the row's failure; `RowFailed` also
        keeps the calls made."""
        ...


@runtime_checkable
class GathersDossier(RowMethod, Protocol):
    """Gathers all of a row's evidence before it asks a model, so that another process than the
    row's may do so."""

    async def dossier_of(self, pair: Pair, context: Context) -> tuple[Evidence, ...]:
        """Return the evidence about a row."""
        ...


@runtime_checkable
class BatchMethod(Method, Protocol):
    """Predicts all rows at once."""

    def predict_batch(self, pairs: Sequence[Pair], context: Context) -> list[RowResult]:
        """Return one result per row, in order."""
        ...


@runtime_checkable
class ReadsPacks(Protocol):
    """A method that reads knowledge packs: they belong to the identity of its runs, which read
    exactly these."""

    def packs_read(self, options: Options) -> tuple[PackName, ...]:
        """Return the names of the packs that are read with these options."""
        ...


@runtime_checkable
class ReadsOtherOrganisms(Protocol):
    """A method that finds genes by their orthologs: of the kinds of packs that a run's organism
    lacks, it reads another's."""

    reads_other_organisms: bool


@runtime_checkable
class AsksAgain(Protocol):
    """A method that asks about rows of another run again, the parent of its runs, with what their
    agents saw; it calls no tool.

    Its runs have the parent's label view, model, seed and repeat.
    """

    asks_again: str  # the method of its parents

    def parent(self, options: Options) -> str:
        """Return the name or id of the run that is asked again."""
        ...

    def complete(self, options: Options, parent: str, asked: Options, seed: int) -> JsonObject:
        """Return the options as a specification holds them: its own, with those of the parent, an
        id, beside them.

        asked: the parent's options; seed: of the parent.
        """
        ...


def packs_read(method: Method, options: Options) -> tuple[PackName, ...]:
    """Return the names of the packs that a method reads; none for a method that is not a
    `ReadsPacks`."""
    return method.packs_read(options) if isinstance(method, ReadsPacks) else ()


class WithoutModel:
    """A base for methods that call no model: no calls, no prompts, and by default no options."""

    needs_model = False
    settings: type = NoSettings

    def calls(self, _options: Options) -> float:
        """Return 0."""
        return 0.0

    def prompts(self, _options: Options) -> str:
        """Return no text."""
        return ""


class DerivedMethod(WithoutModel):
    """A method that computes its rows from runs and gene spaces, and keeps labels away by its own
    protocol.

    inherits_track: whether its runs have the track and model of their first parent.
    """

    name: str
    version: int
    about: str
    inherits_track: bool = False

    def complete(self, options: Options, components: ComponentLoader) -> JsonObject:
        """Return the options in the form of a specification: runs by id, and options without effect
        at their defaults.

        Raise InputError or NotFound for options that conflict or name missing objects.
        """
        raise NotImplementedError

    def parents(self, options: Options) -> tuple[str, ...]:  # noqa: ARG002
        """Return the ids of the runs that completed options name; by default none."""
        return ()

    def default_rows(self, options: Options, components: ComponentLoader) -> Sequence[str]:
        """Return the ids of the rows to predict if a request chooses none: by default those of the
        base run."""
        return components.predictions(components.run(options["base"]).id)["pair_id"].tolist()

    def predict_rows(
        self, pair_ids: Sequence[str], options: Options, components: ComponentLoader
    ) -> list[RowResult]:
        """Return the results of these rows. Raise InputError or StateError if they cannot be
        computed."""
        raise NotImplementedError

    def check(self, pair_ids: Sequence[str], options: Options, components: ComponentLoader) -> None:
        """Raise what the prediction would raise; called before a run is created."""
        self.predict_rows(pair_ids, options, components)

    def predict_batch(self, pairs: Sequence[Pair], context: Context) -> list[RowResult]:
        """Return the rows. Raise what `check` raises."""
        if context.components is None:
            raise InputError(
                f"{self.name}: got no runs or gene spaces, expected a run of a workspace"
            )
        return self.predict_rows(
            [pair.pair_id for pair in pairs], context.options, context.components
        )

    def evaluation(
        self,
        pair_ids: Sequence[str],  # noqa: ARG002
        options: Options,  # noqa: ARG002
        components: ComponentLoader,  # noqa: ARG002
    ) -> JsonObject | None:
        """Return how labels were hidden from the rows, and the scores of other cuts of the folds;
        None without labels.

        Plain data: `protocols`, a list of {kind, k, seed}, and `cuts`, a list of [DE, DIR] inside
        the cells of the cuts with seeds 0, 1, …, which is empty if nothing was cut or if other cuts
        cannot be made.
        """
        return None


def rows_of_base(
    name: str, results: Sequence[RowResult], pair_ids: Sequence[str]
) -> list[RowResult]:
    """Return the results of these rows, in their order. Raise InputError for a row that the base
    run does not have."""
    by_id = {result.pair_id: result for result in results}
    missing = next((pair_id for pair_id in pair_ids if pair_id not in by_id), None)
    if missing is not None:
        raise InputError(
            f"{name}: row {missing!r} is not in the base run; expected rows that it has"
        )
    return [by_id[pair_id] for pair_id in pair_ids]


class RowFailed(Exception):
    """A row's failure, with the calls made for it. cause: the DeskError."""

    def __init__(self, cause: Exception, calls: tuple[Call, ...]) -> None:
        super().__init__(str(cause))
        self.cause, self.calls = cause, calls


def refuse_missing_sources(method: Method, values: Mapping[str, Any]) -> None:
    """Raise InputError for the first option that has to name gene spaces or runs and names none."""
    expected = {"spaces": "one or more gene spaces", "run": "a run", "runs": "one or more runs"}
    for option in options_of(method.settings):
        if (
            option.about.names in expected
            and option.kind is str
            and not split_names(values[option.name])
        ):
            raise InputError(f"{option.name}: got none; expected {expected[option.about.names]}")


@cache
def methods() -> Mapping[str, Method]:
    """Return the methods by name, sorted: each file of this room with a `METHOD`, and what features
    bring. Imports them all."""
    found = [*declared_in(room, "METHOD"), *hooks("methods")]
    return MappingProxyType(
        {method.name: method for method in sorted(found, key=lambda method: method.name)}
    )


def method_named(name: str) -> Method:
    """Return the method of a name, from the file of that name alone if there is one.

    Raise NotFound, with the known names, if there is no such method.
    """
    own = (f"{room.__name__}.{file.name}" for file in pkgutil.iter_modules(room.__path__))
    brought = (reference.partition(":")[0] for reference in references("methods"))
    for module in (*own, *brought):
        if module.rpartition(".")[2] == name:
            method: Method | None = getattr(importlib.import_module(module), "METHOD", None)
            if method is not None and method.name == name:
                return method
    return find_named(methods(), "method", name)
