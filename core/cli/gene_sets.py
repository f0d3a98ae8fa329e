"""The command that has gene sets summarised: gene-sets."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from core.cli.base import Json, show
from core.cli.settings import takes
from core.engine.request import ModelRequest
from core.fields.record import make

app = typer.Typer()


@app.command("gene-sets")
@takes(ModelRequest, no_form="gene sets are files of a benchmark of PerturbQA, which no page reads")
def gene_sets(
    context: typer.Context,
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help='JSON lists of {"genes": […], "label": text or null}.')],
    chosen: dict[str, Any],
    replace: Annotated[bool, typer.Option("--replace", help="Replace existing tables.")] = False,
    as_json: Json = False,
) -> None:
    """Let a model describe what the genes of each set share. ROUGE-1 recall scores it against a person's description, if any."""
    from core.actions.gene_sets import summarise_gene_sets

    request = make(ModelRequest, chosen)
    records, lines = [], []
    for file in files:
        found = summarise_gene_sets(context.obj, file, request, replace=replace)
        record = {
            "file": file.name,
            "model": found.model,
            "sets": len(found.table),
            "scored": found.scored,
            "unlabelled": found.unlabelled,
            "failed": found.failed,
            "rouge1_recall": found.rouge1_recall,
            "table": str(found.path),
        }
        records.append(record)
        mean = "–" if math.isnan(found.rouge1_recall) else f"{found.rouge1_recall:.3f}"
        lines.append(
            f"{file.name}: ROUGE-1 recall {mean} over {found.scored} of {len(found.table)} sets "
            f"({found.unlabelled} without a description, {found.failed} failed); {found.path}"
        )
    show({"gene_sets": records}, as_json, "\n".join(lines))
