"""The commands of experiments: list, plan, run, show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from core.base.errors import InputError
from core.base.experiment import Kind
from core.base.fields.record import make, options_of, values_of
from core.base.fields.setting import Count, setting
from core.base.file_io import read_file
from core.base.result import Result
from core.base.texts import table_lines
from core.cli import names
from core.cli.base import Detach, say_arm, say_progress, show, show_result, working
from core.cli.settings import listing, takes
from core.features.experiments import engine
from core.features.experiments.registry import kind_named, kinds
from core.llm.call_settings import CallSettings
from core.methods.base import method_named
from core.runs import launch
from core.runs.spec import CallsAtOnce, Model, Server
from core.runs.workspace import Workspace
from core.store import datasets, runs


class _Group(TyperGroup):
    """The commands, and the kinds: `experiment KIND` is short for `experiment plan KIND`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        return super().resolve_command(ctx, ["plan", *args] if args[0] in kinds() else args)


_LISTING = listing(
    lambda words: next((kinds()[word].settings for word in words if word in kinds()), None)
)


app = typer.Typer(cls=_Group)
MAX_BYTES = 10_000_000  # of a file that describes an experiment


@dataclass(frozen=True, slots=True)
class CommonSettings:
    """Settings that many kinds have; what is not given is as the kind says."""

    rows: Annotated[
        str | None,
        setting(
            'Which rows are asked, such as "sample=100", "split=train", "ids=FILE".', missing="all"
        ),
    ] = None
    repeats: Annotated[
        Count | None, setting("How often the same is asked again, for the noise.")
    ] = None
    endpoint: Server = None
    model: Model = None
    concurrency: CallsAtOnce | None = None
    calls: CallSettings = field(default_factory=CallSettings)


Target = Annotated[
    str,
    typer.Argument(
        metavar="KIND|FILE",
        help=(
            "A kind that `experiment list` names, or a TOML file; `experiment KIND --help` lists"
            " its settings."
        ),
        autocompletion=names.complete(lambda _: kinds()),
    ),
]
OfRun = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="The run that is asked again, by name or id.",
        autocompletion=names.complete_run,
    ),
]
Values = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="A setting of the kind, or an option of a method."
    ),
]


@app.command("list")
def list_(context: typer.Context) -> None:
    """List the kinds of experiments with their questions and what they lack, and those made
    here."""
    kind_records = [
        {
            "name": kind.name,
            "title": kind.title,
            "question": kind.question,
            "settings": {option.name: option.about.help for option in options_of(kind.settings)},
            "missing": _missing_of(context.obj, kind),
        }
        for kind in kinds().values()
    ]
    with context.obj.store.read() as db:
        states, names_of = (
            runs.statuses(db),
            {dataset.id: dataset.name for dataset in datasets.list_all(db)},
        )
    made = [
        {
            "name": saved.name,
            "kind": saved.kind,
            "key": saved.key,
            "dataset": names_of.get(saved.dataset, saved.dataset),
            "runs": len(saved.ids),
            "done": len(saved.ids) - saved.count_left(states),
        }
        for saved in engine.list_saved(context.obj)
    ]
    lines = []
    for record in kind_records:
        lines += [
            f"{record['name']:24}{record['question']}",
            *(f"{'':24}lacks {one}" for one in record["missing"]),
        ]
    text = "\n".join([*lines, *(["", "Made here:", *table_lines(made)] if made else [])])
    show({"kinds": kind_records, "experiments": made}, text)


def _missing_of(workspace: Workspace, kind: Kind) -> list[str]:
    try:
        return kind.missing(workspace, None)
    except InputError as error:  # there is no dataset yet
        return [str(error)]


@app.command(cls=_LISTING)
@takes(CommonSettings)
def plan(
    context: typer.Context,
    target: Target,
    chosen: dict[str, Any],
    run: OfRun = "",
    values: Values = None,
) -> None:
    """Print the arms, rows, calls, tokens and cost of an experiment, and what its rows can show."""
    kind, settings = _read_settings(context.obj, target, run, chosen, values or ())
    show_result(engine.with_power(context.obj, engine.plan(context.obj, kind.name, settings)))


@app.command("run", cls=_LISTING)
@takes(CommonSettings)
def run_(
    context: typer.Context,
    target: Target,
    chosen: dict[str, Any],
    run: OfRun = "",
    values: Values = None,
    detach: Detach = False,
) -> None:
    """Make the runs of an experiment and compare them. Interrupted, the same command goes on."""
    kind, settings = _read_settings(context.obj, target, run, chosen, values or ())
    if not detach:
        show_result(_make(context.obj, kind, settings))
    elif kind.compute is not None:
        raise typer.BadParameter(
            f"{kind.name} is computed here, and makes no run", param_hint="--detach"
        )
    else:
        planned = engine.plan(context.obj, kind.name, settings)
        engine.start_apart(context.obj, planned)
        show_result(planned)


@app.command("show")
def show_(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="KIND|FILE|NAME",
            help="An experiment made here, its TOML file, or a kind that is computed.",
            autocompletion=names.complete(engine.list_saved),
        ),
    ],
) -> None:
    """Show the result of an experiment that was made here."""
    computed = kinds().get(name)
    if computed is not None and computed.compute is not None:
        show_result(_make(context.obj, computed, make(computed.settings, {})))
        return
    if _is_file(name):
        kind, settings = _read_settings(context.obj, name, "", {}, ())
        name = engine.plan(context.obj, kind.name, settings).saved.key
    show_result(engine.result_of(context.obj, engine.find_saved(context.obj, name)))


def _make(workspace: Workspace, kind: Kind, settings: Any) -> Result:
    if kind.compute is not None:
        with working(kind.title):
            return kind.compute(workspace, settings)
    planned = engine.plan(workspace, kind.name, settings)
    say_progress(planned.sentence)
    return engine.result_of(workspace, engine.run(workspace, planned, say_arm))


def _is_file(target: str) -> bool:
    return target not in kinds() and (target.endswith(".toml") or Path(target).is_file())


def _read_settings(
    workspace: Workspace, target: str, run: str, chosen: dict[str, Any], values: Sequence[str]
) -> tuple[Kind, Any]:
    """Return the kind and its settings: those that were given, the rest as the kind says."""
    usual = values_of(CommonSettings())
    given = {name: value for name, value in chosen.items() if value != usual[name]}
    given |= {"run": run} if run else {}
    path = Path(target) if _is_file(target) else None
    if path is not None:
        given |= {"text": read_file(path, MAX_BYTES).decode("utf-8", "replace"), "file": path.name}
    kind = kind_named("file" if path else target)
    own = {option.name for option in options_of(kind.settings)}
    texts = dict(launch.read_key_values(values))
    given |= {name: text for name, text in texts.items() if name in own}
    of_method = [f"{name}={text}" for name, text in texts.items() if name not in own]
    if of_method and "options" in own:
        method = given.get("method")
        if not method:
            with workspace.store.read() as db:
                method = runs.find_predicting(db, run).method
        given["options"] = launch.read_options(method_named(str(method)), of_method)
    elif of_method:
        raise InputError(
            f"--set {of_method[0]}: {kind.name} has {', '.join(sorted(own)) or 'no settings'}"
        )
    if unknown := [name for name in given if name not in own]:
        what = "a run" if unknown[0] == "run" else f"--{unknown[0]}"
        raise InputError(f"experiment {kind.name}: takes no {what}")
    return kind, make(kind.settings, given)
