"""Asks about a row of a debate again, with cards of its dossier left out or edited, beside asking with nothing changed.

Both askings are ordinary runs with the debate as their parent: resumed if they were left, found again if they are done. The run
with nothing changed is the same for every change, so a second change costs half.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from core.actions import jobs, launch, run_control
from core.actions.component_loader import WorkspaceComponents, default_dataset
from core.actions.made_runs import Progress, find_done, refuse_changed, run_to_end
from core.actions.workspace import Workspace
from core.engine.dependencies import Dependencies, build_context
from core.engine.request import Expectation, RunRequest, expect, expected_calls
from core.engine.shared_settings import calls_at_once, one_server
from core.engine.spec import RunSpec
from core.errors import StateError
from core.evidence.changed_cards import LONGEST, CardChange, choose_changes, describe_changes, write_changes
from core.fields.record import setting
from core.llm.call_settings import CallSettings
from core.methods.base import Context, method_named
from core.methods.debate_again import MOST_REPEATS, first_verdict_messages
from core.methods.debate_texts import SIDES
from core.store import calls, evidence, predictions, runs
from core.store.runs import Run
from core.types import ASKED_AGAIN, LIVE_STATES, Evidence

REPEATS = 5
MOST_TEXT_BYTES = 8 * LONGEST  # of a file with a card's text
_KEY_DIGITS = 6  # of a run's id, so that names of several changes differ
_LONGEST_NAME = 120


@dataclass(frozen=True, slots=True)
class AgainRequest:
    """A row asked again, as a person asks for it. run: a name or id. without, texts: by tool or card name, as in `find_cards`;
    neither asks the same again alone. endpoint: by default that of the settings. calls: how it is asked, by default as
    for the run."""

    run: str
    row: str
    without: tuple[str, ...] = setting(
        (),
        "The cards of the dossier that are left out.",
        title="Cards to switch off",
        repeated=True,
        command_help="Leave out the card of this tool, or of TOOL:KEY.",
    )
    texts: Mapping[str, str] = setting(
        {},
        "The card whose text is replaced.",
        name="text",
        title="Card to edit",
        metavar="TOOL=FILE",
        key="card",
        command_help="Replace a card's text: TOOL=FILE or TOOL:KEY=FILE.",
    )
    judge_only: bool = setting(
        False,
        "The judge alone reads the advocates' briefs as they are stored; the whole debate writes new ones.",
        title="Ask",
        key="ask",
        command_help="Ask only the judge, on the stored briefs.",
    )
    repeats: int = setting(
        REPEATS, "Number of repeats with and without the change.", title="How often", least=1, most=MOST_REPEATS, is_usage=True
    )
    endpoint: str | None = one_server()
    concurrency: int = calls_at_once()
    calls: CallSettings = field(default_factory=CallSettings)


@dataclass(frozen=True, slots=True)
class AskingRun:
    """An asking as a run. is_done: whether that run is there and done."""

    request: RunRequest
    spec: RunSpec
    is_done: bool


@dataclass(frozen=True, slots=True)
class AgainPlan:
    """What will be asked. arms: with nothing changed, and with the changes if there are any. cost: of those that are not done."""

    arms: tuple[AskingRun, ...]
    cost: Expectation
    run: Run
    pair_id: str
    changes: tuple[CardChange, ...]

    @property
    def left(self) -> int:
        """How many are not done yet."""
        return sum(not arm.is_done for arm in self.arms)


def plan_again(workspace: Workspace, request: AgainRequest) -> AgainPlan:
    """Return the plan and the cost of asking again, without starting anything or contacting a server.

    Raise NotFound for an unknown row, StateError for a run that cannot be repeated, InputError for changes that are impossible or
    change nothing.
    """
    with workspace.store.read() as db:
        run = runs.find_predicting(db, request.run)
        failure = predictions.row(db, run.id, request.row)["error"]
        items = [Evidence(**item) for item in evidence.of_row(db, run.id, request.row)]
    if failure:
        raise StateError(f"row {request.row}: failed in run {run.name} ({failure}), expected a row that was answered")
    loader = WorkspaceComponents(workspace, default_dataset(workspace, run.dataset))
    unchanged = _plan_asking(workspace, run, request, (), loader)
    context = _context(workspace, unchanged.spec)
    _refuse_changed(workspace, run, unchanged.spec, context)
    changes = choose_changes(items, context.pairs[0], request.without, request.texts)
    arms = (unchanged, *((_plan_asking(workspace, run, request, changes, loader),) if changes else ()))
    return AgainPlan(arms, _cost_of(workspace, run, arms), run, request.row, changes)


def _cost_of(workspace: Workspace, run: Run, arms: Sequence[AskingRun]) -> Expectation:
    left = [arm.spec for arm in arms if not arm.is_done]
    calls = sum(expected_calls(method_named(spec.method), spec.options, len(spec.rows)) for spec in left)
    asked, model = arms[0].request, arms[0].spec.model
    rate = launch.rate_of(workspace, run.method, model)
    return expect(calls, asked.concurrency, rate, launch.price_of(workspace, asked.endpoint, model))


def _plan_asking(
    workspace: Workspace, run: Run, request: AgainRequest, changes: tuple[CardChange, ...], loader: WorkspaceComponents
) -> AskingRun:
    options = {
        "run": run.id,
        "ask": "judge" if request.judge_only else "debate",
        "repeats": request.repeats,
        "changes": write_changes(changes),
    }
    asked = RunRequest(
        method=ASKED_AGAIN,
        dataset=run.dataset,
        options=options,
        rows=(request.row,),
        name=f"{ASKED_AGAIN} {request.row}",
        model=run.model or "",
        calls=request.calls,
        endpoint=request.endpoint,
        concurrency=request.concurrency,
    )
    spec = launch.resolve(workspace, asked, components=loader)
    name = _name(run, request, describe_changes(changes), spec.key)
    return AskingRun(replace(asked, name=name), spec, find_done(workspace, spec) is not None)


def _name(run: Run, request: AgainRequest, what: str, key: str) -> str:
    who = "the judge" if request.judge_only else "the debate"
    about = f"{run.name[:60]}: {request.row[:60]} asked again, {what}"[:_LONGEST_NAME]
    return f"{about} ({who}, {request.repeats} times, {key[:_KEY_DIGITS]})"


def _context(workspace: Workspace, spec: RunSpec) -> Context:
    """Return the context of the method, without a model server."""
    return build_context(Dependencies(workspace.store), spec, method_named(spec.method), None)


def _refuse_changed(workspace: Workspace, run: Run, again: RunSpec, context: Context) -> None:
    """Raise StateError if asking without changes would not repeat the questions, since the rows, labels or prompts have changed.

    The first judge's prompt is compared with the original one word for word.
    """
    if run.status != "done":
        [present] = jobs.with_present_states(workspace, [run])
        raise StateError(
            f"run {run.name}: is {present.status}, expected a finished run: the labels that a row may see depend on all rows"
        )
    changed = [] if run.spec.get("dataset_sha256") == again.dataset_sha256 else ["the rows or labels of its dataset"]
    pair = context.pairs[0]
    with workspace.store.read() as db:
        made = calls.of_row(db, run.id, pair.pair_id)
    for stage in SIDES:
        sent = [json.loads(call.request)["messages"] for call in made if (call.stage, call.role) == (stage, "JUDGE")]
        now = [message._asdict() for message in first_verdict_messages(pair, context, stage)]
        if sent and now not in sent and not changed:
            changed = ["the judges' input, such as the words of the prompts or of the dossier,"]
    refuse_changed(run, changed)


def ask_again(workspace: Workspace, plan: AgainPlan, progress: Progress | None = None) -> list[str]:
    """Make the missing runs in this process; return the ids of all. After a kill, it can be started again and continues."""
    workspace.refuse_if_read_only("ask again", plan.run.name)
    loader = WorkspaceComponents(workspace, default_dataset(workspace, plan.run.dataset))
    made = []
    for i, arm in enumerate(plan.arms):
        if progress is not None:
            progress(launch.name_of(arm.request), i, len(plan.arms))
        made.append(run_to_end(workspace, arm.request, arm.spec, components=loader).id)
    return made


def start_apart(workspace: Workspace, plan: AgainPlan) -> None:
    """Start or resume each unfinished run in its own worker, on the model server of the request."""
    workspace.refuse_if_read_only("ask again", plan.run.name)
    for each in plan.arms:
        run = launch.start(workspace, each.request, spec=each.spec, detach=True)
        if run.status not in ("done", *LIVE_STATES):
            settings = launch.execution_settings(workspace, each.request, method_named(each.spec.method))
            run_control.resume(workspace, run.id, settings=settings)
