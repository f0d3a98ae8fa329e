"""The audit commands: audit debate, audit leakage."""

from __future__ import annotations

import typer

from core.base.errors import InputError
from core.cli.base import DatasetName, RunName, show_result
from core.store import runs

app = typer.Typer(no_args_is_help=True)


@app.command()
def debate(context: typer.Context, run: RunName) -> None:
    """Find out whether a run was a debate: briefs that answer instead of arguing, rows without an
    argument, no verdict."""
    from core.scoring.debate_audit import load_audit

    with context.obj.store.read() as db:
        found = runs.find(db, run)
        result = load_audit(db, found.id)
    if not result.roles:
        raise InputError(
            f"audit debate {run}: method {found.method}, which writes no briefs; expected a debate"
        )
    show_result(result)


@app.command()
def leakage(
    context: typer.Context,
    dataset: DatasetName = None,
) -> None:
    """Find what splits share, texts, spaces and runs that have seen labels, and what the no-biology
    baseline scores."""
    from core.features.leakage.audit import audit
    from core.runs import component_loader

    show_result(audit(context.obj, component_loader.default_dataset(context.obj, dataset)))
