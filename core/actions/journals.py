"""Runs that a worker makes: begin, pause, cancel, resume, retry; what became of them; folding after a crash."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from core import __version__
from core.actions import record
from core.actions.desk import Desk
from core.actions.folders import folder_of, remove_folder
from core.actions.transfer import Tables
from core.actions.wishes import packs_of
from core.engine.fold import fold
from core.engine.journal import Command, Folder, Progress, ask_again, read_progress
from core.engine.journal import log_tail as tail_of
from core.engine.spec import How, RunSpec
from core.engine.start import start
from core.engine.states import LIVE, Counts, Status, alone, end, status_of
from core.engine.worker import work
from core.engine.world import FOLD_S, World
from core.errors import StateError
from core.evidence.sites import net_of
from core.methods.base import Method
from core.methods.registry import method_named
from core.store import datasets, folding, runs, versions
from core.store.runs import Run

Begin = Callable[[Desk, str, str], object]  # of a desk, a run's id and the key
ORIGIN = "run here"
CACHE = "llm.sqlite"  # of replies, in the workspace's cache


def detached(desk: Desk, run: str, api_key: str = "") -> int:
    """Have the run with this id worked on by a process that outlives this one; its id."""
    return start(folder_of(desk, run), desk.settings, api_key)


def work_on(
    desk: Desk, run: str, api_key: str = "", *, method: Callable[[str], Method] = method_named, fold_s: float = FOLD_S
) -> Status:
    """Work on a run in this process until it ends: what `worker RUN` does.

    method: what finds a method by its name. fold_s: between two folds into the store.
    """
    desk.refuse_if_read_only("worker", run)
    found = _find(desk, run)
    with desk.store.read() as db:
        tables = Tables(desk, datasets.find(db, found.dataset))
    key = api_key or desk.settings.api_key
    net = partial(net_of, desk.settings)
    world = World(desk.store, packs_of(desk), desk.settings.cache / CACHE, key, method, tables, fold_s=fold_s, net=net)
    return work(folder_of(desk, found.id), world)


def launch(
    desk: Desk,
    spec: RunSpec,
    name: str,
    how: How,
    *,
    calls: int | None = None,
    api_key: str = "",
    replace: bool = False,
    begin: Begin = detached,
) -> Run:
    """Begin a run; the existing one, as it is, where that is the same.

    calls: how many are expected. begin: `detached`, or `work_on` to work here until it ends. Raises StateError where the
    name is another's, unless `replace`, and where a worker is on the run that would be replaced.
    """
    made = record.made_here(spec.dataset, name, spec.method, spec.summary(), spec.parents)
    desk.refuse_if_read_only("run", name)
    with desk.store.read() as db:
        there = record.same_or_refused(db, desk, made, replace=replace)
    if there is not None:
        return there
    with desk.change("run", name) as (db, detail):
        replaced = record.make_room(db, desk, made, replace=replace)
        folder_of(desk, made.id).create(spec, how)
        runs.add(db, _as_run(made, spec, calls))
        versions.bump(db, "runs")
        detail |= {"run": made.id, "rows": len(spec.rows), "method": spec.method}
    for run in replaced:
        remove_folder(desk, run)
    return _go(desk, made.id, api_key, begin)


def _as_run(made: record.Origin, spec: RunSpec, calls: int | None) -> Run:
    return Run(
        id=made.id,
        dataset=made.dataset,
        name=made.name,
        method=made.method,
        origin=ORIGIN,
        track=None,
        model=spec.model or None,
        spec=made.spec,
        parents=made.parents,
        status="waiting",
        total=len(spec.rows),
        done=0,
        failed=0,
        fallbacks=0,
        collapsed=0,
        tokens=None,
        tokens_unknown=0,
        code_version=__version__,
        expected_calls=calls,
    )


def _go(desk: Desk, run: str, api_key: str, begin: Begin) -> Run:
    begin(desk, run, api_key)
    return _find(desk, run)


def pause(desk: Desk, run: str) -> Run:
    """Finish the rows in flight, then wait. Raises StateError where no worker is on it."""
    found, folder, status = _made_here(desk, run)
    if status.state not in LIVE:
        raise StateError(f"pause {run}: it is {status.state}, expected a run that is running")
    return _tell(desk, found, folder, "pause")


def cancel(desk: Desk, run: str) -> Run:
    """End the work on a run and keep what is finished. Raises StateError where every row is."""
    found, folder, status = _made_here(desk, run)
    if status.state in ("done", "cancelled"):
        raise StateError(f"cancel {run}: it is {status.state} already, expected a run that is not")
    if status.state in LIVE:
        return _tell(desk, found, folder, "cancel")
    with desk.change("cancel", found.name) as (_, detail), alone(folder):
        progress = read_progress(folder.rows)
        folder.tell("cancel")
        end(folder, "cancelled", Counts.of(progress), found.total, "a person cancelled it")
        detail |= {"run": found.id}
    return settle(desk, found.id)


def resume(desk: Desk, run: str, *, how: How | None = None, api_key: str = "", begin: Begin = detached) -> Run:
    """Go on with a run that is paused, or that ended with rows missing; `how`: from now on carried out so.

    Raises StateError where every row is finished or a worker is at work.
    """
    found, folder, status = _made_here(desk, run)
    if status.state == "done":
        again = f"; {status.counts.failed:,} failed, which retry asks for again" if status.counts.failed else ""
        raise StateError(f"resume {run}: every row is finished{again}")
    if status.state == "running":
        raise StateError(f"resume {run}: process {status.pid} is working on it, expected a run that is not running")
    if status.state in LIVE:
        return _tell(desk, found, folder, "run", action="resume")
    with desk.change("resume", found.name) as (_, detail):
        _ready(folder, how)
        detail |= {"run": found.id, "was": status.state, "done": status.counts.done}
    return _go(desk, found.id, api_key, begin)


def retry(desk: Desk, run: str, *, how: How | None = None, api_key: str = "", begin: Begin = detached) -> Run:
    """Ask again for every row that failed, and for those that are missing. Raises StateError where none failed."""
    found, folder, status = _made_here(desk, run)
    if status.state in LIVE:
        raise StateError(f"retry {run}: process {status.pid} is working on it, expected a run that is not running")
    with desk.change("retry", found.name) as (_, detail), alone(folder):
        failed = list(read_progress(folder.rows).failed)
        if not failed:
            raise StateError(f"retry {run}: no row failed, expected one at least")
        ask_again(folder, failed)
        folder.done.unlink(missing_ok=True)
        _ready(folder, how)
        detail |= {"run": found.id, "rows": len(failed)}
    return _go(desk, found.id, api_key, begin)


def _ready(folder: Folder, how: How | None) -> None:
    if how is not None:
        folder.set_how(how)
    folder.tell("run")


def _tell(desk: Desk, run: Run, folder: Folder, command: Command, action: str = "") -> Run:
    with desk.change(action or command, run.name) as (_, detail):
        folder.tell(command)
        detail |= {"run": run.id}
    return _find(desk, run.id)


def states(desk: Desk) -> dict[str, Status]:
    """Run id → what became of it, of every run that a worker makes or made here."""
    with desk.store.read() as db:
        known = folding.statuses(db)
    return {run: status_of(folder_of(desk, run)) for run in known if folder_of(desk, run).exists}


def settle(desk: Desk, run: str) -> Run:
    """Fold what a worker left behind and record what became of the run; nothing changes while a worker is on it."""
    found, folder, status = _made_here(desk, run)
    if status.state not in LIVE and status.state != "waiting":
        desk.refuse_if_read_only("settle", found.name)
        fold(desk.store, folder, status.state, status.cause)
    return _find(desk, found.id)


def settle_all(desk: Desk) -> list[Run]:
    """`settle` for every run whose line in the store says otherwise than its folder; those runs."""
    with desk.store.read() as db:
        recorded = folding.statuses(db)
    stale = [run for run, status in states(desk).items() if status.state not in LIVE and recorded[run] != status.state]
    return [settle(desk, run) for run in stale]


def progress_of(desk: Desk, run: str) -> Progress:
    """What a run's journal says, read from its beginning."""
    _, folder, _ = _made_here(desk, run)
    return read_progress(folder.rows)


def log_tail(desk: Desk, run: str, lines: int = 50) -> list[str]:
    """The last lines that a run's worker said."""
    _, folder, _ = _made_here(desk, run)
    return tail_of(folder, lines)


def _made_here(desk: Desk, run: str) -> tuple[Run, Folder, Status]:
    found = _find(desk, run)
    folder = folder_of(desk, found.id)
    if not folder.exists:
        raise StateError(f"run {found.name}: {found.origin}, not made by a worker of this workspace")
    return found, folder, status_of(folder)


def _find(desk: Desk, run: str) -> Run:
    with desk.store.read() as db:
        return runs.find(db, run)
