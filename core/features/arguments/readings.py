"""The rubrics of a workspace, and how a model is asked to answer one about the texts of a run, or
to read its debates."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from core.base.errors import InputError, NotFound, StateError, Unreachable
from core.base.feature import find_named
from core.base.fields.setting import setting
from core.base.fields.toml_table import read_toml
from core.features.arguments import rubric_tables
from core.features.arguments.findings import kind_of, kinds, load_findings
from core.features.arguments.methods.judge_rubric import JudgeRubric, reading_options
from core.features.arguments.methods.read_findings import ReadFindings
from core.features.arguments.rubric import Rubric, answer_by_rule, rubrics_of_rules
from core.llm.call_settings import CallSettings
from core.llm.endpoint import CONCURRENCY
from core.methods.prompts import Effort
from core.runs import launch, model_servers, run_control
from core.runs.dependencies import load_pairs, load_texts
from core.runs.jobs import overview
from core.runs.request import Expectation, RunRequest, expect
from core.runs.spec import Cached, CallsAtOnce, Model, RunSpec, Seed, Server, TokenBudget
from core.runs.workspace import Workspace
from core.store import Cursor, changes, evidence, runs
from core.store.runs import Run

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class ReadingSettings:
    """The settings of a reading. endpoint: by default that of the workspace; passage makes another
    run, and is for no reading that quotes anyway."""

    name: Annotated[
        str | None,
        setting(
            "The reading's name; by default made from rubric, run and model.",
            title="Name of the reading",
            name="reading_name",
            option="--name",
            key="name",
            changes_result=False,
        ),
    ] = None
    effort: Annotated[Effort, setting("Reasoning effort.", title="Reasoning effort")] = ""
    seed: Seed = 0
    concurrency: CallsAtOnce = CONCURRENCY
    token_budget: TokenBudget = None
    cached: Cached = True
    endpoint: Server = None
    model: Model = None
    passage: Annotated[
        bool,
        setting(
            "The model also copies the sentence on which its answer rests. If the text contains it"
            " word for word, it is stored and marked there. If a row's judge gave no reason, the"
            " row's header shows it. A reading with this option is a separate run.",
            title="Copy the sentence that decides",
        ),
    ] = False
    calls: CallSettings = field(default_factory=CallSettings)


Judge = Literal["rule", "model"]
RULE = "rule"  # what made the answers of a rule
_METHODS: Mapping[str, JudgeRubric | ReadFindings] = {
    each.name: each for each in (JudgeRubric(), ReadFindings())
}
CHARACTERS_A_TOKEN = 4  # of English text, as a rule


@dataclass(frozen=True, slots=True)
class ReadingPlan:
    """A reading before it is started: its request, and its specification, which has every row with
    a text as its rows."""

    rubric: Rubric
    request: RunRequest
    spec: RunSpec


@dataclass(frozen=True, slots=True)
class ReadingEstimate:
    """The expected cost of a reading, without unreadable answers and retries.

    texts: the number read; calls of `expected` are fewer if some make the same prompt. Tokens of
    answers, seconds and money are unknown before a model's first reading.
    """

    texts: int
    expected: Expectation


def plan_reading(
    workspace: Workspace, rubric: Rubric, run_name: str, settings: ReadingSettings | None = None
) -> ReadingPlan:
    """Return the reading of a finished run by a model; this contacts the server.

    If the rubric has a schema, the model lists findings by it instead of answering by a letter.

    Raise StateError if the run is not finished, InputError for a run without texts or, if the
    rubric asks for them, dossiers, for a reading in the run's place, and for a passage of a rubric
    with a schema; Unreachable if no model answers.
    """
    workspace.refuse_if_read_only("read", run_name)
    settings = settings or ReadingSettings()
    kind = kind_of(rubric)
    if settings.passage and kind is not None:
        raise InputError(
            f"rubric {rubric.name}: got the option passage, expected none, since its reading"
            " already has quotations"
        )
    run = _finished_run(workspace, run_name)
    with workspace.store.read() as db:
        if rubric.dossier and not evidence.has_evidence(db, run.id):
            raise InputError(f"rubric {rubric.name}: needs dossiers, but run {run.name} has none")
    health = asyncio.run(
        launch.health(workspace, settings.endpoint, settings.model, settings.calls)
    )
    if health.problem or not health.models:
        raise Unreachable(health.problem)
    chosen = settings.model or health.models[0]
    answers = "logprobs" if health.logprobs else "letters"
    if kind is not None:
        method = "read_findings"
        options: dict[str, object] = {
            "schema": kind.schema.text,
            "run": run.id,
            "effort": settings.effort,
        }
    else:
        method = "judge_rubric"
        options = reading_options(
            rubric, run.id, answers=answers, passage=settings.passage, effort=settings.effort
        )
    request = RunRequest(
        method,
        run.dataset,
        options,
        name=settings.name
        or f"{rubric.name} of {run.name} by {chosen}{' with passages' * settings.passage}",
        model=chosen,
        seed=settings.seed,
        calls=settings.calls,
        endpoint=settings.endpoint,
        concurrency=settings.concurrency,
        token_budget=settings.token_budget,
        cached=settings.cached,
    )
    return ReadingPlan(rubric, request, launch.resolve(workspace, request, known_health=health))


def start_reading(
    workspace: Workspace,
    rubric: Rubric,
    run_name: str,
    settings: ReadingSettings | None = None,
    *,
    detach: bool = False,
    plan: ReadingPlan | None = None,
) -> Run:
    """Start a reading in its own worker (`detach`) or here until it ends. Return an existing equal
    reading of any name and state.

    plan: as `plan_reading` returned it. Raise what `plan_reading` does, and StateError if the name
    is another run's.
    """
    workspace.refuse_if_read_only("read", run_name)
    plan = plan or plan_reading(workspace, rubric, run_name, settings)
    name = launch.name_of(plan.request)
    method = _METHODS[plan.spec.method]
    existing = run_control.find_same(workspace, plan.spec, name)
    if existing is not None:
        [present] = overview.with_present_states(workspace, [existing])
        return present
    execution = launch.execution_settings(workspace, plan.request, method)
    n_calls = estimate(workspace, plan).expected.calls
    begin = run_control.start_worker if detach else run_control.work_on
    return run_control.start(workspace, plan.spec, name, execution, calls=n_calls, begin=begin)


def estimate(workspace: Workspace, plan: ReadingPlan) -> ReadingEstimate:
    """Return the expected cost of a reading: the prompts are made and their characters counted,
    answers are as long as those of this model's earlier readings."""
    workspace.refuse_if_read_only("estimate", launch.name_of(plan.request))
    method, spec = _METHODS[plan.spec.method], plan.spec
    loaded = load_texts(workspace.store, spec, method)
    pairs = load_pairs(workspace.store, spec.dataset)
    calls = characters = 0
    for row in loaded.of_row:
        prompts = set(method.row_prompts(loaded, pairs[row], spec.options))
        calls += len(prompts)
        characters += sum(len(message.content) for prompt in prompts for message in prompt)
    tokens, texts = characters / CHARACTERS_A_TOKEN, sum(map(len, loaded.of_row.values()))
    earlier = launch.rate_of(workspace, spec.method, spec.model)
    if earlier is None:
        return ReadingEstimate(texts, Expectation(calls, tokens))
    rate = replace(earlier, prompt_tokens=tokens / calls)
    price = model_servers.price_at(workspace, plan.request.endpoint, spec.model)
    return ReadingEstimate(texts, expect(calls, plan.request.concurrency, rate, price))


