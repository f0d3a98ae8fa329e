"""Resolves, estimates and starts a run, from a page or a command."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from core.base.errors import InputError, StateError, Unreachable
from core.base.fields.record import options_of
from core.base.fields.setting import is_sha256
from core.base.file_io import read_file
from core.base.log import LOGGER
from core.base.net.addresses import normalise
from core.base.texts import check_name, list_some
from core.base.types import LIVE_STATES, READING_METHODS
from core.llm.call_settings import CallSettings
from core.llm.endpoint import asks_several
from core.llm.health import MOST_NAMED, Health
from core.methods.base import (
    AsksAgain,
    DerivedMethod,
    Method,
    ReadsOtherOrganisms,
    ReadsPacks,
    method_named,
)
from core.methods.fusion_components import ComponentLoader
from core.runs import model_servers, prompt_files, run_control
from core.runs.component_loader import WorkspaceComponents, default_dataset
from core.runs.jobs import overview
from core.runs.model_servers import change_settings
from core.runs.packs import pack_hashes
from core.runs.prompt_files import PromptFile
from core.runs.ray_cluster import check_ray
from core.runs.request import Expectation, Rate, RunRequest, expect, expected_calls
from core.runs.resolve import check_typed
from core.runs.resolve import resolve as resolve_request
from core.runs.spec import ExecutionSettings, RunSpec
from core.runs.workspace import Workspace
from core.store import calls, datasets, runs
from core.store.datasets import Dataset
from core.store.runs import Run

MAX_TEMPLATE_BYTES = 1 << 20
FindMethod = Callable[[str], Method]


def resolve(
    workspace: Workspace,
    request: RunRequest,
    *,
    known_health: Health | None = None,
    components: ComponentLoader | None = None,
    method: FindMethod = method_named,
) -> RunSpec:
    """Return the specification of a request: all that the identity of its run is made from.

    known_health: of the model server; without it, a request that names no model asks the server for
    its models. components: by default loaded from the workspace. Raise InputError for invalid
    options, rows or a name, and for a file of prompts that is not for these rows; Unreachable
    without a model.
    """
    check_name("run", name_of(request))
    found = method(request.method)
    loader = components or WorkspaceComponents(workspace, _dataset_of(workspace, request))
    request, file = _name_prompts_by_hash(request, found)
    check_typed(found, request)
    if found.needs_model and not request.model:
        if known_health is None or not known_health.models:
            known_health = asyncio.run(health(workspace, request.endpoint, calls=request.calls))
        request = replace(request, model=only_model(known_health))
    if found.needs_model:
        # one that asks again asks as its run was asked, whatever a file says now
        calls = _calls_of(workspace, request)
        chosen = (
            calls.with_identity(request.calls.identity) if isinstance(found, AsksAgain) else calls
        )
        request = replace(request, calls=chosen)
    sha256 = str(request.options.get("prompts") or "")
    if is_sha256(sha256) and not request.rows:
        request = replace(
            request, rows=prompt_files.rows_of(workspace, loader.dataset_id, sha256, file)
        )
    # all that is asked of the store meanwhile is read of one state, by one attachment
    with workspace.store.read():
        spec = resolve_request(
            workspace.store, request, found, loader, _packs_for(workspace, found, loader.dataset_id)
        )
    if spec.prompt_file:
        prompt_files.check(workspace, spec, file)
    return spec


def describe_not_asked(workspace: Workspace, request: RunRequest, spec: RunSpec) -> str:
    """Return a sentence on the prompts of a request's file that are for no row of its dataset; ""
    without any."""
    _, file = _name_prompts_by_hash(request, method_named(request.method))
    return prompt_files.describe_unknown(workspace, spec, file)


def _name_prompts_by_hash(
    request: RunRequest, method: Method
) -> tuple[RunRequest, PromptFile | None]:
    """Return a request with the SHA-256 instead of the file of prompts in its options, and that
    file; None without one."""
    for option in options_of(method.settings):
        file = request.options.get(option.name)
        if isinstance(file, PromptFile):
            return replace(request, options={**request.options, option.name: file.sha256}), file
    return request, None


def _packs_for(workspace: Workspace, method: Method, dataset: str) -> dict[str, str]:
    """Return the hashes of the packs that are here for a method on a dataset; none for a method
    that reads none."""
    if not isinstance(method, ReadsPacks):
        return {}
    organism = default_dataset(workspace, dataset).organism
    return pack_hashes(
        workspace,
        organism,
        or_another=isinstance(method, ReadsOtherOrganisms) and method.reads_other_organisms,
    )


def start(
    workspace: Workspace,
    request: RunRequest,
    *,
    spec: RunSpec | None = None,
    replace: bool = False,
    detach: bool = False,
    components: ComponentLoader | None = None,
    method: FindMethod = method_named,
) -> Run:
    """Start the run of a request in its own worker (`detach`) or here until it ends.

    Return an existing run of any name with the same specification. spec: the value of `resolve`.
    Raise StateError if the name is another run's, unless `replace`, and, before anything is
    written, what the prediction of a derived method would raise, what `refuse_unfit` raises for
    several model servers, and what `check_ray` raises.
    """
    workspace.refuse_if_read_only("run", request.name or request.method)
    if request.method in READING_METHODS:
        raise InputError(
            f"method {request.method}: reads a run's texts; start it with `rubric run NAME RUN"
            " --judge model`"
        )
    spec = spec or resolve(workspace, request, components=components, method=method)
    loader = components or WorkspaceComponents(workspace, default_dataset(workspace, spec.dataset))
    found = method(spec.method)
    existing = run_control.find_same(workspace, spec, name_of(request), replace=replace)
    if existing is not None:
        [existing] = overview.with_present_states(workspace, [existing])
    settings = execution_settings(workspace, request, found)
    settings = dataclasses.replace(settings, calls=settings.calls.with_identity(spec.calls))
    _, prompts = _name_prompts_by_hash(request, found)
    if existing is None and settings.backend == "ray":
        check_ray(settings, found, spec.options)
    if existing is None and settings.has_several:
        model_servers.refuse_unfit(workspace, settings.servers, spec.model, calls=settings.calls)
    if prompts is not None:
        prompt_files.keep(workspace, prompts)  # for a run that is there too: its file may have gone
    if existing is not None and (existing.status == "done" or not isinstance(found, DerivedMethod)):
        return existing
    if isinstance(found, DerivedMethod):
        found.check(spec.rows, spec.options, loader)
    begin = (
        run_control.start_worker
        if detach
        else partial(run_control.work_on, method=method, components=loader)
    )
    if existing is not None:
        return run_control.resume(workspace, existing.id, begin=begin)
    expected = expected_calls(found, spec.options, len(spec.rows))
    return run_control.start(
        workspace, spec, name_of(request), settings, calls=expected, replace=replace, begin=begin
    )


def name_of(request: RunRequest) -> str:
    """Return the name of a request's run: the chosen one, else made from method and rows."""
    rows = request.rows if isinstance(request.rows, str) else f"{len(request.rows):,} rows"
    file = request.options.get("prompts")
    what = rows or (file.name if isinstance(file, PromptFile) else request.options.get("spaces"))
    return request.name or f"{request.method} {what or 'all rows'}"


