"""The commands of experiments (list, plan, run, show) and of the ledger (list, add, result,
import). Nothing changes or deletes an entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.base.errors import InputError
from core.base.experiment import Kind
from core.base.fields.record import make, options_of, values_of
from core.base.fields.setting import Count, setting, split_names
from core.base.file_io import read_file
from core.base.result import Result, plain
from core.base.texts import table_lines
from core.cli.base import Detach, result_lines, say_arm, say_progress, show, show_result, working
from core.cli.settings import listing, takes
from core.features.experiments.ledger_table import DecisionRule
from core.llm.call_settings import CallSettings
from core.runs.spec import CallsAtOnce, Model, Server
from core.runs.workspace import Workspace
from core.store import datasets, runs

if TYPE_CHECKING:
    from core.features.experiments.ledger_result import LedgerResult
    from core.features.experiments.ledger_table import Entry


def _settings_of(words: Sequence[str]) -> type | None:
    """Return the settings of the kind that a word names."""
    from core.features.experiments.engine import kinds

    return next((kinds()[word].settings for word in words if word in kinds()), None)


_LISTING = listing(_settings_of)
app = typer.Typer()
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
            "A kind that `experiment list` names, or a TOML file; `experiment plan KIND --help`"
            " lists its settings."
        ),
    ),
]
OfRun = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="The run that is asked again, by name or id.",
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
    """List the kinds of experiments with their questions, and those made here."""
    from core.features.experiments import engine

    shown = ("name", "title", "question")
    kind_records = [
        {name: getattr(kind, name) for name in shown} for kind in engine.kinds().values()
    ]
    with context.obj.store.read() as db:
        states = runs.statuses(db)
        names_of = {dataset.id: dataset.name for dataset in datasets.list_all(db)}
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
    lines = [f"{each['name']:24}{each['question']}" for each in kind_records]
    text = "\n".join([*lines, *(["", "Made here:", *table_lines(made)] if made else [])])
    show({"kinds": kind_records, "experiments": made}, text)


@app.command(cls=_LISTING)
@takes(CommonSettings)
def plan(
    context: typer.Context,
    target: Target,
    chosen: dict[str, Any],
    run: OfRun = "",
    values: Values = None,
) -> None:
    """Print the arms, rows, calls, tokens and cost of an experiment."""
    from core.features.experiments import engine

    kind, settings = _read_settings(target, run, chosen, values or ())
    show_result(engine.plan(context.obj, kind.name, settings))


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
    from core.features.experiments import engine

    kind, settings = _read_settings(target, run, chosen, values or ())
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
        ),
    ],
) -> None:
    """Show the result of an experiment that was made here."""
    from core.features.experiments import engine

    computed = engine.kinds().get(name)
    if computed is not None and computed.compute is not None:
        show_result(_make(context.obj, computed, make(computed.settings, {})))
        return
    if _is_file(name):
        kind, settings = _read_settings(name, "", {}, ())
        name = engine.plan(context.obj, kind.name, settings).saved.key
    show_result(engine.result_of(context.obj, engine.find_saved(context.obj, name)))


def _make(workspace: Workspace, kind: Kind, settings: Any) -> Result:
    from core.features.experiments import engine

    if kind.compute is not None:
        with working(kind.title):
            return kind.compute(workspace, settings)
    planned = engine.plan(workspace, kind.name, settings)
    say_progress(planned.sentence)
    return engine.result_of(workspace, engine.run(workspace, planned, say_arm))


def _is_file(target: str) -> bool:
    from core.features.experiments.engine import kinds

    return target not in kinds() and (target.endswith(".toml") or Path(target).is_file())


def _read_settings(
    target: str, run: str, chosen: dict[str, Any], values: Sequence[str]
) -> tuple[Kind, Any]:
    """Return the kind and its settings: those that were given, the rest as the kind says."""
    from core.features.experiments.engine import kind_named
    from core.runs import launch

    usual = values_of(CommonSettings())
    given = {name: value for name, value in chosen.items() if value != usual[name]}
    given |= {"run": run} if run else {}
    if _is_file(target):
        text = read_file(Path(target), MAX_BYTES).decode("utf-8", "replace")
        given |= {"text": text, "file": Path(target).name}
    kind = kind_named("file" if _is_file(target) else target)
    own = {option.name for option in options_of(kind.settings)}
    texts = dict(launch.read_key_values(values))
    of_method = {name: text for name, text in texts.items() if name not in own}
    given |= {name: text for name, text in texts.items() if name in own}
    if of_method and "options" in own:
        given["options"] = of_method  # read as those of the method that the kind asks
    elif of_method:
        name, text = next(iter(of_method.items()))
        raise InputError(f"--set {name}={text}: {kind.name} has {', '.join(sorted(own))}")
    if unknown := [name for name in given if name not in own]:
        what = "a run" if unknown[0] == "run" else f"--{unknown[0]}"
        raise InputError(f"experiment {kind.name}: takes no {what}")
    return kind, make(kind.settings, given)


ledger_app = typer.Typer()
MAX_LEDGER_BYTES = 10_000_000  # of a file of hypotheses

Name = Annotated[
    str,
    typer.Argument(
        help="The hypothesis's name.",
    ),
]


@ledger_app.command("list")
def list_hypotheses(context: typer.Context) -> None:
    """List the hypotheses with verdict, p, and p corrected by Holm and by Benjamini and
    Hochberg."""
    from core.features.experiments import ledger

    show_result(ledger.list_ledger(context.obj))


@ledger_app.command()
@takes(DecisionRule, required=("smallest_effect",))
def add(
    context: typer.Context,
    name: Name,
    hypothesis: Annotated[str, typer.Option(help="What is claimed.")],
    prediction: Annotated[str, typer.Option(help="The prediction if it is true.")],
    pair: Annotated[
        str,
        typer.Option(
            "--runs",
            metavar="A,B",
            help=(
                "The baseline run, by name or id, and the run that should beat it, also one to"
                " come."
            ),
        ),
    ],
    chosen: dict[str, Any],
) -> None:
    """Register a hypothesis with the rule that decides it, before its result is seen."""
    from core.features.experiments import ledger

    rule, runs = make(DecisionRule, chosen), split_names(pair)
    if len(runs) != 2:
        raise InputError(f"ledger: got {pair!r}, expected two runs as A,B")
    claim = ledger.claim(name, hypothesis, prediction)
    _show_entry(context.obj, ledger.register(context.obj, claim, rule, (runs[0], runs[1])))


@ledger_app.command()
def result(
    context: typer.Context,
    name: Name,
    dataset: Annotated[
        str,
        typer.Option(help="If several have a hypothesis of the name."),
    ] = "",
) -> None:
    """Record the result of a registered hypothesis, computed from its runs; it is never typed
    in."""
    from core.features.experiments import ledger

    _show_entry(context.obj, ledger.record(context.obj, name, dataset))


@ledger_app.command("import")
def import_(
    context: typer.Context,
    file: Annotated[
        Path | None, typer.Argument(help="A CSV file of hypotheses with their results.")
    ] = None,
    published: Annotated[
        bool,
        typer.Option(
            "--published", help="The published ladder of the challenge, instead of a file."
        ),
    ] = False,
) -> None:
    """Import hypotheses that others published; every entry is marked "published elsewhere"."""
    from core.features.experiments import ledger

    if (file is None) != published:
        raise InputError("ledger import: expected either a file or --published")
    if file is None:
        added = ledger.import_published_ladder(context.obj)
    else:
        added = ledger.import_file(context.obj, read_file(file, MAX_LEDGER_BYTES), file.name)
    lines = _lines_of(context.obj, added)
    text = "\n".join([f"{len(added)} entries imported", *result_lines(lines)])
    show({"imported": len(added), "hypotheses": plain(lines.hypotheses)}, text)


def _lines_of(workspace: Workspace, entries: Sequence[Entry]) -> LedgerResult:
    """Return the lines of the ledger about the hypotheses of these entries."""
    from core.features.experiments import ledger
    from core.features.experiments.ledger_result import LedgerResult

    about = {entry.about for entry in entries}
    lines = ledger.list_ledger(workspace).hypotheses
    return LedgerResult(tuple(line for line in lines if line.entry.about in about))


def _show_entry(workspace: Workspace, entry: Entry) -> None:
    lines = _lines_of(workspace, [entry])
    show(plain(lines.hypotheses[-1]), "\n".join(result_lines(lines)))
