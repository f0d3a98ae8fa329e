"""Command about asking a row again: again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from core.actions import ask_again
from core.actions.ask_again import MOST_TEXT_BYTES, AgainRequest
from core.cli.base import Estimate, Json, say_arm, say_progress, show
from core.cli.names import RunName
from core.cli.settings import takes
from core.engine.request import cost_sentence
from core.errors import InputError
from core.experiments.asked_again import again_json, again_lines, report_again
from core.fields.record import make
from core.file_io import read_file

app = typer.Typer()


@app.command()
@takes(AgainRequest)
def again(
    context: typer.Context,
    run: RunName,
    row: Annotated[str, typer.Argument(metavar="ROW", help="The id of a row of the run.")],
    chosen: dict[str, Any],
    estimate: Estimate = False,
    as_json: Json = False,
) -> None:
    """Ask about a row of a debate again, with another dossier, beside asking the same again. Interrupted, it resumes."""
    request = make(AgainRequest, {**chosen, "text": _texts(chosen["text"])}, run=run, row=row)
    plan = ask_again.plan_again(context.obj, request)
    cost = cost_sentence(plan.cost, plan.left, 1)
    if estimate:
        show({"runs": plan.left, "rows": 1, **asdict(plan.cost)}, as_json, cost)
        return
    say_progress(cost)
    made = ask_again.ask_again(context.obj, plan, progress=say_arm)
    with context.obj.store.read() as db:
        found = report_again(db, plan.pair_id, *made)
    show(again_json(found), as_json, "\n".join(again_lines(found)))


def _texts(files: Mapping[str, str]) -> dict[str, str]:
    """Return card → the text in its file."""
    found = {}
    for card, file in files.items():
        try:
            found[card] = read_file(Path(file), MOST_TEXT_BYTES).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InputError(f"{file}: cannot be read ({error}), expected a text file") from error
    return found
