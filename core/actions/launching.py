"""Plan and start a run from what a person filled in, on the page or on the command line."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from core.actions import run_control, wishes
from core.actions.transfer import default_dataset
from core.actions.workspace import Workspace
from core.engine.dependencies import pairs_of
from core.engine.plan import Expectation, Price, Rate, expect, expected_calls, parse_row_selection, select_rows
from core.engine.spec import ExecutionSettings, LabelViewSpec, RunSpec, ViewKind
from core.errors import InputError, Unreachable
from core.llm import health as llm_health
from core.llm.endpoint import Endpoint
from core.llm.health import Health
from core.methods.base import Method
from core.methods.registry import method_named
from core.store import calls, runs
from core.store.runs import Run


@dataclass(frozen=True, slots=True)
class Form:
    """What a person asks for; None and "" take the default.

    options: name → value as text. rows: as in `plan.read_rows`; "" takes the test split where there is one. labels: all,
    blinded, folds, or auto, which takes folds where a chosen row has a label, so that no row sees its own, else all.
    """

    method: str
    dataset: str | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    rows: str = ""
    name: str | None = None
    endpoint: str | None = None
    model: str | None = None
    labels: str = "auto"
    seed: int = 0
    repeat: int = 0
    concurrency: int = 16
    timeout_s: float = 600.0
    token_budget: int | None = None
    cached: bool = True


@dataclass(frozen=True, slots=True)
class Planned:
    """A run that can be started: its name, what it is, how it is carried out, and what it is expected to take."""

    name: str
    method: Method
    spec: RunSpec
    how: ExecutionSettings
    expected: Expectation


def plan(workspace: Workspace, form: Form, checked: Health | None = None) -> Planned:
    """What a form asks for, ready to start. InputError for what cannot be, Unreachable where no model answers.

    checked: what the server said already; without it, and without a model's name, the server is asked for its models.
    """
    method = method_named(form.method)
    dataset = default_dataset(workspace, form.dataset)
    model, base_url = "", ""
    if method.needs_model:
        base_url = form.endpoint or workspace.settings.endpoint
        model = form.model or _first_model(workspace, base_url, checked)
    known = pairs_of(workspace.store, dataset.id)
    rows = form.rows or ("split=test" if any(pair.split == "test" for pair in known.values()) else "")
    view = _view(form.labels, any(known[row].label for row in select_rows(list(known.values()), parse_row_selection(rows))))
    parents = _parents(workspace, form.options) if form.method == "fusion" else ()
    wish = wishes.Wish(dataset.id, method, form.options, rows, model, form.seed, form.repeat, view, parents)
    spec = wishes.specify(workspace, wish)
    expected = expect(
        expected_calls(method, spec.options, len(spec.rows)),
        form.concurrency,
        rate_of(workspace, form.method, model),
        price_of(workspace),
    )
    how = ExecutionSettings(
        base_url=base_url,
        concurrency=form.concurrency,
        rows_in_flight=form.concurrency,
        token_budget=form.token_budget,
        timeout_s=form.timeout_s,
        cached=form.cached,
    )
    return Planned(form.name or f"{form.method} {rows or 'all rows'}", method, spec, how, expected)


def start(workspace: Workspace, planned: Planned, *, replace: bool = False, detach: bool = True) -> Run:
    """Start a planned run: by a worker of its own, or here until it ends."""
    begin = run_control.detached if detach else here
    return run_control.launch(
        workspace, planned.spec, planned.name, planned.how, calls=planned.expected.calls, replace=replace, begin=begin
    )


def here(workspace: Workspace, run: str, api_key: str) -> None:
    """Work on a run in this process, until it ends."""
    run_control.work_on(workspace, run, api_key)


async def health(workspace: Workspace, base_url: str | None = None, model: str | None = None) -> Health:
    """What a model server can do; by default the one of the settings."""
    return await llm_health.check(Endpoint(base_url or workspace.settings.endpoint, workspace.settings.api_key), model)


def rate_of(workspace: Workspace, method: str, model: str) -> Rate | None:
    """What a call of this method took with this model so far; None where none was made."""
    with workspace.store.read() as db:
        found = calls.averages(db, method, model)
    return None if found is None else Rate(*found)


def price_of(workspace: Workspace) -> Price | None:
    """What a million tokens cost, as the settings say; None where they do not."""
    settings = workspace.settings
    if settings.price_prompt is None or settings.price_completion is None:
        return None
    return Price(settings.price_prompt, settings.price_completion)


def key_values(texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """ "key=value" texts as pairs. InputError for one without an equals sign."""
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise InputError(f"--set {text}: expected KEY=VALUE")
        yield key.strip(), value


def _first_model(workspace: Workspace, base_url: str, checked: Health | None) -> str:
    if checked is not None and checked.models:
        return checked.models[0]
    found = asyncio.run(llm_health.check(Endpoint(base_url, workspace.settings.api_key)))
    if not found.models:
        raise Unreachable(found.problem)
    return found.models[0]


def _view(labels: str, labelled: bool) -> LabelViewSpec:
    """labelled: whether a chosen row has a label, which it must not see."""
    kinds: dict[str, ViewKind] = {"all": "all", "blinded": "blinded", "folds": "folds", "auto": "folds" if labelled else "all"}
    if labels not in kinds:
        raise InputError(f"labels: got {labels!r}, expected {', '.join(kinds)}")
    return LabelViewSpec(kinds[labels])


def _parents(workspace: Workspace, options: Mapping[str, object]) -> tuple[str, ...]:
    """The ids of the runs that a fusion is made from."""
    names = [name.strip() for key in ("base", "with") for name in str(options.get(key, "")).split(",") if name.strip()]
    with workspace.store.read() as db:
        return tuple(runs.find(db, name).id for name in names)
