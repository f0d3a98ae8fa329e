"""The command demo."""

from __future__ import annotations

import typer

from core.cli.base import show
from core.store import datasets

app = typer.Typer()


@app.command()
def demo(context: typer.Context) -> None:
    """Create the simulated demo: a dataset with its runs."""
    from core.features.demo import actions

    names = [run.name for run in actions.make_demo(context.obj)]
    show({"dataset": datasets.DEMO, "runs": names}, f"dataset {datasets.DEMO}: {', '.join(names)}")