def execution_settings(
    workspace: Workspace, request: RunRequest, method: Method
) -> ExecutionSettings:
    """Return how a request is carried out. Raise AddressRefused for a server or cluster that this
    workspace may not ask."""
    settings = ExecutionSettings(
        servers=_servers_of(workspace, request) if method.needs_model else "",
        concurrency=request.concurrency,
        rows_in_flight=request.concurrency,
        token_budget=request.token_budget,
        timeout_s=request.timeout_s,
        max_answer_mb=request.max_answer_mb,
        cached=request.cached,
        backend=request.backend,
        ray_address=request.ray_address,
        calls=_calls_of(workspace, request) if method.needs_model else CallSettings(),
    )
    model_servers.refuse_unlisted(workspace, settings)
    return settings


def settings_to_resume(
    workspace: Workspace,
    request: RunRequest,
    spec: RunSpec,
    present: ExecutionSettings,
    method: Method,
) -> ExecutionSettings:
    """Return how a run is carried out from now on: as a request for it says, and as it is where
    that is at its default.

    Raise AddressRefused as `execution_settings` does.
    """
    asked, usual = execution_settings(workspace, request, method), RunRequest(request.method)
    given = {
        each.name
        for each in fields(request)
        if getattr(request, each.name) != getattr(usual, each.name)
    }
    changes = {each.name: getattr(asked, each.name) for each in fields(asked) if each.name in given}
    if request.endpoint is not None:
        changes["servers"] = asked.servers
    if given & {"endpoint", "calls"}:
        changes["calls"] = asked.calls.with_identity(spec.calls)
    return change_settings(present, **changes)


