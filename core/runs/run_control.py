"""Controls runs that workers make: start, pause, cancel, resume, retry; their states; ingest after
a crash."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from core.base.config import Settings
from core.base.environment import describe as describe_version
from core.base.environment import keys_needed
from core.base.errors import StateError
from core.base.texts import check_name
from core.base.types import LIVE_STATES
from core.evidence.sources import source_settings_of
from core.methods.base import DerivedMethod, Method, method_named
from core.methods.fusion_components import ComponentLoader
from core.runs import packs, prompt_files
from core.runs.actions import keep_results
from core.runs.component_loader import WorkspaceComponents, default_dataset
from core.runs.dependencies import INGEST_EVERY_S, Dependencies
from core.runs.ingest import ingest_journal
from core.runs.jobs.folder import Command
from core.runs.jobs.state import exclusive_lock
from core.runs.journal import mark_for_retry, read_progress
from core.runs.model_servers import check_change, refuse_unlisted
from core.runs.run_folder import RunFolder
from core.runs.run_folder import start_worker as start_process
from core.runs.run_state import Counts, Status, refuse_live, state_of, status_of, write_ending
from core.runs.spec import ExecutionSettings, RunSpec
from core.runs.worker import work
from core.runs.workspace import Workspace
from core.store import Cursor, changes, imports, runs, spaces
from core.store.runs import Run

RUN_HERE = "run here"  # the origin of runs that a worker of this workspace makes


def find_same_run(
    db: Cursor, workspace: Workspace, spec: RunSpec, name: str, *, replace: bool = False
) -> Run | None:
    """Return the run of this specification, of any name; None if there is none.

    Raise StateError if there is none and the name is another run's, unless `replace`; in any case
    if that run is a parent of this one or a worker is on it.
    """
    here = runs.list_all(db, spec.dataset)
    same = next((run for run in here if run.id == spec.key), None)
    named = next((run for run in here if run.name == name), None)
    if same is None and named is not None:
        if named.id in spec.parents:
            raise StateError(
                f"run {name!r}: a parent of the run that would replace it; choose another name"
            )
        if not replace:
            raise StateError(
                f"run {name!r} exists with another specification; choose another name, or use"
                " --replace"
            )
        refuse_live(workspace.run_folder(named.id))
    return same


def delete_named_run(db: Cursor, spec: RunSpec, name: str) -> list[str]:
    """Delete the run of this name, if there is one; return its id, for its folder to be removed
    after the transaction."""
    replaced = [run.id for run in runs.list_all(db, spec.dataset) if run.name == name]
    for run in replaced:
        imports.delete_with_run(db, run)
        changes.bump(db, f"run:{run}")
    return replaced


Begin = Callable[[Workspace, str], object]  # starts the work, given a workspace and a run's id
CACHE = "llm.sqlite"  # of replies, in the workspace's cache


def start_worker(workspace: Workspace, run: str) -> int:
    """Start a worker on the run with this id, in a process that outlives this one; return its
    process id."""
    workspace.refuse_if_read_only("worker", run)
    return start_process(workspace.run_folder(run), settings_of_worker(workspace, run))


def settings_of_worker(workspace: Workspace, run: str) -> Settings:
    """Return the settings that a run's worker gets: of the keys, those that its servers and sources
    need."""
    folder = workspace.run_folder(run)
    asks_sources = folder.spec().options.get("sources", "packs") != "packs"
    return keys_needed(
        workspace.settings, folder.execution_settings().servers, sources=asks_sources
    )


def work_on(
    workspace: Workspace,
    run: str,
    *,
    method: Callable[[str], Method] = method_named,
    components: ComponentLoader | None = None,
    ingest_every_s: float = INGEST_EVERY_S,
) -> Status:
    """Work on a run in this process until it ends, as the command `worker RUN` does; return its
    status then.

    method: finds a method by its name. components: by default loaded from the workspace.
    ingest_every_s: the least time between two ingests.
    """
    workspace.refuse_if_read_only("worker", run)
    found = _find(workspace, run)
    dependencies = Dependencies(
        store=workspace.store,
        read_packs=partial(packs.read_packs, workspace),
        cache=workspace.settings.cache / CACHE,
        access=workspace.settings.server_access,
        method=method,
        components=components
        or WorkspaceComponents(workspace, default_dataset(workspace, found.dataset)),
        ingest_every_s=ingest_every_s,
        source_settings=partial(source_settings_of, workspace.settings),
        read_prompts=partial(prompt_files.read_kept, workspace),
    )
    status = work(workspace.run_folder(found.id), dependencies)
    if status.state == "done":
        keep_results(workspace)
    return status


def find_same(
    workspace: Workspace, spec: RunSpec, name: str, *, replace: bool = False
) -> Run | None:
    """Return the run of this specification, of any name.

    Raise StateError as `find_same_run` does, and InputError for a name as `check_name` does.
    """
    check_name("run", name)
    with workspace.store.read() as db:
        return find_same_run(db, workspace, spec, name, replace=replace)


def start(
    workspace: Workspace,
    spec: RunSpec,
    name: str,
    settings: ExecutionSettings,
    *,
    calls: int | None = None,
    replace: bool = False,
    begin: Begin = start_worker,
    origin: str = RUN_HERE,
) -> Run:
    """Start a run; return an existing one of any name with the same specification.

    calls: the expected number of calls of a model. begin: `start_worker`, or `work_on` to work here
    until it ends. origin: as in `RunRecord`. Raise StateError if the name is another run's, unless
    `replace`, and if a worker is on the run that would be replaced, AddressRefused as
    `refuse_unlisted` does.
    """
    workspace.refuse_if_read_only("run", name)
    refuse_unlisted(workspace, settings)
    existing = find_same(workspace, spec, name, replace=replace)
    if existing is not None:
        return existing
    with workspace.change("run", name) as (db, detail):
        # the name may have been taken meanwhile
        find_same_run(db, workspace, spec, name, replace=replace)
        here = {record.sha256 for record in spaces.list_packs(db)}
        gone = [name for name, sha256 in spec.packs.items() if sha256 not in here]
        if gone:
            raise StateError(
                f"knowledge packs: {', '.join(gone)} were deleted or replaced since the run was"
                " requested; request it again"
            )
        replaced = delete_named_run(db, spec, name)
        workspace.run_folder(spec.key).create(spec, settings)
        runs.add(db, _new_run(db, spec, name, calls, origin))
        changes.bump(db, "runs")
        detail |= {"run": spec.key, "rows": len(spec.rows), "method": spec.method}
    for run in replaced:
        workspace.run_folder(run).remove()
    return _start_work(workspace, spec.key, begin)


def _new_run(db: Cursor, spec: RunSpec, name: str, calls: int | None, origin: str) -> Run:
    method = method_named(spec.method) if spec.parents else None
    inherits = isinstance(method, DerivedMethod) and method.inherits_track
    parent = runs.find(db, spec.parents[0]) if inherits else None
    return Run(
        id=spec.key,
        dataset=spec.dataset,
        name=name,
        method=spec.method,
        origin=origin,
        track=parent.track if parent else None,
        model=parent.model if parent else spec.model or None,
        spec={"method": spec.method, **spec.summary()},
        parents=spec.parents,
        status="waiting",
        total=len(spec.rows),
        done=0,
        failed=0,
        fallbacks=0,
        collapsed=0,
        tokens=None,
        tokens_unknown=0,
        code_version=describe_version(),
        expected_calls=calls,
    )


def _start_work(workspace: Workspace, run: str, begin: Begin) -> Run:
    begin(workspace, run)
    return _find(workspace, run)


def pause(workspace: Workspace, run: str) -> Run:
    """Let the worker finish the rows in flight and wait. Raise StateError if no worker is on the
    run."""
    found, folder, status = _find_with_folder(workspace, run)
    if not status.has_worker:
        raise StateError(
            f"pause {found.name}: it is {status.state}, expected a run that is running"
        )
    return _send_command(workspace, found, folder, "pause")


def cancel(workspace: Workspace, run: str) -> Run:
    """End the work on a run and keep its finished rows. Raise StateError if it is done or
    cancelled."""
    found, folder, status = _find_with_folder(workspace, run)
    if status.state in ("done", "cancelled"):
        raise StateError(
            f"cancel {found.name}: it is {status.state} already, expected a run that is not"
        )
    if status.has_worker:
        return _send_command(workspace, found, folder, "cancel")
    with workspace.change("cancel", found.name) as (_, detail), exclusive_lock(folder, "run"):
        progress = read_progress(folder.rows)
        folder.set_command("cancel")
        write_ending(
            folder, "cancelled", Counts.of(folder, progress), found.total, "a person cancelled it"
        )
        detail |= {"run": found.id}
    return settle(workspace, found.id)


def resume(
    workspace: Workspace,
    run: str,
    *,
    settings: ExecutionSettings | None = None,
    begin: Begin = start_worker,
) -> Run:
    """Continue a run that is paused, or that ended with rows missing. settings: replace those it
    was started with, for good.

    Raise StateError if every row is finished or the run is running, and what `check_change` and
    `refuse_unlisted` raise.
    """
    found, folder, status = _find_with_folder(workspace, run)
    if status.state == "done":
        again = (
            f"; {status.counts.failed:,} failed; retry repeats them" if status.counts.failed else ""
        )
        raise StateError(f"resume {found.name}: every row is finished{again}")
    if status.state == "running":
        raise StateError(
            f"resume {found.name}: process {status.pid} is working on it, expected a run that is"
            " not running"
        )
    refuse_unlisted(workspace, settings or folder.execution_settings())
    if settings is not None:
        check_change(workspace, folder, status, settings)
    if status.has_worker:
        return _send_command(workspace, found, folder, "run", action="resume")
    with workspace.change("resume", found.name) as (_, detail):
        _prepare(folder, settings)
        detail |= {"run": found.id, "was": status.state, "done": status.counts.done}
    return _start_work(workspace, found.id, begin)


def retry(
    workspace: Workspace,
    run: str,
    *,
    settings: ExecutionSettings | None = None,
    begin: Begin = start_worker,
) -> Run:
    """Predict every failed row again, and the missing ones. settings: replace those it was started
    with, for good.

    Raise StateError if no row failed or a worker is on the run, and what `check_change` and
    `refuse_unlisted` raise.
    """
    found, folder, status = _find_with_folder(workspace, run)
    if status.state in LIVE_STATES:
        doing = (
            f"process {status.pid} is working on it"
            if status.has_worker
            else "its worker is starting"
        )
        raise StateError(f"retry {found.name}: {doing}, expected a run that is not running")
    refuse_unlisted(workspace, settings or folder.execution_settings())
    if settings is not None:
        check_change(workspace, folder, status, settings)
    with workspace.change("retry", found.name) as (_, detail), exclusive_lock(folder, "run"):
        failed = list(read_progress(folder.rows).failed)
        if not failed:
            raise StateError(f"retry {found.name}: no row failed, expected one at least")
        mark_for_retry(folder, failed)
        folder.done.unlink(missing_ok=True)
        _prepare(folder, settings)
        detail |= {"run": found.id, "rows": len(failed)}
    return _start_work(workspace, found.id, begin)


def _prepare(folder: RunFolder, settings: ExecutionSettings | None) -> None:
    if settings is not None:
        folder.set_execution_settings(settings)
    folder.set_command("run")


def _send_command(
    workspace: Workspace, run: Run, folder: RunFolder, command: Command, action: str = ""
) -> Run:
    with workspace.change(action or command, run.name) as (_, detail):
        folder.set_command(command)
        detail |= {"run": run.id}
    return _find(workspace, run.id)


def states(workspace: Workspace) -> dict[str, Status]:
    """Return run id → status, of every run that a worker of this workspace makes or made."""
    with workspace.store.read() as db:
        known = runs.statuses(db)
    return {
        run: status_of(workspace.run_folder(run))
        for run in known
        if workspace.run_folder(run).exists
    }


def settle(workspace: Workspace, run: str) -> Run:
    """Ingest the rest of the journal and record the run's state; change nothing while a worker runs
    it."""
    found, folder = _find_folder(workspace, run)
    state, cause = state_of(folder)
    if state not in LIVE_STATES:
        workspace.refuse_if_read_only("settle", found.name)
        ingest_journal(workspace.store, folder, state, cause)
    return _find(workspace, found.id)


def settle_run(workspace: Workspace, run: str) -> Run:
    """Ingest new lines of the run's journal; return the run's new state.

    Raise StateError while a worker is on the run.
    """
    found = _find(workspace, run)
    folder = workspace.run_folder(found.id)
    if not folder.exists:
        return found
    refuse_live(folder)
    if status_of(folder).state == found.status:
        return found
    return settle(workspace, found.id)


def settings_of(workspace: Workspace, run: str) -> ExecutionSettings:
    """Return how a run is carried out from the next worker on."""
    _, folder, _ = _find_with_folder(workspace, run)
    return folder.execution_settings()


def find_status(workspace: Workspace, run: str) -> tuple[Run, Status]:
    """Return a run and its status. Raise StateError if no worker of this workspace made it."""
    found, _, status = _find_with_folder(workspace, run)
    return found, status


def _find_with_folder(workspace: Workspace, run: str) -> tuple[Run, RunFolder, Status]:
    """Return a run with its folder and status. Raise StateError if no worker of this workspace made
    it."""
    found, folder = _find_folder(workspace, run)
    return found, folder, status_of(folder)


def _find_folder(workspace: Workspace, run: str) -> tuple[Run, RunFolder]:
    """Return the same without the status, which takes reading the whole journal of a crashed
    run."""
    found = _find(workspace, run)
    folder = workspace.run_folder(found.id)
    if not folder.exists:
        raise StateError(
            f"run {found.name}: {found.origin}, not made by a worker of this workspace"
        )
    return found, folder


def _find(workspace: Workspace, run: str) -> Run:
    with workspace.store.read() as db:
        return runs.find(db, run)
