"""Arms that ask the rows of a run again: each as a run, whether it repeats the questions, and its cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from core.actions import launch
from core.actions.component_loader import WorkspaceComponents, default_dataset
from core.actions.run_to_end import find_done
from core.actions.workspace import Workspace
from core.engine.request import Expectation, RunRequest, expect, expected_calls
from core.engine.spec import LabelViewSpec, RunSpec
from core.errors import StateError
from core.methods.base import method_named
from core.store.runs import Run

Progress = Callable[[str, int, int], object]  # is told a run's name, how many are done, and of how many


class AsksServer(Protocol):
    """A request that says which model server is asked, and how many calls it waits for."""

    @property
    def endpoint(self) -> str | None:
        """The address; None: that of the settings."""
        ...

    @property
    def concurrency(self) -> int:
        """How many calls at once."""
        ...


@dataclass(frozen=True, slots=True)
class AskedArm:
    """One arm as a run. is_done: whether that run is there and done."""

    request: RunRequest
    spec: RunSpec
    is_done: bool


class ArmPlanner:
    """Plans the arms of a run, each of the same rows. asked: how they are asked, fields of `RunRequest`."""

    def __init__(self, workspace: Workspace, run: Run, rows: tuple[str, ...], **asked: Any) -> None:
        self._workspace, self._run, self._rows, self._asked = workspace, run, rows, asked
        self._loader = WorkspaceComponents(workspace, default_dataset(workspace, run.dataset))

    def plan(self, name: str, options: Mapping[str, object], seed: int) -> AskedArm:
        """Return the arm of this name: the run with other options, or under another seed. Raise InputError."""
        run = self._run
        request = RunRequest(
            method=run.method,
            dataset=run.dataset,
            options=options,
            rows=self._rows,
            name=name,
            model=run.model or "",
            labels=LabelViewSpec(**run.spec["view"]),
            seed=seed,
            repeat=int(run.spec.get("repeat", 0)),
            **self._asked,
        )
        spec = launch.resolve(self._workspace, request, components=self._loader)
        spec = replace(spec, parents=(run.id,), calls=request.calls.identity)  # as for the run, whatever a file says now
        return AskedArm(request, spec, find_done(self._workspace, spec) is not None)


def refuse_changed(run: Run, again: RunSpec) -> None:
    """Raise StateError where asking again would not ask the same, since the method, the rows or the packs changed."""
    read = {name: sha256 for name, sha256 in run.spec.get("packs", {}).items() if name in again.packs}
    compared = {
        "its method's version": (run.spec.get("version"), again.version),
        "its method's prompts": (run.spec.get("prompts_sha256", ""), again.prompts_sha256),
        "the rows or labels of its dataset": (run.spec.get("dataset_sha256"), again.dataset_sha256),
        "the knowledge packs": (read, dict(again.packs)),
    }
    changed = [what for what, (before, now) in compared.items() if before != now]
    if changed:
        raise StateError(
            f"run {run.name}: {' and '.join(changed)} changed since it was made, so asking again would not repeat it. Expected "
            "a run made with the present versions"
        )


def cost_of(workspace: Workspace, left: Sequence[RunSpec], first: RunSpec, request: AsksServer) -> Expectation:
    """Return the cost of the remaining arms. first: of any arm."""
    calls = sum(expected_calls(method_named(spec.method), spec.options, len(spec.rows)) for spec in left)
    rate = launch.rate_of(workspace, first.method, first.model)
    return expect(calls, request.concurrency, rate, launch.price_of(workspace, request.endpoint, first.model))
