"""What a report is to show: plain data that is saved under a name, and checked against the
workspace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType
from typing import Any

from core.base.errors import InputError, NotFound, StateError
from core.base.feature import find_named
from core.base.records import to_json
from core.base.texts import list_known
from core.features import hooks
from core.runs import actions as run_actions
from core.runs.workspace import Workspace
from core.scoring.report_part import ReportPart
from core.store import Cursor, notes, predictions, runs

# What features bring for a report, in the order of its sections.
PARTS: Mapping[str, ReportPart] = MappingProxyType(
    {
        part.name: part
        for part in sorted(hooks("report_parts"), key=lambda part: (part.order, part.name))
    }
)
# those that a report shows unless told otherwise
DEFAULTS = tuple(name for name, part in PARTS.items() if part.by_default)


@dataclass(frozen=True, slots=True)
class ReportSelection:
    """The dataset and runs (ids), pairs of a baseline and a run to compare, ids of the rows to show
    in full, and figures (names).

    The first run is the one that stands out. No figures: those of DEFAULTS. title, abstract: as
    somebody wrote them, "" for drafts. authors: "" for who saved it. walk: the name of a
    walk-through whose stops are in the report, "" for none.
    """

    dataset: str
    runs: tuple[str, ...]
    compare: tuple[tuple[str, str], ...] = ()
    rows: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    title: str = ""
    abstract: str = ""
    authors: str = ""
    walk: str = ""

    @property
    def figure_names(self) -> tuple[str, ...]:
        """The figures in the order of a report's sections."""
        wanted = self.figures or DEFAULTS
        return tuple(name for name in PARTS if name in wanted)

    def as_json(self) -> dict[str, Any]:
        """Return plain data from which `records.from_json` makes an equal record.

        What is by default is left out, as before it was.
        """
        values = to_json(self)
        usual = {"title": "", "abstract": "", "authors": "", "walk": ""}
        return {
            name: value
            for name, value in values.items()
            if name not in usual or value != usual[name]
        }


def select(
    db: Cursor,
    run_names: Sequence[str],
    compare: Sequence[Sequence[str]] = (),
    rows: Sequence[str] = (),
    figures: Sequence[str] = (),
) -> ReportSelection:
    """Return the selection of runs by name or id. Raise InputError or NotFound for content that a
    report cannot show."""
    chosen = {run.id: run for run in (runs.find_predicting(db, name) for name in run_names)}
    if not chosen:
        raise InputError("report: got no run, expected one or more")
    datasets = {run.dataset for run in chosen.values()}
    if len(datasets) > 1:
        raise InputError(f"report: got runs of {len(datasets)} datasets, expected runs of one")
    for pair in compare:
        if len(pair) != 2:
            raise InputError(f"report: compare got {','.join(pair)}, expected two runs, A,B")
    pairs = tuple((runs.find_predicting(db, a), runs.find_predicting(db, b)) for a, b in compare)
    outside = next(
        (run.name for pair in pairs for run in pair if run.dataset not in datasets), None
    )
    if outside is not None:
        raise InputError(f"report: compare got {outside!r}, which is on another dataset")
    [dataset] = datasets
    unknown = [
        pair_id
        for pair_id in rows
        if chosen.keys().isdisjoint(predictions.runs_with(db, dataset, pair_id))
    ]
    if unknown:
        of = (
            f"{len(unknown):,} of {len(rows):,} rows are in none of the chosen runs, such as"
            f" {unknown[0]!r}"
        )
        known = predictions.find_pair_ids(db, next(iter(chosen)), predictions.RowFilter())
        raise InputError(f"report: {of}{f', expected ids such as {known[0]!r}' if known else ''}")
    names = tuple(find_named(PARTS, "figure", name).name for name in figures)
    ids = tuple((a.id, b.id) for a, b in pairs)
    return ReportSelection(dataset, tuple(chosen), ids, tuple(dict.fromkeys(rows)), names)


PAGE = "report"


def save_report(
    workspace: Workspace, name: str, selection: Mapping[str, Any], *, replace: bool = False
) -> bool:
    """Save a selection (plain data) under a name; return whether there was none of that name.

    The same selection again changes nothing. Raise StateError where another has the name, unless
    `replace`; ReadOnly.
    """
    name = name.strip()
    workspace.refuse_if_read_only("save report", name)
    known = saved_reports(workspace)
    if known.get(name) == dict(selection):
        return False
    if name in known and not replace:
        raise StateError(
            f"report {name!r}: the name is taken by another selection; choose another, or use"
            " --replace"
        )
    run_actions.save_preset(workspace, PAGE, name, selection)
    return name not in known


def delete_report(workspace: Workspace, name: str) -> None:
    """Delete a saved selection."""
    run_actions.delete_preset(workspace, PAGE, name)


def saved_reports(workspace: Workspace) -> dict[str, dict[str, Any]]:
    """Name → selection of every saved report, by name."""
    with workspace.store.read() as db:
        return notes.presets_of_page(db, PAGE)


def author_and_day(workspace: Workspace, name: str) -> tuple[str, date] | None:
    """Return who saved the selection of a name, and on which day; None if there is none."""
    with workspace.store.read() as db:
        found = notes.preset_written(db, PAGE, name)
    return None if found is None else (found[0], found[1].date())


def find_report(workspace: Workspace, name: str) -> dict[str, Any]:
    """Return the selection of a name. Raise NotFound, which lists the names."""
    known = saved_reports(workspace)
    if name not in known:
        raise NotFound(f"report {name!r}: not in this workspace, {list_known(name, list(known))}")
    return known[name]
