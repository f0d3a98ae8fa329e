"""Model servers that a person names, one or several: how they are asked, what each can do, whether
they can be in one run, and how a run is resumed on others.

The address is not a part of a run's identity, but the model is, so a new server has to serve the
same model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Final

from annotated_types import Ge

from core.base.errors import InputError, StateError, Unreachable
from core.base.fields.record import part, values_of
from core.base.fields.setting import setting
from core.base.fields.toml_table import read_toml
from core.base.net.addresses import normalise, read_addresses
from core.base.records import from_json
from core.base.types import LIVE_STATES
from core.llm.call_settings import CallSettings
from core.llm.endpoint import Endpoint, asks_several
from core.runs.request import Price
from core.runs.run_folder import RunFolder
from core.runs.run_state import Status
from core.runs.spec import (
    SERVERS_HELP,
    CallsAtOnce,
    ExecutionSettings,
    Servers,
    TokenBudget,
)
from core.runs.workspace import Workspace
from core.store.runs import Run

if TYPE_CHECKING:
    from core.llm.health import Health

# in data/: how model servers are asked, and what their tokens cost
ENDPOINT_FILE: Final = "endpoints.toml"


@dataclass(frozen=True, slots=True)
class EndpointEntry:
    """A table [[endpoint]]. model: "" for all models there. calls: how it is asked. The prices are
    of a million tokens."""

    address: Annotated[str, setting("Address of the model server, ending in /v1.")]
    model: Annotated[str, setting("The model with these settings; by default all models.")] = ""
    calls: CallSettings = field(default_factory=CallSettings)
    price_prompt: Annotated[
        Annotated[float, Ge(0)] | None,
        setting("Price of a million prompt tokens.", changes_result=False),
    ] = None
    price_completion: Annotated[
        Annotated[float, Ge(0)] | None,
        setting("Price of a million answer tokens.", changes_result=False),
    ] = None

    def __post_init__(self) -> None:
        if (self.price_prompt is None) != (self.price_completion is None):
            raise InputError(
                f"{ENDPOINT_FILE}: {self.address} has one price, expected price_prompt and"
                " price_completion or neither"
            )

    @property
    def price(self) -> Price | None:
        """What its tokens cost, None if the file does not say."""
        if self.price_prompt is None or self.price_completion is None:
            return None
        return Price(self.price_prompt, self.price_completion)


@dataclass(frozen=True, slots=True)
class EndpointFile:
    """The whole file."""

    endpoint: tuple[EndpointEntry, ...] = part(())


def _read_entries(workspace: Workspace) -> tuple[EndpointEntry, ...]:
    path = workspace.settings.data / ENDPOINT_FILE
    return read_toml(path).record(EndpointFile).endpoint if path.is_file() else ()


def _entries_about(
    entries: Sequence[EndpointEntry], servers: str, model: str
) -> list[EndpointEntry]:
    """Return the entries for a server, or the first of several, and a model: those of the model
    first, then those of all."""
    if not entries:
        return []
    address = (read_addresses(servers)[0] if asks_several(servers) else servers).rstrip("/")
    found = [
        each
        for each in entries
        if each.address.rstrip("/") == address and each.model in ("", model)
    ]
    return sorted(found, key=lambda each: not each.model)


def call_settings(
    workspace: Workspace, servers: str, model: str, chosen: CallSettings
) -> CallSettings:
    """Return the call options of a server: as chosen, else as in the file. Raise InputError for one
    that cannot be read."""
    for entry in _entries_about(_read_entries(workspace), servers, model):
        chosen = chosen.over(entry.calls)
    return chosen


def price_at(workspace: Workspace, servers: str | None, model: str) -> Price | None:
    """Return the price of a million tokens of a model at a server, by default that of the settings;
    None if it is unknown."""
    return _price_among(
        workspace, _read_entries(workspace), servers or workspace.settings.endpoint, model
    )


def _price_among(
    workspace: Workspace, entries: Sequence[EndpointEntry], servers: str, model: str
) -> Price | None:
    settings = workspace.settings
    own = next(
        (
            entry.price
            for entry in _entries_about(entries, servers, model)
            if entry.price is not None
        ),
        None,
    )
    if own is not None or settings.price_prompt is None or settings.price_completion is None:
        return own
    return Price(settings.price_prompt, settings.price_completion)


def prices_of_runs(workspace: Workspace, runs: Sequence[Run]) -> dict[str, Price]:
    """Return run id → the price of a million tokens where it asked, as `price_at`; of one that was
    not made here, by its model at the server of the settings. A run without a known price is left
    out.
    """
    entries = _read_entries(workspace)
    if not entries and workspace.settings.price_prompt is None:
        return {}
    prices = {
        run.id: _price_among(
            workspace, entries, _servers_of(workspace, run, entries), run.model or ""
        )
        for run in runs
    }
    return {run: price for run, price in prices.items() if price is not None}


def _servers_of(workspace: Workspace, run: Run, entries: Sequence[EndpointEntry]) -> str:
    """Return the servers that a run asked, which matters only if the file has prices."""
    folder = workspace.run_folder(run.id)
    own = folder.execution_settings().servers if entries and folder.exists else ""
    return own or workspace.settings.endpoint


def refuse_unlisted(workspace: Workspace, settings: ExecutionSettings) -> None:
    """Raise AddressRefused if a run would ask a model server, or join a cluster, that this
    workspace may not.

    Raise InputError if a file of addresses cannot be read.
    """
    access = workspace.settings.server_access
    if access.only_listed:
        access.refuse_cluster(settings.ray_address)
        for address in read_addresses(settings.servers) if settings.servers else ():
            access.refuse_unlisted(address)


def endpoint_of(
    workspace: Workspace, address: str, model: str = "", calls: CallSettings | None = None
) -> Endpoint:
    """Return one model server with its key, asked as is chosen, else as the file of endpoints
    says."""
    asked = call_settings(workspace, address, model, calls or CallSettings())
    return Endpoint(address, workspace.settings.server_access, calls=asked)


async def check_each(
    workspace: Workspace,
    servers: str,
    model: str | None = None,
    calls: CallSettings | None = None,
    *,
    by_schema: bool = False,
) -> dict[str, Health]:
    """Return address → the server's abilities, in order; the problem of a server that differs from
    the first states the difference.

    servers: one address, several joined by commas, or a file of them. model: by default the only
    one that is served. calls: the call options, by default those in the file of endpoints.
    by_schema: as in `check_health`. Raise InputError if there is no usable address.
    """
    workspace.refuse_if_read_only("endpoint", servers)
    if not asks_several(servers):
        from core.llm.health import check_health

        endpoint = endpoint_of(workspace, servers, model or "", calls)
        return {servers: await check_health(endpoint, model, by_schema=by_schema)}
    found, differences = await _compare(workspace, servers, model, calls, by_schema=by_schema)
    return {
        address: (
            replace(health, problem=f"{address}: {differences[address]}")
            if address in differences
            else health
        )
        for address, health in found.items()
    }


async def _compare(
    workspace: Workspace,
    servers: str,
    model: str | None,
    calls: CallSettings | None = None,
    *,
    by_schema: bool = False,
) -> tuple[dict[str, Health], dict[str, str]]:
    """Return address → what each of several servers can do, and of those that differ from the first
    address → in what."""
    from core.llm.health import CHECK_S, check_health, describe_difference, list_models

    addresses = read_addresses(normalise(servers))
    how = call_settings(workspace, servers, model or "", calls or CallSettings())
    endpoints = [
        Endpoint(address, workspace.settings.server_access, calls=how) for address in addresses
    ]
    if model is None:
        listed = await asyncio.gather(*(list_models(endpoint, CHECK_S) for endpoint in endpoints))
        model = next((found.models[0] for found in listed if len(found.models) == 1), None)
    checks = await asyncio.gather(
        *(check_health(each, model, by_schema=by_schema) for each in endpoints)
    )
    found = {endpoint.base_url: health for endpoint, health in zip(endpoints, checks, strict=True)}
    at = _first_fit(found)
    if at is None or model is None:
        return found, {}
    differences = {
        key: describe_difference(health, model, found[at], at)
        for key, health in found.items()
        if health.models
    }
    return found, {address: difference for address, difference in differences.items() if difference}


def _first_fit(found: Mapping[str, Health]) -> str | None:
    """Return the address of the first server that can be used."""
    return next(
        (address for address, health in found.items() if health.models and not health.problem), None
    )


def combine(found: Mapping[str, Health]) -> Health:
    """Return the abilities of servers in one run: those of the first usable one, and the problems
    of all."""
    best = next((health for health in found.values() if health.models and not health.problem), None)
    best = best or next(
        (health for health in found.values() if health.reachable), next(iter(found.values()))
    )
    return replace(
        best, problem="; ".join(health.problem for health in found.values() if health.problem)
    )


def refuse_unfit(
    workspace: Workspace, servers: str, model: str, calls: CallSettings | None = None
) -> None:
    """Raise InputError, by its name, if one of several servers answers and differs from the first,
    and Unreachable if none can be used; others may come later."""
    workspace.refuse_if_read_only("endpoint", servers)
    found, differences = asyncio.run(_compare(workspace, servers, model, calls))
    if _first_fit(found) is None:
        raise Unreachable(
            f"none of {len(found)} model servers can be used: {combine(found).problem}"
        )
    if differences:
        named = "; ".join(f"{address}: {difference}" for address, difference in differences.items())
        raise InputError(f"{named}; expected the same model and limits at each server")


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

    def values(self) -> dict[str, Any]:
        """Return the changed settings, by the names of `change_settings`."""
        values = {
            "servers" if name == "endpoint" else name: value
            for name, value in values_of(self).items()
        }
        return {name: value for name, value in values.items() if value is not None}


def change_settings(settings: ExecutionSettings, **changes: Any) -> ExecutionSettings:
    """Return settings with new values, such as of servers, token_budget and concurrency.

    Omitted values stay. concurrency also limits the rows in flight. Raise InputError as the start
    of a run does.
    """
    if asks_several(changes.get("servers", "")):
        changes["servers"] = normalise(changes["servers"])
    if "concurrency" in changes:
        changes["rows_in_flight"] = changes["concurrency"]
    changed = replace(settings, **changes)
    return from_json(ExecutionSettings, changed.as_json(), "settings of a run")


def check_change(
    workspace: Workspace, folder: RunFolder, status: Status, settings: ExecutionSettings
) -> None:
    """Raise an error if a run cannot be resumed with these settings.

    Raise StateError while a worker runs it, since its settings are fixed; InputError if its method
    uses no model, if the budget is spent already, if a new server does not serve its model, or if
    new ones differ; Unreachable if a new server does not answer, or none of several.
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
    if settings.servers != present.servers and settings.has_several:
        refuse_unfit(workspace, settings.servers, spec.model)
    elif settings.servers != present.servers:
        from core.llm.health import list_models

        endpoint = settings.endpoint(workspace.settings.server_access)
        found = asyncio.run(list_models(endpoint, PATIENCE_S))
        if not found.reachable:
            raise Unreachable(found.problem)
        if found.models and spec.model not in found.models:
            raise InputError(
                f"{endpoint.base_url}: does not serve {spec.model!r}, the run's model, but"
                f" {', '.join(found.models)}"
            )