def list_readings(db: Cursor, rubric: Rubric, run_id: str) -> list[Run]:
    """Return the readings of a run (id) for the present wording of a rubric, newest first, in any
    state."""
    found = [run for run in runs.list_all(db) if run.is_reading and run.parents == (run_id,)]
    return [run for run in reversed(found) if answers_rubric(run, rubric)]


def answers_rubric(reading: Run, rubric: Rubric) -> bool:
    """Return whether a reading answers a rubric in its present wording, and by its present schema
    if it has one."""
    kind, options = kind_of(rubric), reading.spec.get("options", {})
    if kind is not None:
        return bool(options.get("schema") == kind.schema.text)
    return rubric_of(reading).sha256 == rubric.sha256


def rubric_of(reading: Run) -> Rubric:
    """Return the rubric that a reading answers. Raise InputError for another run."""
    return _METHODS[reading.method].rubric({"rubric": "", **reading.spec.get("options", {})})


def answers(
    workspace: Workspace,
    rubric: Rubric,
    run: Run | str,
    judge: Judge | None = None,
    reading: str | None = None,
) -> tuple[pd.DataFrame, str]:
    """Return the answers to a rubric about the texts of a run, and their source: "rule", or the id
    of the reading.

    The columns are those of `rubric_tables.readings`. judge: None is the rule if the rubric has
    one, else the model. reading: the name or id of a reading, by default the newest that is
    finished. Raise InputError for a rubric without a rule if one is asked for and for a reading of
    something else, NotFound if no reading is finished.
    """
    with workspace.store.read() as db:
        found = run if isinstance(run, Run) else runs.find(db, run)
    runs.refuse_reading(found)
    if judge == RULE or (judge is None and reading is None and rubric.is_answered_by_rule):
        return answer_by_rule_of(workspace, rubric, found), RULE
    with workspace.store.read() as db:
        chosen = find_reading(workspace, db, rubric, found, reading)
        if (kind := kind_of(rubric)) is None:
            return rubric_tables.readings(db, chosen.id), chosen.id
        return load_findings(db, kind, chosen.id)[0], chosen.id


