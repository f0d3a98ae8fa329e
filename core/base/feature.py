"""The contract of a feature: what a folder in core/features brings, and what each kind of hook is
called with.

A feature names its functions by strings, "core.features.NAME.module:function", so that neither the
app nor `--help` imports them. mypy cannot see through a string: tests/test_features.py resolves
each one and compares it with the Protocol of its hook.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from core.base.errors import NotFound
from core.base.texts import list_choices
from core.base.types import Label

if TYPE_CHECKING:
    import pandas as pd

    from core.base.types import MarkedPassage
    from core.runs.workspace import Workspace
    from core.store import Store
    from core.store.connection import Cursor
    from core.store.datasets import Dataset
    from core.store.runs import Run
    from core.store.spaces import SpaceRecord


# perturbations, genes and labels, row by row
Labelled = tuple[Sequence[str], Sequence[str], Sequence[Label]]
Reference = str  # "package.module:name"
PANELS = ("Data", "Look", "Predict", "Judge", "Show", "Operate")  # of `--help`, in this order


@dataclass(frozen=True, slots=True)
class Page:
    """A page. name: its address. icon: a Material symbol. group: its heading in the navigation,
    which leaves out what is_hidden. show: a `ShowPage`; "" for the file of that name in pages/.
    holds: a `Holds`; while it returns nothing, a page of the group More is folded away."""

    name: str
    title: str
    icon: str
    group: str = ""
    is_hidden: bool = False
    show: Reference = ""
    holds: Reference = ""


@dataclass(frozen=True, slots=True)
class Tab:
    """A part of a page of another feature: a tab, or a part of one; those of one title stand below
    one another, each under its heading. show: a `ShowTab`. order: among all parts of the page."""

    page: str
    title: str
    show: Reference
    heading: str = ""
    order: int = 0


@dataclass(frozen=True, slots=True)
class Command:
    """A command, or a group of commands. app: a typer application, whose commands stand behind the
    name unless one has it. about: its line in `--help`, which leaves out what is_hidden. panel: its
    heading there, one of PANELS. settles: whether it records what died in the workspace before it
    opens the store."""

    app: Reference
    about: str
    panel: str
    is_hidden: bool = False
    settles: bool = True


class ShowPage(Protocol):
    """Show a page. Its context: `core.ui.shell.open_page`."""

    def __call__(self) -> None: ...


class ShowTab(Protocol):
    """Show a tab. context: of the page that is open."""

    def __call__(self, context: Any) -> None: ...


class RowPanel(Protocol):
    """Show what a feature knows of a row. readings: ids of the finished readings of this run."""

    def __call__(
        self, workspace: Workspace, run: Run, pair: str, readings: Sequence[str]
    ) -> None: ...


class Mark(Protocol):
    """Return the passages to mark in the texts of a row of a run (id)."""

    def __call__(self, cursor: Cursor, run: str, pair_id: str) -> Sequence[MarkedPassage]: ...


class Upload(Protocol):
    """Show a form for files of the visitor's own. key: of its widgets, on its page."""

    def __call__(self, workspace: Workspace, key: str) -> None: ...


class News(Protocol):
    """Show what was done last in this session, such as an import, at the top of a page."""

    def __call__(self) -> None: ...


class HandTool(Protocol):
    """What is moved by hand in a file from disk, such as the weights of a fusion."""

    @property
    def title(self) -> str: ...

    def script(self) -> str:
        """Return the script that fills every place of such a tool in its page."""

    def style(self) -> str:
        """Return the style sheet, whose rules are about what is inside such places alone."""

    def place(self, key: str) -> str:
        """Return the HTML of its place, of that id, with its data."""

    def file(self) -> bytes:
        """Return it alone, as an HTML file."""


class FindTool(Protocol):
    """Return what can be moved by hand of a run, None if nothing. labels: whether it has the labels
    of the run's rows."""

    def __call__(self, workspace: Workspace, run: Run, labels: bool) -> HandTool | None: ...


class RowReason(Protocol):
    """Return why a row was predicted so, in words of its trace; "" where it does not say. numbers:
    `predictions.row`. events: of its trace. longest: of a quotation, in characters."""

    def __call__(
        self,
        db: Cursor,
        run: Run,
        numbers: Mapping[str, Any],
        events: Sequence[Mapping[str, Any]],
        longest: int,
    ) -> str: ...