def _calls_of(workspace: Workspace, request: RunRequest) -> CallSettings:
    """Return how the servers of a request are asked: as chosen, else as the file of endpoints
    says."""
    return model_servers.call_settings(
        workspace, _servers_of(workspace, request), request.model or "", request.calls
    )


def _servers_of(workspace: Workspace, request: RunRequest) -> str:
    """Return the model server of a request, or its several ones, as settings hold them."""
    text = request.endpoint or workspace.settings.endpoint
    return normalise(text) if asks_several(text) else text


def estimate(
    workspace: Workspace, spec: RunSpec, concurrency: int, endpoint: str | None = None
) -> Expectation:
    """Return the expected cost of a run, from earlier calls of its method and model. endpoint: its
    model server."""
    n_calls = expected_calls(method_named(spec.method), spec.options, len(spec.rows))
    rate = rate_of(workspace, spec.method, spec.model)
    return expect(
        n_calls, concurrency, rate, model_servers.price_at(workspace, endpoint, spec.model)
    )


async def health(
    workspace: Workspace,
    base_url: str | None = None,
    model: str | None = None,
    calls: CallSettings | None = None,
) -> Health:
    """Return the abilities of a model server, or of several together; by default those of the
    settings."""
    address = base_url or workspace.settings.endpoint
    return model_servers.combine(
        await model_servers.check_each(workspace, address, model, calls=calls)
    )


def rate_of(workspace: Workspace, method: str, model: str) -> Rate | None:
    """Return the average cost of a call of this method with this model; None before the first."""
    with workspace.store.read() as db:
        found = calls.averages(db, method, model)
    return None if found is None else Rate(*found)


