"""The command that has gene sets summarised: gene-sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from core.base.fields.record import make
from core.cli.base import Replace, show_list
from core.cli.settings import takes
from core.runs.request import ModelRequest

app = typer.Typer()


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
