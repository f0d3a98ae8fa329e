"""The command `fuse`: runs fused by rank percentiles, or a fusion taken apart; and `report fusion`,
a fusion as a file."""

from __future__ import annotations

from dataclasses import replace as replaced
from typing import Annotated, Any

import typer

from core.base.errors import SettingError
from core.base.fields.record import make, options_of, values_of
from core.base.types import Flag
from core.cli.base import (
    Out,
    Replace,
    RunName,
    say_if_named_otherwise,
    show_file,
    show_result,
    working,
)
from core.cli.settings import takes
from core.runs.component_requests import FusionRequest
from core.runs.request import RunRequest
from core.runs.workspace import Workspace
from core.store import runs

app, report_app = typer.Typer(), typer.Typer()

_WITH_FROM = ("name", "base", "w_de", "w_dir")  # settings of a fusion that --from takes too


@app.command()
@takes(FusionRequest, required=("name", "base", "w_de", "w_dir"))
def fuse(
    context: typer.Context,
    chosen: dict[str, Any],
    fused: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="RUN",
            help=(
                "Instead, take this published fusion of the base apart: recover the run that was"
                " fused with it."
            ),
        ),
    ] = "",
    replace: Replace = False,
) -> None:
    """Fuse runs by rank percentiles, as a new run; with --from, recover the other component of a
    fusion."""
    from core.features.fuse.weight_grid import FusionVerdict
    from core.runs import launch
    from core.scoring.score_result import constant_parents
    from core.scoring.sentences import fusion_caveats
    from core.store import predictions

    request, uncovered = (
        _recover(context.obj, fused, chosen) if fused else _fuse(context.obj, chosen)
    )
    with working(f"making {launch.name_of(request)}"):
        run = launch.start(context.obj, request, replace=replace)
    say_if_named_otherwise(run, launch.name_of(request))
    with context.obj.store.read() as db:
        n = predictions.flag_counts(db, run.id).get(uncovered, 0)
        constant = constant_parents(db, run) if uncovered == Flag.PARTLY_COVERED else []
    verdict = FusionVerdict(
        run.name, run.total, n, run.id, tuple(constant), remarks=fusion_caveats(run)
    )
    show_result(verdict)


def _fuse(workspace: Workspace, chosen: dict[str, Any]) -> tuple[RunRequest, Flag]:
    from core.runs import component_loader

    if not chosen["with"]:
        raise typer.BadParameter(
            "is missing; expected the runs to fuse, or --from", param_hint="--with"
        )
    asked = make(FusionRequest, chosen)
    named = asked.settings
    with workspace.store.read() as db:
        base, *others = (runs.find_predicting(db, str(run)) for run in (named.base, *named.others))
        references = {
            runs.find_predicting(db, run).id: runs.find_predicting(db, reference).id
            for run, reference in named.references.items()
        }
    settings = replaced(
        named, base=base.id, others=tuple(run.id for run in others), references=references
    )
    return component_loader.fusion_request(base.dataset, settings, asked.name), Flag.PARTLY_COVERED


def _recover(workspace: Workspace, fused: str, chosen: dict[str, Any]) -> tuple[RunRequest, Flag]:
    """Return the request of the other component of a fusion. Raise BadParameter for an option that
    only a new fusion has."""
    from core.methods.recovered import RecoveredSettings

    for option in options_of(FusionRequest):
        if option.name not in _WITH_FROM and chosen[option.name] != option.default:
            raise typer.BadParameter("has no effect beside --from", param_hint=option.option)
    for name in ("w_de", "w_dir"):
        if (n := len(chosen[name])) != 1:
            raise SettingError(
                name, f"got {n} weights, expected that of the component that --from recovers"
            )
    [w_de], [w_dir] = chosen["w_de"], chosen["w_dir"]
    settings = make(
        RecoveredSettings, {"base": chosen["base"], "fused": fused, "w_de": w_de, "w_dir": w_dir}
    )
    with workspace.store.read() as db:
        base = runs.find_predicting(db, settings.base)
    return (
        RunRequest(
            "recovered",
            base.dataset,
            values_of(replaced(settings, base=base.id)),
            name=chosen["name"],
        ),
        Flag.UNCOVERED,
    )


@report_app.command()
def fusion(
    context: typer.Context,
    run: RunName,
    out: Out,
    labels: Annotated[
        bool,
        typer.Option(
            "--labels/--no-labels", help="Whether the labels of its rows are in the file."
        ),
    ] = True,
    replace: Replace = False,
) -> None:
    """Write a fusion as one HTML file, in which its weights are moved by hand; it opens without a
    network.

    Without labels it moves ranks alone, and says what the saved weights score.
    """
    from core.features.fuse.explorer.travel import fusion_file

    content = fusion_file(context.obj, run, labels=labels)
    show_file(out, content, {"bytes": len(content), "labels": labels}, replace=replace)
