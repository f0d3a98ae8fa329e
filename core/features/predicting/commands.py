"""Commands that make runs and ask model servers: run, worker, endpoint, serve."""

from __future__ import annotations

import asyncio
import shlex
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.base.fields.record import make
from core.base.result import fields_of
from core.base.types import LIVE_STATES
from core.cli.base import Detach, Replace, RunName, say, say_if_named_otherwise, say_progress, show
from core.cli.settings import listing, takes
from core.features.predicting.serve import HOST
from core.llm.health import PORT
from core.methods.base import method_named, methods
from core.runs.request import RunRequest

if TYPE_CHECKING:
    from core.llm.health import Health

app = typer.Typer()

_OF_RUNS = (  # settings that a check of a server, which makes no run, does without
    *(
        "dataset",
        "rows",
        "name",
        "labels",
        "seed",
        "repeat",
        "concurrency",
        "timeout_s",
        "max_answer_mb",
        "token_budget",
    ),
    *("cached", "backend", "ray_address"),
)


@app.command(
    cls=listing(
        lambda words: next((methods()[word].settings for word in words if word in methods()), None)
    )
)
@takes(RunRequest)
def run(
    context: typer.Context,
    method: Annotated[
        str,
        typer.Argument(
            metavar="METHOD",
            help=(
                "Such as debate, prompt_only, evidence_rules; `run METHOD --help` lists its"
                " options."
            ),
        ),
    ],
    chosen: dict[str, Any],
    values: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="An option of the method, such as shots=4 or prompts=FILE.",
        ),
    ] = None,
    detach: Detach = False,
    replace: Replace = False,
) -> None:
    """Predict: start a run and, without --detach, work on it until it ends."""
    from core.features.predicting.job_commands import show_status
    from core.runs import launch, run_control
    from core.runs.resolve import model_settings_without_effect

    known = method_named(method)
    request = make(
        RunRequest, chosen, method=method, options=launch.read_options(known, values or ())
    )
    if unused := model_settings_without_effect(known, request):
        say(
            f"{', '.join(each.option for each in unused)}: no effect on {method}, which calls no"
            " model"
        )
    spec = launch.resolve(context.obj, request)
    expected = launch.estimate(context.obj, spec, request.concurrency, endpoint=request.endpoint)
    say_progress(
        f"{launch.name_of(request)}: {len(spec.rows):,} rows, about {expected.calls:,} calls"
    )
    if not_asked := launch.describe_not_asked(context.obj, request, spec):
        say(not_asked)
    same = run_control.find_same(context.obj, spec, launch.name_of(request), replace=replace)
    started = launch.start(context.obj, request, spec=spec, replace=replace, detach=detach)
    say_if_named_otherwise(started, launch.name_of(request))
    is_left = same is not None and started.status not in (*LIVE_STATES, "done")
    if is_left:
        elsewhere = f" --endpoint {shlex.quote(request.endpoint)}" if request.endpoint else ""
        go_on = f"perturbdesk jobs resume {shlex.quote(started.name)}{elsewhere}"
        say(
            f"{started.name}: {started.status} before, and nothing was asked now; `{go_on}`"
            " continues it"
        )
    _exit_unless(show_status(context.obj, started.id) and not is_left)


@app.command()
def worker(context: typer.Context, run: RunName) -> None:
    """Work on a run until it ends; started by run --detach and by the app, not by people."""
    from core.runs import run_control

    status = run_control.work_on(context.obj, run)
    say(f"{run}: {status.state}{f', {status.cause}' if status.cause else ''}")


@app.command()
@takes(RunRequest, without=_OF_RUNS)
def endpoint(
    context: typer.Context,
    chosen: dict[str, Any],
) -> None:
    """Check whether each model server answers, its abilities, and whether one run can use
    several."""
    from core.runs import model_servers

    request = make(RunRequest, chosen, method="")
    address = request.endpoint or context.obj.settings.endpoint
    found = asyncio.run(
        model_servers.check_each(context.obj, address, request.model, request.calls, by_schema=True)
    )
    health = model_servers.combine(found)
    if len(found) == 1:
        show(fields_of(health), "\n".join(_health_lines(health)))
        _exit_unless(not health.problem)
        return
    each = [{"address": address, **fields_of(one)} for address, one in found.items()]
    lines = [
        line
        for address, one in found.items()
        for line in (address, *(f"  {line}" for line in _health_lines(one)))
    ]
    show(fields_of(health) | {"servers": each}, "\n".join(lines))
    _exit_unless(not health.problem)


def _health_lines(health: Health) -> list[str]:
    from core.llm.health import describe_logprobs

    return [
        f"reachable: {'yes' if health.reachable else 'no'}",
        f"models: {', '.join(health.models) or 'none'}",
        f"log-probabilities: {describe_logprobs(health)}",
        f"answers by schema: {'yes' if health.structured else 'no'}",
        f"longest context: {health.max_model_len or 'unknown'}",
        *([health.problem] if health.problem else []),
    ]


def _exit_unless(went_well: bool) -> None:
    """End the command with the status of a failure, after it has shown what failed."""
    if not went_well:
        raise typer.Exit(1)


@app.command()
def serve(
    context: typer.Context,
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A name that vLLM can fetch, or a folder.")
    ],
    port: Annotated[int, typer.Option(help="The port it listens on.")] = PORT,
    gpus: Annotated[int, typer.Option(help="Number of GPUs to use.")] = 1,
    max_model_len: Annotated[
        int | None, typer.Option(help="The longest context in tokens.")
    ] = None,
    python: Annotated[Path | None, typer.Option(help="The Python interpreter with vLLM.")] = None,
    host: Annotated[
        str,
        typer.Option(
            help=(
                "The name or address of this machine for other machines; needs PERTURBDESK_API_KEY."
            )
        ),
    ] = HOST,
    options: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[-- OPTIONS]",
            help="Options of vLLM, such as --data-parallel-size 4.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Start vLLM with the flags that a run needs, and supervise it until Ctrl-C; what follows -- is
    vLLM's own."""
    from core.features.predicting.serve import ServerOptions
    from core.features.predicting.serve import serve as serve_model

    key = context.obj.settings.api_key
    extra = tuple(options or ())
    stopped_by = serve_model(
        ServerOptions(model, port, python, gpus, max_model_len, extra, host=host, api_key=key)
    )
    raise typer.Exit(130 if stopped_by is signal.SIGINT else 0)
