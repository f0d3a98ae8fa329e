"""The command that says what state an installation is in: doctor."""

from __future__ import annotations

import typer

from core.base.result import fields_of
from core.cli.base import show
from core.features.server.doctor import Diagnosis, EndpointState, KeyState, examine

app = typer.Typer()


@app.command()
def doctor(context: typer.Context) -> None:
    """Show versions, the workspace, its store and lock, the model server, free disk and the last
    errors, without secrets."""
    found = examine(context.obj.settings)
    show(fields_of(found), "\n".join(_lines(found)))


def _lines(found: Diagnosis) -> list[str]:
    size = "" if found.store_mb is None else f"{found.store_mb:,.1f} MB, "
    return [
        f"version    {found.version}, commit {found.commit or 'unknown'}, Python {found.python}",
        f"packages   {', '.join(f'{name} {version}' for name, version in found.packages.items())}",
        f"workspace  {found.workspace}",
        f"store      {size}{found.store}",
        f"runs       {', '.join(f'{n} {state}' for state, n in found.runs.items()) or 'none'}",
        f"lock       {found.lock or 'free'}",
        *(f"endpoint   {_endpoint_line(endpoint)}" for endpoint in found.endpoints),
        *(f"key        {_key_line(key)}" for key in found.keys),
        f"disk       {found.disk_free_mb:,} MB free",
        f"errors     {'the last ones:' if found.last_errors else 'none in the log'}",
        *(f"  {line}" for line in found.last_errors),
    ]


def _key_line(key: KeyState) -> str:
    short = (
        ", too short to be removed from texts: choose one of 8 characters or more"
        if key.is_short
        else ""
    )
    return f"{key.url}: {key.setting or 'none'}{short}"


def _endpoint_line(endpoint: EndpointState) -> str:
    if not endpoint.reachable:
        return (
            f"{endpoint.url}: not reachable ({endpoint.problem.removeprefix(f'{endpoint.url}: ')})"
        )
    return f"{endpoint.url}: reachable, models: {', '.join(endpoint.models) or 'none'}"
