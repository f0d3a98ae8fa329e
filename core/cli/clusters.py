"""The command clusters: kinds of arguments among the texts of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from core.audit.kind_settings import KindsRequest
from core.cli.base import Json, show
from core.cli.names import RunName
from core.cli.settings import takes
from core.fields.record import make

if TYPE_CHECKING:
    from core.scoring.argument_kinds import Kind, RunKinds

app = typer.Typer()
MOST_SHOWN = 160  # characters of a typical text


@app.command()
@takes(KindsRequest)
def clusters(
    context: typer.Context,
    run: RunName,
    chosen: dict[str, Any],
    as_json: Json = False,
) -> None:
    """Sort the texts of a run into kinds of arguments, with their words, sizes, hit rates, typical texts and stability."""
    from core.actions.text_vectors import make_encoder
    from core.scoring import argument_kinds

    asked = make(KindsRequest, chosen)
    encode = make_encoder(context.obj, asked.embedding, asked.endpoint, asked.model)
    with context.obj.store.read() as db:
        loaded = argument_kinds.load_texts(db, run, asked.texts, asked.role)
    found = argument_kinds.find_kinds(loaded, asked.settings, encode)
    show({**argument_kinds.as_json(found), "embedding": asked.embedding}, as_json, _text(found))


def _text(found: RunKinds) -> str:
    from core.scoring.argument_kinds import describe_kinds, describe_masking, describe_stability

    lines = [describe_kinds(found), describe_masking(), describe_stability(found), ""]
    for kind in found.kinds:
        lines += [_line(kind), *(f"    {each.pair_id} {each.role}: {_shorten(each.content)}" for each in kind.typical)]
    return "\n".join(lines)


def _line(kind: Kind) -> str:
    from core.scoring.sentences import interval_text

    hits = "no hit rate" if kind.hit is None else f"hits {interval_text(kind.hit.shown)} of {kind.hit.n:,} rows"
    return f"{kind.n:7,} texts, {kind.rows:,} rows  {hits}  {kind.name}"


def _shorten(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= MOST_SHOWN else f"{words[: MOST_SHOWN - 1]}…"
