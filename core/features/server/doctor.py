"""The state of an installation and its workspace; works also with a damaged store."""

from __future__ import annotations

import asyncio
import platform
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version as version_of_package

import typer

from core import __version__
from core.base import log
from core.base.config import REPOSITORY, Settings
from core.base.environment import commit_of
from core.base.errors import DeskError, StoreBusy, StoreError
from core.base.net.addresses import origin_of, read_addresses
from core.base.net.scrubber import SHORTEST
from core.base.result import fields_of
from core.base.system_errors import existing_folder
from core.cli.base import show
from core.llm import health
from core.llm.endpoint import Endpoint
from core.runs.jobs import overview
from core.runs.workspace import Workspace
from core.store import Store, runs

PACKAGES = ("streamlit", "duckdb", "pandas", "numpy", "pyarrow", "scipy", "plotly", "openai")
PATIENCE_S = 2.0  # with the store and with each model server
_MB = 1e6
_TOO_SHORT = ", too short to be removed from texts: choose one of 8 characters or more"


@dataclass(frozen=True, slots=True)
class EndpointState:
    """A model server. models: those that it lists. problem: why it cannot be used, else ""."""

    url: str
    reachable: bool
    models: Sequence[str] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class KeyState:
    """The use of a key. url: an address, or a file of addresses. setting: the one with its key, ""
    for none.

    is_short: the key is too short to be removed from all texts.
    """

    url: str
    setting: str
    is_short: bool = False


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The state of an installation and its workspace.

    commit: "" outside a checkout. store_mb: None if there is no store yet. store: in words, "ok" if
    it can be read. runs: state → how many runs are in it now. lock: the holder of the store's lock,
    None without one. keys: which address gets the key of which setting. last_errors: from the log,
    oldest first.
    """

    version: str
    commit: str
    python: str
    workspace: str
    store_mb: float | None
    store: str
    runs: Mapping[str, int]
    lock: str | None
    endpoints: Sequence[EndpointState]
    keys: Sequence[KeyState]
    disk_free_mb: int
    last_errors: Sequence[str]
    packages: Mapping[str, str]


def examine(settings: Settings) -> Diagnosis:
    """Look at everything that may be wrong with an installation. This takes a few seconds if
    something does not answer."""
    store, lock, states = _store_state(settings)
    return Diagnosis(
        version=__version__,
        commit=commit_of(REPOSITORY),
        python=platform.python_version(),
        workspace=str(settings.workspace),
        store_mb=round(settings.store_file.stat().st_size / _MB, 1)
        if settings.store_file.is_file()
        else None,
        store=store,
        runs=states,
        lock=lock,
        endpoints=asyncio.run(_endpoint_states(settings)),
        keys=tuple(_key_states(settings)),
        disk_free_mb=int(shutil.disk_usage(existing_folder(settings.data)).free / _MB),
        last_errors=log.last_problems(settings),
        packages={name: version_of_package(name) for name in PACKAGES},
    )


def _store_state(settings: Settings) -> tuple[str, str | None, Mapping[str, int]]:
    """Return the store in words, the holder of its lock, and how many runs are in which state."""
    if not settings.store_file.exists():
        return "none yet: the workspace is empty", None, {}
    try:
        with Store(
            settings.store_file, settings.cache / "scratch", PATIENCE_S, settings.store_memory_mb
        ).read() as db:
            recorded = runs.list_all(db)
    except StoreBusy as error:
        return "busy", str(error), {}
    except (StoreError, OSError) as error:
        return f"{type(error).__name__}: {error}", None, {}
    present = overview.with_present_states(Workspace(settings), recorded)
    return "ok", None, dict(Counter(run.status for run in present))


async def _endpoint_states(settings: Settings) -> list[EndpointState]:
    async def ask(address: str) -> EndpointState:
        try:
            async with asyncio.timeout(PATIENCE_S):
                server = Endpoint(address, settings.server_access)
                found = await health.list_models(server, PATIENCE_S)
        except TimeoutError:
            return EndpointState(address, False, problem=f"no answer within {PATIENCE_S:g} s")
        except DeskError as error:
            return EndpointState(address, False, problem=str(error))
        return EndpointState(address, found.reachable, found.models, found.problem)

    try:
        addresses = read_addresses(settings.endpoint)
    except DeskError as error:
        return [EndpointState(settings.endpoint, False, problem=str(error))]
    return list(await asyncio.gather(*map(ask, addresses)))


def _key_states(settings: Settings) -> Iterator[KeyState]:
    """Yield the addresses of the settings, each with the source of its key."""
    own = {origin_of(address) for address, _ in settings.api_keys}
    uses = [(address, "PERTURBDESK_API_KEYS", key) for address, key in settings.api_keys]
    uses += [
        (address, "PERTURBDESK_API_KEY", settings.api_key)
        for address in (settings.endpoint, *settings.endpoints)
        if "://" not in address or origin_of(address) not in own
    ]
    uses.append((settings.pubmed, "PERTURBDESK_NCBI_API_KEY", settings.ncbi_api_key))
    for address, setting, key in uses:
        yield KeyState(address, setting if key else "", 0 < len(key) < SHORTEST)


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
        *(
            f"endpoint   {each.url}: reachable, models: {', '.join(each.models) or 'none'}"
            if each.reachable
            else f"endpoint   {each.url}: not reachable"
            f" ({each.problem.removeprefix(f'{each.url}: ')})"
            for each in found.endpoints
        ),
        *(
            f"key        {key.url}: {key.setting or 'none'}{_TOO_SHORT * key.is_short}"
            for key in found.keys
        ),
        f"disk       {found.disk_free_mb:,} MB free",
        f"errors     {'the last ones:' if found.last_errors else 'none in the log'}",
        *(f"  {line}" for line in found.last_errors),
    ]
