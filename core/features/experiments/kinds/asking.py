"""What the kinds have in common that ask the rows of a run again: their settings, and the request for an arm."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field
from functools import partial
from typing import Any

from core.actions.component_loader import default_dataset
from core.actions.workspace import Workspace
from core.engine.request import RunRequest
from core.engine.shared_settings import calls_at_once, one_server
from core.features.experiments.arms import answered_rows, request_again
from core.fields.record import setting
from core.llm.call_settings import CallSettings
from core.store import runs
from core.store.runs import Run

MOST_REPEATS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingSettings:
    """A run that is asked again. endpoint: by default that of the settings. calls: how it is asked, by default as for the run."""

    run: str = setting(
        MISSING,
        "The run that is asked again.",
        kind="run",
        not_on_form="the sidebar chooses it",
        not_on_command="is the argument RUN",
    )
    rows: str | tuple[str, ...] = setting(
        "",
        "How many of the run's rows, drawn at random.",
        kind="text",
        title="Rows",
        command_help='Among the run\'s own, such as "sample=100", "split=train", "ids=FILE"; by default all.',
    )
    repeats: int = setting(
        1, "How often the run is asked again unchanged, each time under other seeds.", title="Repeats", least=1, most=MOST_REPEATS
    )
    endpoint: str | None = one_server()
    concurrency: int = calls_at_once()
    calls: CallSettings = field(default_factory=CallSettings)


@dataclass(frozen=True, slots=True)
class Asking:
    """A run, those of its rows that are asked again, and what makes the request for an arm: called with its options."""

    run: Run
    rows: tuple[str, ...]
    request: Callable[[Mapping[str, Any] | None], RunRequest]


def ask_again(workspace: Workspace, settings: AskingSettings) -> Asking:
    """Return what settings ask. Raise NotFound, InputError for impossible rows, StateError for a run that cannot be asked."""
    with workspace.store.read() as db:
        run = runs.find_predicting(db, settings.run)
    request_again(run, ())  # which refuses a run whose questions are unknown
    rows = answered_rows(workspace, run, settings.rows)
    how = partial(
        request_again,
        endpoint=settings.endpoint,
        concurrency=settings.concurrency,
        calls=settings.calls,
    )
    return Asking(run, rows, partial(how, run, rows))


def missing_run(workspace: Workspace, dataset: str | None) -> list[str]:
    """Return what a dataset lacks for asking a run again, in words."""
    with workspace.store.read() as db:
        here = runs.list_predicting(db, default_dataset(workspace, dataset).id)
    can_be_asked = any(isinstance(run.spec.get("options"), Mapping) and "view" in run.spec for run in here)
    return [] if can_be_asked else ["a run made here by asking a model"]
