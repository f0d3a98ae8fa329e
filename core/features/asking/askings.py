"""Asks about a row of a debate again, with cards of its dossier left out or edited, beside asking
with nothing changed.

Both askings are ordinary runs with the debate as their parent: resumed if they were left, found
again if they are done. The run with nothing changed is the same for every change, so a second
change costs half.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

from annotated_types import Ge, Le

from core.base.errors import StateError
from core.base.fields.setting import setting
from core.base.hashes import sha256_of
from core.base.types import ASKED_AGAIN, LIVE_STATES, Evidence
from core.features.asking.changed_cards import (
    CardChange,
    change_cards,
    describe_changes,
    write_changes,
)
from core.features.asking.methods.debate_again import MOST_REPEATS
from core.llm.call_settings import CallSettings
from core.llm.endpoint import CONCURRENCY
from core.methods.base import method_named
from core.runs import launch, run_control
from core.runs.component_loader import WorkspaceComponents, default_dataset
from core.runs.dependencies import load_pairs
from core.runs.jobs import overview
from core.runs.launch import find_done, refuse_changed
from core.runs.model_servers import price_at
from core.runs.request import Expectation, RunRequest, expect, expected_calls
from core.runs.spec import CallsAtOnce, RunSpec, Server
from core.runs.workspace import Workspace
from core.store import evidence, predictions, runs
from core.store.runs import Run

_KEY_DIGITS = 6  # of a run's id, so that names of several changes differ


@dataclass(frozen=True, slots=True)
class AgainRequest:
    """A row asked again, as a person asks for it. run: a name or id. changes: of its dossier;
    without any the same is asked again alone. endpoint: by default that of the settings. calls: how
    it is asked, by default as for the run."""

    run: str
    row: str
    changes: tuple[CardChange, ...] = ()
    judge_only: Annotated[
        bool,
        setting(
            "The judge alone reads the advocates' briefs as they are stored; the whole debate"
            " writes new ones.",
            title="Ask the judge alone",
        ),
    ] = True
    repeats: Annotated[
        int,
        Ge(1),
        Le(MOST_REPEATS),
        setting("Number of repeats with and without the change.", title="How often"),
    ] = 5
    endpoint: Server = None
    concurrency: CallsAtOnce = CONCURRENCY
    calls: CallSettings = field(default_factory=CallSettings)


@dataclass(frozen=True, slots=True)
class AgainPlan:
    """What will be asked. arms: with nothing changed, then with the changes if there are any. left:
    how many are not done yet. cost: of those."""

    arms: tuple[tuple[RunRequest, RunSpec], ...]
    left: int
    cost: Expectation


def plan_again(workspace: Workspace, request: AgainRequest) -> AgainPlan:
    """Return the plan and the cost of asking again, without starting anything or contacting a
    server.

    Raise NotFound for an unknown row, StateError for a run that cannot be repeated, InputError for
    changes that are impossible or change nothing.
    """
    with workspace.store.read() as db:
        run = runs.find_predicting(db, request.run)
        failure = predictions.row(db, run.id, request.row)["error"]
        items = [Evidence(**item) for item in evidence.of_row(db, run.id, request.row)]
    if failure:
        raise StateError(
            f"row {request.row}: failed in run {run.name} ({failure}), expected a row that was"
            " answered"
        )
    loader = WorkspaceComponents(workspace, default_dataset(workspace, run.dataset))
    arms = [_plan_arm(workspace, run, request, (), loader)]
    asked, unchanged = arms[0]
    if run.status != "done":
        [present] = overview.with_present_states(workspace, [run])
        raise StateError(
            f"run {run.name}: is {present.status}, expected a finished run: the labels that a row"
            " may see depend on all rows"
        )
    compared = {
        "the rows or labels of its dataset": (
            run.spec.get("dataset_sha256"),
            unchanged.dataset_sha256,
        ),
        "its prompts": (run.spec.get("prompts_sha256"), unchanged.prompts_sha256),
    }
    refuse_changed(run, [what for what, (before, now) in compared.items() if before != now])
    if request.changes:
        pair = load_pairs(workspace.store, run.dataset)[request.row]
        change_cards(items, request.changes, pair)
        arms.append(_plan_arm(workspace, run, request, request.changes, loader))
    left = [spec for _, spec in arms if find_done(workspace, spec) is None]
    n_calls = sum(
        expected_calls(method_named(ASKED_AGAIN), spec.options, len(spec.rows)) for spec in left
    )
    rate = launch.rate_of(workspace, run.method, unchanged.model)
    price = price_at(workspace, asked.endpoint, unchanged.model)
    return AgainPlan(tuple(arms), len(left), expect(n_calls, asked.concurrency, rate, price))


def _plan_arm(
    workspace: Workspace,
    run: Run,
    request: AgainRequest,
    changes: Sequence[CardChange],
    loader: WorkspaceComponents,
) -> tuple[RunRequest, RunSpec]:
    who = "judge" if request.judge_only else "debate"
    asked = RunRequest(
        method=ASKED_AGAIN,
        dataset=run.dataset,
        options={
            "run": run.id,
            "ask": who,
            "repeats": request.repeats,
            "changes": write_changes(changes),
        },
        rows=(request.row,),
        name=f"{ASKED_AGAIN} {request.row}",
        model=run.model or "",
        calls=request.calls,
        endpoint=request.endpoint,
        concurrency=request.concurrency,
    )
    spec = launch.resolve(workspace, asked, components=loader)
    about = f"{run.name[:60]}: {request.row[:60]} asked again, {describe_changes(changes)}"[:120]
    name = f"{about} (the {who}, {request.repeats} times, {spec.key[:_KEY_DIGITS]})"
    return replace(asked, name=name), spec


def start(workspace: Workspace, plan: AgainPlan) -> None:
    """Start or resume each unfinished run in its own worker, on the model server of the request."""
    for request, spec in plan.arms:
        run = launch.start(workspace, request, spec=spec, detach=True)
        if run.status not in ("done", *LIVE_STATES):
            settings = launch.execution_settings(workspace, request, method_named(spec.method))
            run_control.resume(workspace, run.id, settings=settings)


def pair_askings(every: Sequence[Run], of: str, pair_id: str) -> list[tuple[Run, Run | None]]:
    """Return the runs that ask about a row of the run with the id `of` again, oldest first, as
    (unchanged, changed).

    every: oldest first. Each with nothing changed is returned with None, too.
    """
    asked = [
        run
        for run in every
        if run.method == ASKED_AGAIN
        and run.parents == (of,)
        and run.spec.get("rows_sha256") == sha256_of(pair_id)
    ]
    unchanged = {
        _key_without_changes(run): run for run in asked if not run.spec["options"]["changes"]
    }
    pairs = [(unchanged.get(_key_without_changes(run)), run) for run in asked]
    return [(before, None if before is run else run) for before, run in pairs if before is not None]


def _key_without_changes(run: Run) -> str:
    return json.dumps(
        {**run.spec, "options": {**run.spec["options"], "changes": ""}}, sort_keys=True
    )