def read_key_values(texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield (key, value) of "key=value" texts. Raise InputError for one without an equals sign."""
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise InputError(f"--set {text}: expected KEY=VALUE")
        yield key.strip(), value


def read_options(method: Method, texts: Iterable[str]) -> dict[str, object]:
    """Return the options in "key=value" texts.

    A path of prompts is replaced by its file (a SHA-256 stays), and a template without {fields} by
    its file's text. Raises InputError as `read_key_values` does, and for a path that cannot be
    opened.
    """
    values: dict[str, object] = dict(read_key_values(texts))
    for option in options_of(method.settings):
        value = str(values.get(option.name, ""))
        if option.about.names == "prompts" and value and not is_sha256(value):
            values[option.name] = prompt_files.open_file(Path(value))
        if option.name == "template" and value.strip() and "{" not in value:
            try:
                values[option.name] = read_file(Path(value), MAX_TEMPLATE_BYTES).decode("utf-8-sig")
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{value}: cannot be read ({error}), expected a template in UTF-8"
                ) from error
    return values


def _dataset_of(workspace: Workspace, request: RunRequest) -> Dataset:
    """Return the chosen dataset, else that of the base run if the request names one, else the
    default."""
    base = request.options.get("base")
    if request.dataset is None and base:
        with workspace.store.read() as db:
            return datasets.find(db, runs.find_predicting(db, str(base)).dataset)
    return default_dataset(workspace, request.dataset)


def only_model(health: Health) -> str:
    """Return the model of a server that serves one.

    Raise Unreachable without any, InputError with several: none is the first choice of everybody,
    and the first that is listed may make embeddings.
    """
    if not health.models:
        raise Unreachable(health.problem)
    if len(health.models) > 1:
        raise InputError(
            f"model: got none, and {len(health.models):,} are served; expected one of"
            f" {list_some(health.models, MOST_NAMED)}"
        )
    return health.models[0]


_LOOK_EVERY_S = 0.5  # at a run that another process makes
# is told a run's name, how many are done, and of how many
Progress = Callable[[str, int, int], object]


def refuse_changed(run: Run, changed: Sequence[str]) -> None:
    """Raise StateError if anything changed, since asking again would then not ask the same."""
    if changed:
        raise StateError(
            f"run {run.name}: {' and '.join(changed)} changed since it was made, so asking again"
            " would not repeat it. Expected a run made with the present versions"
        )


def find_done(workspace: Workspace, spec: RunSpec) -> Run | None:
    """Return the run of a specification if it is done; None if it is not there or not done. Starts
    nothing."""
    with workspace.store.read() as db:
        found = next((run for run in runs.list_all(db, spec.dataset) if run.id == spec.key), None)
    return found if found is not None and found.status == "done" else None


def run_to_end(
    workspace: Workspace,
    request: RunRequest,
    spec: RunSpec,
    *,
    components: ComponentLoader,
    method: FindMethod = method_named,
    say: Callable[[str], object] = LOGGER.info,
) -> Run:
    """Return the run of a request, worked on here until it is done; resumed if an earlier worker
    left it.

    One that is resumed is asked from now on as the request says, on another server, say: a setting
    at its default stays as it is in the run. While another process works on it, such as that of
    another study with the same arm, this one waits, and tells `say`. Raise StateError if it ends
    otherwise, KeyboardInterrupt if a signal ended its worker, which took it for itself: it is meant
    for the experiment too; and what `check_change` raises.
    """
    there = run_control.find_same(workspace, spec, name_of(request))
    if there is None:
        made = start(workspace, request, spec=spec, components=components, method=method)
    else:
        is_told = False
        while (now := _look_at(workspace, there)).status in LIVE_STATES:
            if not is_told:
                say(f"{there.name}: waits for the process that is making it already")
                is_told = True
            time.sleep(_LOOK_EVERY_S)
        made = _go_on(workspace, request, spec, now, components, method)
    # a full disk may have kept its ending from the store
    [run] = overview.with_present_states(workspace, [made])
    if run.status == "interrupted":
        raise KeyboardInterrupt
    if run.status != "done":
        why = f" ({run.cause})" if run.cause else ""
        rows = f"{run.done:,} of {run.total:,} rows"
        raise StateError(
            f"{run.name}: is {run.status}{why}, {rows}; started again, it goes on from there"
        )
    return run


def _go_on(
    workspace: Workspace,
    request: RunRequest,
    spec: RunSpec,
    there: Run,
    components: ComponentLoader,
    method: FindMethod,
) -> Run:
    if there.status == "done":
        return there
    workspace.refuse_if_read_only("resume", there.name)

    def work_here(workspace: Workspace, run: str) -> None:
        run_control.work_on(workspace, run, method=method, components=components)

    present = workspace.run_folder(there.id).execution_settings()
    settings = settings_to_resume(workspace, request, spec, present, method(spec.method))
    return run_control.resume(workspace, there.id, settings=settings, begin=work_here)


def _look_at(workspace: Workspace, run: Run) -> Run:
    with workspace.store.read() as db:
        [now] = overview.with_present_states(workspace, [runs.find(db, run.id)])
    return now


def server_of(workspace: Workspace, made: Iterable[str], since: float = 0.0) -> dict[str, Any]:
    """Return how the latest of some runs that is there is asked: a request's endpoint, concurrency
    and calls; {} without.

    since: only of runs whose settings were written later, in seconds since 1970.
    """
    folders = [
        folder
        for run in made
        if (folder := workspace.run_folder(run)).exists and folder.settings_written_at >= since
    ]
    settings = folders[-1].execution_settings() if folders else None
    if settings is None:
        return {}
    return {
        "endpoint": settings.servers,
        "concurrency": settings.concurrency,
        "calls": settings.calls,
    }
