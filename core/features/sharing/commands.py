"""Commands behind `report`: new, list, build, figure, fusion, site, walk, delete."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from core.base import environment
from core.base.errors import InputError
from core.base.fields.setting import split_names
from core.base.records import from_json
from core.cli.base import Replace, RunName, say, show, show_deleted, show_file, show_list
from core.features import hooks
from core.features.sharing import walks
from core.store import datasets

if TYPE_CHECKING:
    from core.features.sharing.report.selection import ReportSelection
    from core.plots.printed import CaptionedFigure

app = typer.Typer(no_args_is_help=True)

_SHOWN = 20  # rows of a figure's table; --json has all
Runs = Annotated[
    str,
    typer.Option(
        "--runs",
        metavar="A,B",
        help="Runs by name or id; the first is highlighted.",
    ),
]
Compare = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B",
        help="A baseline and a run to compare with it; may be repeated.",
    ),
]
Name = Annotated[
    str,
    typer.Argument(help="The report's name."),
]


class _ListsParts(TyperCommand):
    """A command whose --help names a report's parts, which features bring with what draws them."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from core.features.sharing.report.selection import PARTS

        for param in self.params:
            if text := getattr(param, "help", None):
                param.help = text.replace("{PARTS}", ", ".join(PARTS))  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)


@app.command(cls=_ListsParts)
def new(
    context: typer.Context,
    name: Name,
    run_names: Runs,
    compare: Compare = None,
    rows: Annotated[
        str, typer.Option(metavar="PAIR,…", help="Ids of the rows to show in full.")
    ] = "",
    figures: Annotated[
        str,
        typer.Option(
            metavar="NAME,…",
            help=(
                "Of {PARTS}; by default six that answer the question first, the others"
                " as an appendix."
            ),
        ),
    ] = "",
    title: Annotated[
        str, typer.Option(help="The finding; by default drafted from the verdict.")
    ] = "",
    abstract: Annotated[
        str, typer.Option(help="The abstract; by default a draft, marked as one.")
    ] = "",
    authors: Annotated[
        str, typer.Option(help="Its authors; by default the user who saves it.")
    ] = "",
    walk: Annotated[
        str,
        typer.Option(
            help="Include the stops of this walk-through.",
        ),
    ] = "",
    replace: Replace = False,
) -> None:
    """Save under a name what a report shows."""
    from core.features.sharing.report import selection as reports
    from core.features.sharing.report.selection import select

    with context.obj.store.read() as db:
        pairs = [split_names(pair) for pair in compare or ()]
        found = select(db, split_names(run_names), pairs, split_names(rows), split_names(figures))
        if walk:
            walks.find_walk(db, walk, found.dataset)
    words: dict[str, Any] = {
        "title": title.strip(),
        "abstract": abstract.strip(),
        "authors": authors.strip(),
    }
    selection = dataclasses.replace(found, **words, walk=walk)
    is_new = reports.save_report(context.obj, name, selection.as_json(), replace=replace)
    if not is_new and not replace:
        say(f"{name}: there already, with the same selection")
    record = _record(name, selection)
    show(record, _line(record))


@app.command("list")
def list_(context: typer.Context) -> None:
    """List the saved reports."""
    from core.features.sharing.report import selection as reports
    from core.features.sharing.report.selection import ReportSelection

    saved = reports.saved_reports(context.obj).items()
    records = [
        _record(name, from_json(ReportSelection, selection, f"saved report {name!r}"))
        for name, selection in saved
    ]
    lines = [_line(record) for record in records]
    show(
        {"reports": records},
        "\n".join(lines) or "no reports yet; try: perturbdesk report new NAME --runs A,B",
    )


@app.command()
def build(
    context: typer.Context,
    name: Name,
    out: Page,
    slides: Annotated[bool, typer.Option("--slides", help="Slides instead of the report.")] = False,
    replace: Replace = False,
) -> None:
    """Write a saved report as one self-contained file; the same input gives the same bytes."""
    from core.features.sharing.report import selection as reports
    from core.features.sharing.report.build import build_file, load_parts
    from core.features.sharing.report.material import Byline
    from core.features.sharing.report.selection import ReportSelection
    from core.features.sharing.report.walk import AT_HOME

    selection = from_json(
        ReportSelection, reports.find_report(context.obj, name), f"saved report {name!r}"
    )
    base = context.obj.settings.base_url or AT_HOME
    byline = Byline(*(reports.author_and_day(context.obj, name) or ()))
    parts = dataclasses.replace(load_parts(context.obj, name, selection, base), byline=byline)
    built = build_file(parts, slides=slides)
    environment.refuse_secrets(context.obj.settings, f"report {name}", [built.content])
    show_file(
        out,
        _as_named(out, built.content),
        {"figures": built.figures, "rows": built.rows},
        replace=replace,
    )


