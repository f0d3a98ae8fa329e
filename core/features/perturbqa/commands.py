"""The command `baselines`: what simple methods score on a labelled dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from core.base.fields.record import make
from core.cli.base import Replace, show_list, show_result
from core.cli.settings import takes
from core.runs.request import ModelRequest

app = typer.Typer()


@app.command()
def baselines(
    context: typer.Context,
    dataset: Annotated[
        str,
        typer.Option(metavar="D", help="The dataset's name."),
    ],
    split: Annotated[str, typer.Option(help="The split whose labelled rows are scored.")] = "test",
    attention: Annotated[
        str | None,
        typer.Option(
            metavar="SIZES",
            help=(
                "Also train graph attention networks: 'full' for the published twelve (hours"
                " without a GPU), or sizes such as "
                "1x64,2x128 (layers x width)."
            ),
        ),
    ] = None,
) -> None:
    """Show what simple methods score on a split: mean AUROC over genes first, then over all
    rows."""
    from core.features.perturbqa.baselines.material import read_grid
    from core.features.perturbqa.baselines.split import BaselineRequest, compute_baselines

    grid = None if attention is None else read_grid(attention)
    show_result(compute_baselines(context.obj, BaselineRequest(dataset, split, grid)))


@app.command("gene-sets")
@takes(ModelRequest)
def gene_sets(
    context: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE…", help='JSON lists of {"genes": […], "label": text or null}.'
        ),
    ],
    chosen: dict[str, Any],
    replace: Replace = False,
) -> None:
    """Let a model describe what the genes of each set share. ROUGE-1 recall scores it against a
    person's description, if any."""
    from core.features.perturbqa.gene_sets import summarise_gene_sets

    request = make(ModelRequest, chosen)
    records: list[dict[str, Any]] = []
    for file in files:
        found = summarise_gene_sets(context.obj, file, request, replace=replace)
        table = found.table
        counts = {
            "scored": int(table["rouge1_recall"].notna().sum()),
            "unlabelled": int(table["label"].isna().sum()),
            "failed": int(table["error"].ne("").sum()),
            # over the scored ones, NaN without one
            "rouge1_recall": float(table["rouge1_recall"].mean()),
        }
        records.append(
            {
                "file": file.name,
                "model": found.model,
                **counts,
                "sets": len(table),
                "table": str(found.path),
            }
        )
    show_list("gene_sets", records, [*records[0]], "")