class Keeper(Protocol):
    """Show the buttons that keep what is on screen, such as for a report. make: returns it, a
    `core.ui.widgets.View`. key: of the element beside them, on its page."""

    def __call__(self, workspace: Workspace, make: Callable[[], Any], key: str) -> None: ...


class RunFiles(Protocol):
    """Show the files of a run that a feature writes for other people. context: of the page that is
    open."""

    def __call__(self, context: Any, run: Run) -> None: ...


class UploadTask(Protocol):
    """Return, as plain data, what comes of uploaded files (name, content), in the process without
    keys and network that reads them on a shared server. options: as plain data."""

    def __call__(
        self,
        workspace: Workspace,
        files: Sequence[tuple[str, bytes]],
        options: Mapping[str, Any],
    ) -> Any: ...


class FileFormat(Protocol):
    """Return what a file or folder is that `import` cannot read, and what to do with it; "" for
    what the feature does not know."""

    def __call__(self, path: Path) -> str: ...


class FileKind(Protocol):
    """Return the table in a file of a kind that the feature knows, None for any other file. It is
    read by the roles of its columns, as a table in CSV would be."""

    def __call__(self, path: Path) -> pd.DataFrame | None: ...


class FirstPage(Protocol):
    """Load what the first page shows by default, into the server's caches, when a server starts."""

    def __call__(self) -> object: ...


class EmptyWorkspace(Protocol):
    """Fill an empty workspace when the app is started on it."""

    def __call__(self, workspace: Workspace) -> object: ...


class OpenSpace(Protocol):
    """Return the vectors of a gene space (`core.embeddings.space.Space`), or those built from other
    labelled rows. Raise StateError if they are gone."""

    def __call__(
        self, workspace: Workspace, record: SpaceRecord, labelled: Labelled | None
    ) -> Any: ...


class ProtocolSentences(Protocol):
    """Return what to know of the scores of a run (its id) and of those that it was made from: the
    kind of protocol, and a sentence."""

    def __call__(self, run: str) -> Sequence[tuple[str, str]]: ...


class RowSources(Protocol):
    """Show where a row of a kNN's run comes from. row: its numbers (`predictions.frame`)."""

    def __call__(self, dataset: Dataset, run: Run, row: Mapping[str, Any]) -> None: ...


class Look(Protocol):
    """Return comparisons of runs on one dataset as somebody looks at them, each counted among all
    that were made on it (`RunComparison.looked_at`)."""

    def __call__(self, workspace: Workspace, comparisons: Sequence[Any]) -> Sequence[Any]: ...


class Holds(Protocol):
    """Return whether the workspace holds something that a page shows, as a truth value."""

    def __call__(self, workspace: Workspace) -> object: ...


class Concerns(Protocol):
    """Return what to check before trusting a number on a dataset (its id): what it is about, and a
    sentence. progress: gets the share that is done, often; it is computed in the background."""

    def __call__(
        self, workspace: Workspace, dataset: str, progress: Callable[[float], object]
    ) -> Sequence[tuple[str, str]]: ...


class KeepResults(Protocol):
    """Return the name of results that the store keeps, such as scores, and those that are missing
    or out of date: (what it is of, what it follows from, as JSON), as of
    `core.store.kept_results`."""

    def __call__(self, store: Store) -> tuple[str, Sequence[tuple[str, str, str]]]: ...


class ControlExpression(Protocol):
    """Return statistics of a dataset's (id) genes in control cells: gene, mean, variance, detected;
    None if it does not have them."""

    def __call__(self, workspace: Workspace, dataset: str) -> pd.DataFrame | None: ...


