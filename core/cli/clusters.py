"""The command clusters: kinds of arguments among the texts of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from core.cli.base import Json, RunName, show

if TYPE_CHECKING:
    from core.scoring.argument_kinds import Kind, RunKinds

app = typer.Typer()
MOST_SHOWN = 160  # characters of a typical text


@app.command()
def clusters(
    context: typer.Context,
    run: RunName,
    k: Annotated[int | None, typer.Option(help="How many kinds; by default the most that hold. Only with kmeans.")] = None,
    method: Annotated[str, typer.Option(metavar="kmeans|hdbscan", help="How texts are sorted.")] = "kmeans",
    seed: Annotated[int, typer.Option(help="Of k-means and of the samples.")] = 0,
    texts: Annotated[
        str, typer.Option(metavar="brief|rebuttal|answer|thought|text|verdict", help="By default the first that the run has.")
    ] = "",
    role: Annotated[str, typer.Option(help="Only texts of this role.")] = "",
    embedding: Annotated[str, typer.Option(metavar="tfidf|minilm|endpoint", help="What makes texts comparable.")] = "tfidf",
    endpoint: Annotated[str, typer.Option(help="The /v1 address of a server with embeddings.")] = "",
    model: Annotated[str, typer.Option(help="The model of the endpoint.")] = "",
    as_json: Json = False,
) -> None:
    """Sort the texts of a run into kinds of arguments: words, size, hit rate, typical texts, and whether the kinds hold."""
    from core.actions.text_vectors import make_encoder
    from core.audit.argument_kinds import KindSettings
    from core.scoring import argument_kinds

    settings = KindSettings(method, k, seed)  # type: ignore[arg-type]  # which it checks
    encode = make_encoder(context.obj, embedding, endpoint, model)
    with context.obj.store.read() as db:
        loaded = argument_kinds.load_texts(db, run, texts, role)
    found = argument_kinds.find_kinds(loaded, settings, encode)
    show({**argument_kinds.as_json(found), "embedding": embedding}, as_json, _text(found))


def _text(found: RunKinds) -> str:
    from core.scoring.argument_kinds import describe_kinds, describe_masking, describe_stability

    lines = [describe_kinds(found), describe_masking(), describe_stability(found), ""]
    for kind in found.kinds:
        lines += [_line(kind), *(f"    {each.pair_id} {each.role}: {_opening(each.content)}" for each in kind.typical)]
    return "\n".join(lines)


def _line(kind: Kind) -> str:
    from core.scoring.sentences import interval_text

    hits = "no hit rate" if kind.hit is None else f"hits {interval_text(kind.hit.shown)} of {kind.hit.n:,} rows"
    return f"{kind.n:7,} texts, {kind.rows:,} rows  {hits}  {kind.name}"


def _opening(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= MOST_SHOWN else f"{words[: MOST_SHOWN - 1]}…"
