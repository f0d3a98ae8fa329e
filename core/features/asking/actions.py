"""Asks about one pair that a person typed, known to a dataset or not: an ad-hoc run of one row,
which can be watched."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple

from core.base.errors import InputError, NotFound, StateError
from core.base.texts import check_name
from core.base.types import ASKED_HERE, LIVE_STATES, Pair
from core.features.asking.question import SCRIPTED, Question
from core.llm.health import Health
from core.methods.base import DerivedMethod, Method, RowMethod, method_named, methods
from core.runs import launch, prompt_files, run_control
from core.runs.component_loader import default_dataset
from core.runs.dependencies import ReadsTexts
from core.runs.jobs import overview
from core.runs.prompt_files import PromptFile
from core.runs.request import RunRequest, expected_calls
from core.runs.row_watch import Watcher
from core.runs.spec import ExecutionSettings
from core.runs.workspace import Workspace
from core.store import Cursor, evidence, pairs, predictions, runs, traces
from core.store.datasets import Dataset
from core.store.runs import Run

Role = Literal["pert", "gene"]  # of a symbol in its pair
TOKEN_S = 0.02  # between two of its words, as a model's come


class Asked(NamedTuple):
    """The ad-hoc run of a question, and its row. is_new: whether the question was not asked
    before."""

    run: Run
    pair: Pair
    is_new: bool


class Answer(NamedTuple):
    """What came of a question: the run, `predictions.row`, `traces.of_row`, `evidence.of_row`."""

    run: Run
    numbers: Mapping[str, Any]
    events: Sequence[Mapping[str, Any]]
    dossier: Sequence[Mapping[str, Any]]


def methods_that_argue() -> dict[str, Method]:
    """Return the methods that one pair can be asked of, by name: those that ask a model row by row,
    the debate first."""
    found = {
        name: method
        for name, method in methods().items()
        if method.needs_model
        and isinstance(method, RowMethod)
        and not isinstance(method, DerivedMethod | ReadsTexts)
    }
    return {"debate": found.pop("debate"), **dict(sorted(found.items()))}


def ask(
    workspace: Workspace,
    question: Question,
    *,
    known_health: Health | None = None,
    begin: run_control.Begin = run_control.start_worker,
) -> Asked:
    """Ask a question, and begin to watch its row; a question that was asked and answered before is
    not asked again.

    known_health: of the model server. begin: as in `run_control.start`. Raise InputError for
    symbols that cannot be, a method that does not argue, options that do not exist, and no choice
    among several models; Unreachable without a model server. Such a question leaves nothing behind.
    """
    workspace.refuse_if_read_only("ask", f"{question.pert} {question.gene}")
    workspace = _with_simulated_server(workspace) if question.endpoint == SCRIPTED else workspace
    if question.method not in methods_that_argue():
        method_named(question.method)
        raise InputError(
            f"method {question.method}: cannot be asked, expected one of"
            f" {', '.join(methods_that_argue())}"
        )
    dataset = default_dataset(workspace, question.dataset)
    with workspace.store.read() as db:
        pert = _spelling(db, dataset, "pert", question.pert)
        gene = _spelling(db, dataset, "gene", question.gene)
    if not question.model:
        health = known_health or asyncio.run(
            launch.health(workspace, _endpoint_of(question), calls=question.calls)
        )
        question = replace(question, model=launch.only_model(health))
    with _row_of(workspace, dataset, pert, gene) as pair:
        request = _request(workspace, question, dataset, pair)
        spec = launch.resolve(workspace, request)
    before = run_control.find_same(workspace, spec, launch.name_of(request))
    while question.again and before is not None:
        request = _request(workspace, question, dataset, pair, request.repeat + 1)
        spec = launch.resolve(workspace, request)
        before = run_control.find_same(workspace, spec, launch.name_of(request))

    begin = partial(_begin_watched, begin)
    method = method_named(question.method)
    settings = launch.execution_settings(workspace, request, method)
    for file in question.options.values():
        if isinstance(file, PromptFile):
            # for a run that is there too: its file may have gone
            prompt_files.keep(workspace, file)
    if before is not None:
        return Asked(_go_on(workspace, before, begin, settings), pair, is_new=False)
    calls = expected_calls(method, spec.options, 1)
    run = run_control.start(
        workspace,
        spec,
        launch.name_of(request),
        settings,
        calls=calls,
        begin=begin,
        origin=ASKED_HERE,
    )
    return Asked(run, pair, is_new=True)


def _endpoint_of(question: Question) -> str | None:
    return scripted_endpoint() if question.endpoint == SCRIPTED else question.endpoint


def _with_simulated_server(workspace: Workspace) -> Workspace:
    """Return a workspace that may ask the simulated server too, which gets no key."""
    own, given = scripted_endpoint(), workspace.settings
    settings = replace(
        given, endpoints=(*given.endpoints, own), api_keys=(*given.api_keys, (own, ""))
    )
    return replace(workspace, settings=settings)


def _request(
    workspace: Workspace, question: Question, dataset: Dataset, pair: Pair, repeat: int = 0
) -> RunRequest:
    """Return the run of a question, under a name that the dataset has not yet."""
    with workspace.store.read() as db:
        names = {run.name for run in runs.list_all(db, dataset.id)}
    stem = f"asked {pair.pert[:80]} → {pair.gene[:80]}, {question.method.replace('_', ' ')}"
    numbered = itertools.chain([stem], (f"{stem} {n}" for n in itertools.count(2)))
    return RunRequest(
        method=question.method,
        dataset=dataset.name,
        options=question.options,
        rows=(pair.pair_id,),
        name=next(name for name in numbered if name not in names),
        model=question.model,
        seed=question.seed,
        repeat=repeat,
        calls=question.calls,
        endpoint=_endpoint_of(question),
    )


def _begin_watched(begin: run_control.Begin, workspace: Workspace, run: str) -> object:
    """Begins the work on a run whose row is watched from its first word on."""
    watch(workspace, run)
    return begin(workspace, run)


def resume(
    workspace: Workspace, run: str, *, begin: run_control.Begin = run_control.start_worker
) -> Run:
    """Go on with an ad-hoc run that was stopped, or whose row failed; of the simulated server,
    where that is now."""
    with workspace.store.read() as db:
        found = runs.find(db, run)
    settings = run_control.settings_of(workspace, found.id)
    if found.model == SCRIPTED:
        workspace = _with_simulated_server(workspace)
        settings = replace(settings, servers=scripted_endpoint())
    return _go_on(workspace, found, partial(_begin_watched, begin), settings)


def _go_on(
    workspace: Workspace, run: Run, begin: run_control.Begin, settings: ExecutionSettings
) -> Run:
    """Return a run that was asked before; resume it if it was stopped or failed."""
    _, status = run_control.find_status(workspace, run.id)
    if status.done_with_failures:
        return run_control.retry(workspace, run.id, settings=settings, begin=begin)
    if status.state in (*LIVE_STATES, "done"):
        return run
    return run_control.resume(workspace, run.id, settings=settings, begin=begin)


@contextlib.contextmanager
def _row_of(workspace: Workspace, dataset: Dataset, pert: str, gene: str) -> Iterator[Pair]:
    """Open the row of a pair: the dataset's own, one that was asked before, or a new one, which is
    added when the block ends.

    If the block raises, a new row is not added. The block may read the store, but not write to it,
    and all other users wait for it.
    """
    with workspace.store.read() as db:
        known = pairs.find(db, dataset.id, pert, gene)
    if known is not None:
        yield known
        return
    with workspace.change("ask", f"{pert} {gene}") as (db, detail):
        pair = pairs.find(db, dataset.id, pert, gene) or pairs.add_asked(db, dataset.id, pert, gene)
        detail |= {"dataset": dataset.name, "row": pair.pair_id}
        yield pair


def _spelling(db: Cursor, dataset: Dataset, role: Role, symbol: str) -> str:
    """Return a symbol in the dataset's spelling, ignoring case, in either role; unchanged if the
    dataset lacks it. Raise InputError for one that cannot be."""
    typed = symbol.strip()
    check_name("perturbation" if role == "pert" else "target gene", typed)
    other: Role = "gene" if role == "pert" else "pert"
    for each in (role, other):
        if found := pairs.spellings(db, dataset.id, each, typed):
            return typed if typed in found else found[0]
    return typed


def answer_of(workspace: Workspace, run: str, pair_id: str) -> Answer:
    """Return the result of a row. Raise StateError if it has no prediction: its run was ended, or
    it failed."""
    with workspace.store.read() as db:
        found = runs.find(db, run)
        numbers = predictions.row(db, found.id, pair_id) if found.done or found.failed else None
        events, dossier = (
            traces.of_row(db, found.id, pair_id),
            evidence.of_row(db, found.id, pair_id),
        )
    if numbers is None or numbers["error"]:
        why = (
            numbers["error"]
            if numbers
            else f"it is {found.status}{f': {found.cause}' if found.cause else ''}"
        )
        raise StateError(f"run {found.name}: {why}")
    return Answer(found, numbers, events, dossier)


def watch(workspace: Workspace, run: str) -> Watcher:
    """Return a reader of the events of the row that is predicted now, and request them from the
    run's worker.

    Only a marker is written, into the run's folder.
    """
    workspace.refuse_if_read_only("watch", run)
    watcher = Watcher(workspace.run_folder(run))
    watcher.renew()
    return watcher


@lru_cache(maxsize=1)
def scripted_endpoint() -> str:
    """Return the address of the simulated server, which runs in this process, on this machine only,
    until the process ends."""
    from core.llm.scripted_server import Script, serving  # no command but this one brings it

    return _SERVERS.enter_context(serving(Script(delay_s=0.2, token_s=TOKEN_S)))


_SERVERS = contextlib.ExitStack()


def pair_of(workspace: Workspace, run: Run) -> Pair:
    """Return the row of an ad-hoc run. Raise NotFound if its folder or its row was deleted."""
    [pair_id] = workspace.run_folder(run.id).spec().rows
    with workspace.store.read() as db:
        pair = pairs.by_id(db, run.dataset, pair_id)
    if pair is None:
        raise NotFound(f"row {pair_id!r}: not in the dataset of run {run.name}")
    return pair


def question_again(workspace: Workspace, run: Run) -> Question:
    """Return the question of an ad-hoc run, to be asked again: of the same method, options and
    model, where that answered."""
    spec, pair = workspace.run_folder(run.id).spec(), pair_of(workspace, run)
    servers = (
        SCRIPTED if run.model == SCRIPTED else run_control.settings_of(workspace, run.id).servers
    )
    options = {name: value for name, value in spec.options.items() if name != "prompts"}
    return Question(
        pair.pert,
        pair.gene,
        run.method,
        run.dataset,
        servers,
        run.model,
        spec.seed,
        options,
        again=True,
    )


def list_ad_hoc_runs(workspace: Workspace, dataset: str) -> list[Run]:
    """Return the ad-hoc runs of a dataset (id) in their present states, the latest first."""
    with workspace.store.read() as db:
        asked = [run for run in reversed(runs.list_all(db, dataset)) if run.is_asked]
    return overview.with_present_states(workspace, asked)