# Strings in the records of a field of `Feature` → the Protocol of what they name.
IN_RECORDS: Mapping[str, type] = MappingProxyType({"pages": Holds, "tabs": ShowTab})
# Hooks that are called: likewise, of strings that are the whole field.
CALLED: Mapping[str, type] = MappingProxyType(
    {
        "row_panels": RowPanel,
        "marks": Mark,
        "uploads": Upload,
        "news": News,
        "hand_tools": FindTool,
        "row_reasons": RowReason,
        "keepers": Keeper,
        "run_files": RunFiles,
        "concerns": Concerns,
        "looks": Look,
        "protocol_sentences": ProtocolSentences,
        "row_sources": RowSources,
        "spaces": OpenSpace,
        "control_expression": ControlExpression,
        "file_formats": FileFormat,
        "file_kinds": FileKind,
        "empty_workspace": EmptyWorkspace,
        "first_page": FirstPage,
        "kept_results": KeepResults,
        "upload_tasks": UploadTask,
    }
)
# Hooks that name an object of the kernel's own kinds: field of `Feature` → that kind.
OBJECTS: Mapping[str, Reference] = MappingProxyType(
    {
        "methods": "core.methods.base:Method",
        "jobs": "core.runs.jobs.control:JobKind",
        "experiments": "core.base.experiment:Kind",
        "report_parts": "core.scoring.report_part:ReportPart",
        "report_commands": "typer:Typer",
    }
)


@dataclass(frozen=True, slots=True)
class Feature:
    """What a feature brings. commands, upload_tasks: by name. needs:
    the features that it imports.

    Every other hook is a tuple of references, by the Protocol or the kind that CALLED and OBJECTS
    say.
    """

    name: str
    about: str
    pages: tuple[Page, ...] = ()
    tabs: tuple[Tab, ...] = ()
    commands: Mapping[str, Command] = field(default_factory=dict)
    methods: tuple[Reference, ...] = ()
    jobs: tuple[Reference, ...] = ()
    experiments: tuple[Reference, ...] = ()
    row_panels: tuple[Reference, ...] = ()
    marks: tuple[Reference, ...] = ()
    uploads: tuple[Reference, ...] = ()
    news: tuple[Reference, ...] = ()
    report_parts: tuple[Reference, ...] = ()
    report_commands: tuple[Reference, ...] = ()
    hand_tools: tuple[Reference, ...] = ()
    row_reasons: tuple[Reference, ...] = ()
    keepers: tuple[Reference, ...] = ()
    run_files: tuple[Reference, ...] = ()
    concerns: tuple[Reference, ...] = ()
    looks: tuple[Reference, ...] = ()
    protocol_sentences: tuple[Reference, ...] = ()
    row_sources: tuple[Reference, ...] = ()
    spaces: tuple[Reference, ...] = ()
    control_expression: tuple[Reference, ...] = ()
    file_formats: tuple[Reference, ...] = ()
    file_kinds: tuple[Reference, ...] = ()
    empty_workspace: tuple[Reference, ...] = ()
    first_page: tuple[Reference, ...] = ()
    kept_results: tuple[Reference, ...] = ()
    upload_tasks: Mapping[str, Reference] = field(default_factory=dict)
    needs: tuple[str, ...] = ()

    def references(self) -> Iterator[tuple[str, Reference]]:
        """Return every string of the feature that names something, with the hook that it stands
        under."""
        yield from (("pages", page.show) for page in self.pages if page.show)
        yield from (("pages", page.holds) for page in self.pages if page.holds)
        yield from (("tabs", tab.show) for tab in self.tabs)
        yield from (("commands", command.app) for command in self.commands.values())
        for hook in (*CALLED, *OBJECTS):
            named = getattr(self, hook)
            references = named.values() if isinstance(named, Mapping) else named
            yield from ((hook, reference) for reference in references)


def resolve(reference: Reference) -> Any:
    """Return what "package.module:name" names. Raise ImportError or AttributeError if there is no
    such thing."""
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(module), name)


Part = TypeVar("Part")


def declared_in(package: ModuleType, name: str) -> list[Any]:
    """Import every file of a package, and return what they declare under a name, in the order of
    the files."""
    files = (
        importlib.import_module(f"{package.__name__}.{file.name}")
        for file in pkgutil.iter_modules(package.__path__)
    )
    return [getattr(file, name) for file in files if hasattr(file, name)]


def find_named(parts: Mapping[str, Part], what: str, name: str) -> Part:
    """Return the part with this name. Raise NotFound, with the known names, if there is none."""
    if name not in parts:
        raise NotFound(f"{what} {name!r}: not known, {list_choices(name, [*parts])}")
    return parts[name]
