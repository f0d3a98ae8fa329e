"""The command `baselines`: what simple methods score on a labelled dataset."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from core.actions.benchmark_baselines import BaselineRequest, compute_baselines
from core.cli.base import Json, show_scores
from core.experiments.benchmark_baselines.attention_settings import read_grid
from core.experiments.benchmark_baselines.published_scores import PublishedScore, load_published_scores
from core.experiments.benchmark_baselines.split import SplitBaselines
from core.experiments.benchmark_baselines.table import HopScore, Reach
from core.scoring import sentences
from core.scoring.baselines import Baseline, BaselineScore
from core.scoring.control_shapes import baseline, baseline_score
from core.texts import number_text

app = typer.Typer()


@app.command()
def baselines(
    context: typer.Context,
    dataset: Annotated[str, typer.Option(metavar="D", help="The dataset's name.")],
    split: Annotated[str, typer.Option(help="The split whose labelled rows are scored.")] = "test",
    train_on: Annotated[
        str | None, typer.Option(metavar="D2", help="Predict from the training rows of another dataset, matched by symbol.")
    ] = None,
    attention: Annotated[
        str | None,
        typer.Option(
            metavar="SIZES",
            help="Also train graph attention networks: 'full' for the published twelve (hours without a GPU), or sizes such as "
            "1x64,2x128 (layers x width).",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what simple methods score on a split: mean AUROC over genes first, then over all rows."""
    grid = None if attention is None else read_grid(attention)
    found = compute_baselines(context.obj, BaselineRequest(dataset, split, train_on, grid))
    show_scores(found.marks, _shape(found), as_json, "\n".join(_lines(found)))


def _shape(found: SplitBaselines) -> dict[str, Any]:
    return {
        "dataset": found.dataset,
        "split": found.split,
        "training": found.training,
        "rows": found.rows,
        "baselines": [baseline(each) for each in found.all],
        "hops": [_hop_shape(each) for each in ([] if found.table is None else found.table.hops)],
        "coverage": [_reach_shape(each) for each in ([] if found.table is None else found.table.reach)],
        "sources": list(found.sources),
        "published": [_published_shape(each) for each in found.published],
    }


def _hop_shape(found: HopScore) -> dict[str, Any]:
    scores = {"de": baseline_score(found.de), "dir": baseline_score(found.dir)}
    return {"baseline": found.baseline, "hops": found.hops, "rows": found.rows, **scores}


def _reach_shape(found: Reach) -> dict[str, Any]:
    counts = {"perts": found.perts, "genes": found.genes, "rows": found.rows}
    return {"knowledge": found.knowledge, **{name: {"covered": n, "of": of} for name, (n, of) in counts.items()}}


def _published_shape(found: PublishedScore) -> dict[str, Any]:
    return {"method": found.method, "de": found.de, "dir": found.dir, "beside": found.beside or None, "differs": found.differs}


def _lines(found: SplitBaselines) -> Iterator[str]:
    whose = "" if found.training == found.dataset else f", from the training rows of {found.training}"
    yield f"{found.dataset}, split {found.split}, {found.rows:,} labelled rows{whose}"
    for each in found.all:
        yield from _baseline_lines(each)
    if found.table is not None:
        yield from (_reach_line(each) for each in found.table.reach)
        yield from _hop_lines(found.table.hops)
    if found.published:
        yield ""
        yield "Published, macro AUROC by gene:"
        yield from (f"{each.method:32} {_published_text(each)}; {each.differs}" for each in found.published)
        yield load_published_scores().common


def _baseline_lines(each: Baseline) -> Iterator[str]:
    if each.lacks:
        yield f"{each.name:32} not computed: {each.lacks}"
    for name, score in (("DE", each.de), ("DIR", each.dir)):
        if score is not None:
            yield f"{each.name:32} {name:4} {_score_text(score)}" + (f" ({each.note})" if each.note else "")
    if each.on_covered is not None:
        some = each.on_covered
        both = ", ".join(f"{name} {_score_text(s)}" for name, s in (("DE", some.de), ("DIR", some.dir)) if s is not None)
        yield f"{'':32} on the {some.rows:,} of {some.of:,} rows that it covers: {both or 'one class only'}"


def _score_text(score: BaselineScore) -> str:
    by_gene = f"by gene {sentences.interval_text(score.macro.shown)} over {score.genes:,} genes"
    return f"{by_gene if score.genes else 'no gene with both classes'}; pooled {sentences.interval_text(score.micro.shown)}"


def _reach_line(each: Reach) -> str:
    counts = (("perturbations", each.perts), ("genes", each.genes), ("rows", each.rows))
    return f"{each.knowledge} covers " + ", ".join(f"{n:,} of {of:,} {name}" for name, (n, of) in counts)


def _hop_lines(hops: tuple[HopScore, ...]) -> Iterator[str]:
    if hops:
        yield ""
        yield "By distance between perturbation and gene in the network:"
    for each in hops:
        both = ", ".join(f"{name} {_score_text(s)}" for name, s in (("DE", each.de), ("DIR", each.dir)) if s is not None)
        yield f"{each.baseline:32} {each.hops:15} {each.rows:7,} labelled rows  {both or 'one class only'}"


def _published_text(each: PublishedScore) -> str:
    return ", ".join(f"{name} {number_text(v, '.2f')}" for name, v in (("DE", each.de), ("DIR", each.dir)) if v is not None)
