"""Resume a run with other settings: on another model server, with more tokens, with more or fewer
calls at once.

The address is not a part of a run's identity, but the model is, so the new server has to serve the
same model.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Annotated, Any

from core.base.errors import InputError, StateError, Unreachable
from core.base.fields.record import values_of
from core.base.fields.setting import setting
from core.base.net.addresses import normalise
from core.base.types import LIVE_STATES
from core.llm.endpoint import asks_several
from core.llm.health import list_models
from core.methods.base import method_named
from core.runs.model_servers import refuse_unfit
from core.runs.ray_cluster import check_ray
from core.runs.run_folder import RunFolder
from core.runs.run_state import Status
from core.runs.spec import (
    SERVERS_HELP,
    Backend,
    CallsAtOnce,
    ClusterAddress,
    ExecutionSettings,
    Servers,
    TokenBudget,
)
from core.runs.workspace import Workspace

PATIENCE_S = 10.0  # with a new server that is asked for its models


@dataclass(frozen=True, slots=True)
class ChangedSettings:
    """Changed settings for resuming a run, each one of `ExecutionSettings`; None keeps a
    setting."""

    endpoint: Annotated[
        Servers,
        setting(
            f"Continue on these servers, also after later resumes. {SERVERS_HELP}",
            missing="the present one",
        ),
    ] = None
    token_budget: Annotated[
        TokenBudget, setting("Tokens that the run may spend in all, also after later resumes.")
    ] = None
    concurrency: Annotated[
        CallsAtOnce | None, setting("Number of calls at once, also after later resumes.")
    ] = None
    backend: Annotated[
        Backend | None, setting("Continue locally or on a Ray cluster, also after later resumes.")
    ] = None
    ray_address: Annotated[
        ClusterAddress | None,
        setting(
            "HOST:PORT of the Ray cluster, or auto for the one on this machine, also after later"
            " resumes."
        ),
    ] = None

    def values(self) -> dict[str, Any]:
        """Return the changed settings, by the names of `change_settings`."""
        values = {
            "servers" if name == "endpoint" else name: value
            for name, value in values_of(self).items()
        }
        return {name: value for name, value in values.items() if value is not None}


def change_settings(settings: ExecutionSettings, **changes: Any) -> ExecutionSettings:
    """Return settings with new values of servers, token_budget, backend, ray_address (with backend
    ray) and concurrency.

    Omitted values stay. concurrency also limits the rows in flight. Raise InputError as the start
    of a run does.
    """
    if asks_several(changes.get("servers", "")):
        changes["servers"] = normalise(changes["servers"])
    if "concurrency" in changes:
        changes["rows_in_flight"] = changes["concurrency"]
    if changes.get("backend") == "local":
        changes.setdefault("ray_address", "")
    return replace(settings, **changes)


def check_change(
    workspace: Workspace, folder: RunFolder, status: Status, settings: ExecutionSettings
) -> None:
    """Raise an error if a run cannot be resumed with these settings.

    Raise StateError while a worker runs it, since its settings are fixed; InputError if its method
    uses no model, if the budget is spent already, if a new server does not serve its model, or if
    new ones differ; Unreachable if a new server does not answer, or none of several; and what
    `check_ray` raises.
    """
    workspace.refuse_if_read_only("change settings", folder.run)
    present = folder.execution_settings()
    if settings == present:
        return
    if status.state in LIVE_STATES:
        raise StateError(
            f"run {folder.run}: its worker cannot change settings; cancel the run, then resume it"
        )
    if settings.servers and not present.servers:
        raise InputError(f"run {folder.run}: its method uses no model, expected no model server")
    budget, spent = settings.token_budget, status.counts.spent
    if budget is not None and budget <= spent and budget != present.token_budget:
        raise InputError(
            f"token budget: got {budget:,}, but {spent:,} tokens are spent already; expected more"
        )
    spec = folder.spec()
    if (settings.backend, settings.ray_address) != (
        present.backend,
        present.ray_address,
    ) and settings.backend == "ray":
        check_ray(settings, method_named(spec.method), spec.options)
    if settings.servers != present.servers and settings.has_several:
        refuse_unfit(workspace, settings.servers, spec.model)
    elif settings.servers != present.servers:
        endpoint = settings.endpoint(workspace.settings.server_access)
        found = asyncio.run(list_models(endpoint, PATIENCE_S))
        if not found.reachable:
            raise Unreachable(found.problem)
        if found.models and spec.model not in found.models:
            raise InputError(
                f"{endpoint.base_url}: does not serve {spec.model!r}, the run's model, but"
                f" {', '.join(found.models)}"
            )
