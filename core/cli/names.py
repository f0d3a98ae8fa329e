"""The names in a workspace that several commands take."""

from __future__ import annotations

from typing import Annotated

import typer

RunName = Annotated[str, typer.Argument(metavar="RUN", help="A run's name or id.")]
DatasetName = Annotated[
    str | None, typer.Option("--dataset", help="By default the only one that is not the demo.")
]
JobName = Annotated[
    str,
    typer.Argument(
        metavar="JOB", help="A name or id of `jobs list`, with its kind if several have it."
    ),
]
