"""Command: finetune."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.base.errors import StateError
from core.base.fields.record import make
from core.cli.base import say, say_progress, show
from core.cli.settings import listing, takes
from core.features.finetune.job_folder import FinetuneRequest, FinetuneSettings
from core.features.finetune.jobs import KIND
from core.runs.jobs import control
from core.runs.workspace import Workspace

if TYPE_CHECKING:
    from core.features.finetune.job_folder import FinetuneFolder

app = typer.Typer()

_POLL_S = 0.5
_SAY_EVERY_S = 10.0


@app.command(cls=listing(lambda _: FinetuneSettings))
@takes(FinetuneRequest)
def finetune(
    context: typer.Context,
    chosen: dict[str, Any],
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue from the last complete checkpoint.")
    ] = False,
) -> None:
    """Fine-tune an open model on the labelled rows (Track C, LoRA) and merge it into a folder that
    serve serves.

    Training runs in a separate process. Ctrl-C ends it with a checkpoint. --resume continues the
    latest unfinished fine-tune, or the one with these options.
    """
    from core.features.finetune import actions as finetunes
    from core.features.finetune.job_folder import describe_rows

    request = make(FinetuneRequest, chosen)
    if resume:
        named = request != FinetuneRequest(out=request.out)
        key = finetunes.plan(context.obj, request).spec.key if named else None
        folder = finetunes.resume(context.obj, key)
    else:
        folder = finetunes.start(context.obj, request)
    spec = folder.spec()
    say_progress(f"{folder.key}: {spec.name}; {describe_rows(spec)}")
    _watch(context.obj, folder)
    result = finetunes.result_of(folder)
    show(result, f"{result['path']}: {result['steps']:,} steps, loss {result['loss']:.4f}")


def _watch(workspace: Workspace, folder: FinetuneFolder) -> None:
    """Say how far a fine-tune is until its process ends; Ctrl-C stops it."""
    said_at, said = 0.0, ""
    try:
        while (status := folder.status()).is_live:
            text = status.said.get("what", status.state)
            if time.monotonic() - said_at >= _SAY_EVERY_S and text != said:
                say_progress(f"{folder.key}: {text}")
                said_at, said = time.monotonic(), text
            time.sleep(_POLL_S)
    except KeyboardInterrupt:
        with suppress(StateError):  # it has ended by itself
            control.stop(workspace, control.find_named(workspace, f"{KIND.name}/{folder.key}"))
            say(f"{folder.key}: stops after this step with a checkpoint; --resume continues it")
        raise