def answer_by_rule_of(workspace: Workspace, rubric: Rubric, run: Run) -> pd.DataFrame:
    """Return `answer_by_rule` of all texts of a run, which are read some at a time; raises what
    that does."""
    import pandas as pd

    with workspace.store.read() as db:
        found = [
            answer_by_rule(rubric, texts)
            for texts in rubric_tables.text_batches(db, run.id, rubric)
        ]
    return pd.concat(found, ignore_index=True)


def find_reading(
    workspace: Workspace, db: Cursor, rubric: Rubric, run: Run, reading: str | None = None
) -> Run:
    """Return the finished reading of a name or id whose answers are in the store, by default the
    newest.

    Raise NotFound, with the present state of the others, if there is none; InputError for a reading
    of something else.
    """
    known = list_readings(db, rubric, run.id)
    if reading is not None:
        wanted = runs.find(db, reading)
        if wanted.id not in {each.id for each in known}:
            raise InputError(
                f"run {wanted.name}: no reading of {run.name} for the present wording of the rubric"
                f" {rubric.name}"
            )
        known = [wanted]
    done = next((each for each in known if each.status == "done"), None)
    if done is None:
        present = overview.with_present_states(workspace, known)
        states = ", ".join(f"{each.name} is {each.status}" for each in present) or "there is none"
        how = f"`rubric run {rubric.name} {run.name} --judge model --endpoint URL` makes one"
        what = f"rubric {rubric.name}: no finished reading of run {run.name} by a model"
        raise NotFound(f"{what} ({states}); {how}")
    return done


def _finished_run(workspace: Workspace, name: str) -> Run:
    """Return the run of a name or id. Raise StateError if it is not finished, InputError for a
    reading."""
    with workspace.store.read() as db:
        recorded = runs.find_predicting(db, name)
    [run] = overview.with_present_states(workspace, [recorded])
    if run.status != "done":
        missing = f"{run.total - run.done - run.failed:,} of {run.total:,} rows are missing"
        raise StateError(
            f"run {run.name}: {run.status}, {missing}; expected a finished run, so that the reading"
            " covers all its rows"
        )
    return run


_ACTION = "add rubric"


def built_in_rubrics() -> list[Rubric]:
    """Return the rubrics of all rules, and of what a model lists in single texts, by name."""
    listing = (kind.schema.rubric for kind in kinds().values() if kind.schema.of == "text")
    return sorted([*rubrics_of_rules(), *listing], key=lambda rubric: rubric.name)


def list_rubrics(workspace: Workspace) -> list[Rubric]:
    """Return the built-in rubrics by name, then those that people added, in the order in which they
    did."""
    with workspace.store.read() as db:
        return [*built_in_rubrics(), *rubric_tables.list_own(db)]


def find_rubric(workspace: Workspace, name: str) -> Rubric:
    """Return the rubric of a name. Raise NotFound, with the known names, if there is none."""
    return find_named({rubric.name: rubric for rubric in list_rubrics(workspace)}, "rubric", name)


def add_rubric(workspace: Workspace, rubric: Rubric) -> bool:
    """Keep a rubric; whether it is new. The same one again changes nothing.

    Raise StateError if another one has its name, InputError if it names a rule: a rule has its own
    rubric; ReadOnly.
    """
    workspace.refuse_if_read_only(_ACTION, rubric.name)
    if rubric.rule:
        raise InputError(
            f"rubric {rubric.name}: rule is {rubric.rule!r}, expected none; rules have built-in"
            " rubrics"
        )
    known = {each.name: each for each in list_rubrics(workspace)}
    if known.get(rubric.name) == rubric and not rubric.built_in:
        return False
    if rubric.name in {*kinds(), *known}:
        raise StateError(
            f"rubric {rubric.name!r}: there is another of that name; choose another, since labels"
            " store it"
        )
    with workspace.change(_ACTION, rubric.name) as (db, detail):
        detail |= {"sha256": rubric.sha256, "question": rubric.question}
        changes.bump(db, "rubrics")
        rubric_tables.put(db, rubric, workspace.settings.author)
    return True


def add_rubric_file(workspace: Workspace, path: Path) -> Rubric:
    """Keep the rubric of a TOML file and return it. Raise InputError for a file that holds none,
    and what `add_rubric` raises."""
    workspace.refuse_if_read_only(_ACTION, path.name)
    rubric = read_toml(path).record(Rubric)
    add_rubric(workspace, rubric)
    return rubric
