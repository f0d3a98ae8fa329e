"""The contract of a feature: what a folder in core/features brings, and what each kind of hook is
called with.

A feature names its functions by strings, "core.features.NAME.module:function", so that neither the
app nor `--help` imports them. mypy cannot see through a string: tests/test_features.py resolves
each one and compares it with the Protocol of its hook.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from core.base.result import Result
    from core.runs.workspace import Workspace
    from core.store.runs import Run

Reference = str  # "package.module:name"
PANELS = ("Data", "Look", "Predict", "Judge", "Show", "Operate")  # of `--help`, in this order


@dataclass(frozen=True, slots=True)
class Page:
    """A page. name: of its file in pages/ and its address. icon: a Material symbol. group: its
    heading in the navigation, which leaves out what is_hidden."""

    name: str
    title: str
    icon: str
    group: str = ""
    is_hidden: bool = False


@dataclass(frozen=True, slots=True)
class Tab:
    """A tab of a page that is made of them, or a part of one: those of one title stand below one
    another, each under its heading. show: a `ShowTab`. order: among all parts of the page."""

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


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables that a feature owns. file: SQL, in its folder. run_column: the column with the id
    of a run, whose rows go with that run. bundled: whether a run's rows travel in its bundle."""

    file: str
    version: int
    run_column: str = ""
    bundled: bool = False


class ShowTab(Protocol):
    """Show a tab. context: of the page that is open."""

    def __call__(self, context: Any) -> None: ...


class RowPanel(Protocol):
    """Show what a feature knows of a row. readings: ids of the finished readings of this run."""

    def __call__(
        self, workspace: Workspace, run: Run, pair: str, readings: Sequence[str]
    ) -> None: ...


class RowFilter(Protocol):
    """Return the ids of the rows of a run that a choice keeps, None for all."""

    def __call__(self, workspace: Workspace, run: Run) -> Sequence[str] | None: ...


class RowColumn(Protocol):
    """Return a value for each row of a run: pair id → value, for a column with the function's
    title."""

    def __call__(self, workspace: Workspace, run: Run) -> Mapping[str, Any]: ...


class Mark(Protocol):
    """Return the passages of a row's texts to mark, as (text id, start, end, title)."""

    def __call__(
        self, workspace: Workspace, run: Run, pair: str
    ) -> Sequence[tuple[str, int, int, str]]: ...


class OverviewCard(Protocol):
    """Show a card about a dataset (its id) on Overview; nothing where there is nothing to say."""

    def __call__(self, workspace: Workspace, dataset: str) -> None: ...


class ReportPart(Protocol):
    """Return the results that a report shows. selection: runs, comparisons, rows and figures, as
    the report was asked for."""

    def __call__(self, workspace: Workspace, selection: Any) -> Sequence[Result]: ...


class Export(Protocol):
    """Write a run to a file in the format of the function's name."""

    def __call__(self, workspace: Workspace, run: Run, out: Path) -> None: ...


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


class EmptyWorkspace(Protocol):
    """Fill an empty workspace when the app is started on it."""

    def __call__(self, workspace: Workspace) -> object: ...


class Check(Protocol):
    """Return what `doctor` should say about the workspace, a line each; nothing if all is well."""

    def __call__(self, workspace: Workspace) -> Sequence[str]: ...


# Hooks that are called: field of `Feature` → the Protocol of what its strings name.
CALLED: Mapping[str, type] = MappingProxyType(
    {
        "row_panels": RowPanel,
        "row_filters": RowFilter,
        "row_columns": RowColumn,
        "marks": Mark,
        "overview_cards": OverviewCard,
        "report_parts": ReportPart,
        "exports": Export,
        "checks": Check,
        "file_formats": FileFormat,
        "empty_workspace": EmptyWorkspace,
        "upload_tasks": UploadTask,
    }
)
# Hooks that name an object of the kernel's own kinds: field of `Feature` → that kind.
OBJECTS: Mapping[str, Reference] = MappingProxyType(
    {
        "methods": "core.methods.base:Method",
        "tools": "core.evidence.tool:Tool",
        "jobs": "core.runs.jobs.kinds:JobKind",
        "experiments": "core.base.experiment:Kind",
        "figures": "core.features.sharing.report.figure_kind:FigureKind",
    }
)


@dataclass(frozen=True, slots=True)
class Feature:
    """What a feature brings. commands, upload_tasks: by name. assets: a folder in its own. needs:
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
    tools: tuple[Reference, ...] = ()
    jobs: tuple[Reference, ...] = ()
    experiments: tuple[Reference, ...] = ()
    figures: tuple[Reference, ...] = ()
    tables: Tables | None = None
    row_panels: tuple[Reference, ...] = ()
    row_filters: tuple[Reference, ...] = ()
    row_columns: tuple[Reference, ...] = ()
    marks: tuple[Reference, ...] = ()
    overview_cards: tuple[Reference, ...] = ()
    report_parts: tuple[Reference, ...] = ()
    exports: tuple[Reference, ...] = ()
    checks: tuple[Reference, ...] = ()
    file_formats: tuple[Reference, ...] = ()
    empty_workspace: tuple[Reference, ...] = ()
    upload_tasks: Mapping[str, Reference] = field(default_factory=dict)
    assets: str = ""
    needs: tuple[str, ...] = ()

    def references(self) -> Iterator[tuple[str, Reference]]:
        """Return every string of the feature that names something, with the hook that it stands
        under."""
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