@app.command(cls=_ListsParts)
def figure(
    context: typer.Context,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="One of {PARTS}.")],
    run_names: Runs,
    compare: Compare = None,
) -> None:
    """Print what a report's figures of one kind say: a sentence, a caption, the numbers."""
    from core.features.sharing.report.build import load_parts
    from core.features.sharing.report.selection import select

    with context.obj.store.read() as db:
        chosen = select(
            db,
            split_names(run_names),
            [split_names(pair) for pair in compare or ()],
            (),
            (kind,),
        )
    parts = load_parts(context.obj, "", chosen)
    found = [one for _, one in parts.figures]
    if not found:
        raise InputError(
            f"report figure {kind}: nothing to show of these runs; some kinds need --compare"
        )
    marks = parts.material.dataset.marks
    result = {"kind": kind, "figures": [_figure_record(one) for one in found], "label_marks": marks}
    show(result, "\n\n".join(filter(None, (marks.sentence, *map(_figure_text, found)))))


for _brought in hooks("report_commands"):
    app.registered_commands += _brought.registered_commands


@app.command()
def site(
    context: typer.Context,
    run: RunName,
    out: Annotated[Path, typer.Option(help="The folder to write.")],
    replace: Replace = False,
) -> None:
    """Write a run as a folder of plain files for any browser: every debate, with filters and
    search."""
    from core.features.sharing.site import actions as site_action

    made = site_action.write_site(context.obj, run, out, replace=replace)
    result = {"path": str(out), "rows": made.rows, "bytes": made.size}
    show(
        result,
        f"{out}: {made.rows:,} rows, {made.size:,} bytes; open {out / site_action.PAGE} in a"
        " browser",
    )


@app.command()
def delete(context: typer.Context, name: Name) -> None:
    """Delete a saved report; files that were built stay."""
    from core.features.sharing.report import selection as reports

    reports.delete_report(context.obj, name)
    show_deleted(name)


def _figure_text(figure: CaptionedFigure) -> str:
    """Return a figure as people read it: what it says, of what, and the beginning of its table."""
    more = len(figure.table) - _SHOWN
    table = "" if figure.table.empty else figure.table.head(_SHOWN).to_string(index=False)
    rest = f"… {more:,} more rows, see --json" if more > 0 else ""
    return "\n".join(filter(None, (figure.finding, figure.sentence, figure.caption, table, rest)))


def _figure_record(found: CaptionedFigure) -> dict[str, Any]:
    words = {
        name: getattr(found, name)
        for name in ("title", "subject", "finding", "sentence", "caption")
    }
    return {**words, "table": found.table.to_dict("records")}


def _record(name: str, selection: ReportSelection) -> dict[str, Any]:
    return {"name": name, **selection.as_json(), "figures": list(selection.figure_names)}


def _line(record: Mapping[str, Any]) -> str:
    parts = (f"{len(record[name]):,} {name}" for name in ("runs", "compare", "rows", "figures"))
    return f"{record['name']}: {', '.join(parts)}"


walk_app = typer.Typer(no_args_is_help=True)

WalkName = Annotated[str, typer.Argument(help="The walk-through's name.")]
Page = Annotated[
    Path, typer.Option(help="The file to write: HTML, or a PDF if its name ends in .pdf.")
]
Dataset = Annotated[
    str | None,
    typer.Option(help="Its dataset, if several have a walk-through of that name."),
]


@walk_app.command("list")
def list_walks(context: typer.Context) -> None:
    """List the walk-throughs with their numbers of stops."""
    with context.obj.store.read() as db:
        names = {each.id: each.name for each in datasets.list_all(db)}
        found = [
            {"name": name, "dataset": names.get(home, home), "stops": n}
            for home, name, n in walks.list_all(db)
        ]
    none = "no walk-throughs yet; add a stop in the app with “Add to walk-through”"
    show_list("walks", found, ("name", "dataset", "stops"), none)


@walk_app.command()
def export(
    context: typer.Context,
    name: WalkName,
    out: Page,
    dataset: Dataset = None,
    replace: Replace = False,
) -> None:
    """Write a walk-through as slides in one self-contained file; each stop is a link to its
    view."""
    from core.features.sharing.report.walk import AT_HOME, walk_file

    with context.obj.store.read() as db:
        home, stops = walks.find_walk(db, name, dataset)
        page = walk_file(db, home, name, context.obj.settings.base_url or AT_HOME)
    environment.refuse_secrets(context.obj.settings, f"walk-through {name}", [page])
    show_file(out, _as_named(out, page), {"stops": len(stops)}, replace=replace)


@walk_app.command("delete")
def delete_walk(context: typer.Context, name: WalkName, dataset: Dataset = None) -> None:
    """Delete a walk-through with its stops; files that were exported stay."""
    with context.obj.store.read() as db:
        home, _ = walks.find_walk(db, name, dataset)
    walks.delete_walk(context.obj, home, name)
    show_deleted(name)


app.add_typer(walk_app, name="walk", help="Walk-throughs: list, export as slides, delete.")


def _as_named(out: Path, page: bytes) -> bytes:
    """Return a page in the form that the name of its file says."""
    from core.features.sharing.report.build import as_pdf

    return as_pdf(page) if out.suffix.lower() == ".pdf" else page
