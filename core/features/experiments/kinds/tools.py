"""A run asked again without each of its tools: which evidence moves its answers more than asking
again does. No label is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le

from core.base.errors import InputError, StateError
from core.base.experiment import Arm, Experiment, Kind
from core.base.fields.setting import setting, split_names
from core.features.experiments.kinds.asking import AskingSettings, ask_again, missing_run
from core.runs.workspace import Workspace
from core.store import evidence
from core.store.runs import Run

TOOLS_QUESTION = "Which evidence moves the answers?"
METHOD = (
    "|Δ| is the mean of |ΔP(DE)| and |ΔP(up | DE)| from the run's own answers. p is one-sided, by a"
    " sign-flip test of whole perturbations."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsSettings(AskingSettings):
    """A run, and the tools to leave out, one at a time."""

    tools: Annotated[
        tuple[str, ...],
        setting(
            "Tools to leave out, one at a time; by default all that answered about the rows.",
            title="Tools to leave out",
        ),
    ] = ()
    repeats: Annotated[
        int,
        Ge(1),
        Le(20),
        setting(
            "Number of repeats of every arm, each under its own seeds.",
            title="Repeats of every arm",
        ),
    ] = 3


def build_tools(workspace: Workspace, settings: ToolsSettings) -> Experiment:
    """Return the experiment. Raise StateError for a run without tools, InputError for impossible
    rows or tools."""
    asking = ask_again(workspace, settings)
    run = asking.run
    given = tools_given(run)
    with workspace.store.read() as db:
        called = evidence.tools(db, run.id, asking.rows)
    arms = [
        Arm(
            f"without {tool}",
            f"without {tool}",
            asking.changed(tools=",".join(name for name in given if name != tool)),
        )
        for tool in choose_tools(run, given, called, settings.tools)
    ]
    return Experiment(
        f"evidence of {run.name}",
        TOOLS_QUESTION,
        run.dataset,
        Arm("every tool", request=asking.request),
        tuple(arms),
        asking.rows,
        seeds=tuple(range(1, settings.repeats + 1)),
        noise_seeds=(0,),  # the run's own answers, from which those of both are measured
        measure="answers",
        remarks=(METHOD,),
        again=run.id,
    )


def tools_given(run: Run) -> tuple[str, ...]:
    """Return the tools of a run, in its order. Raise StateError if its method has none."""
    options = run.spec["options"]
    if "tools" not in options:
        raise StateError(
            f"run {run.name} ({run.method}): has no tools that can be left out. Expected a run by a"
            " method with the option tools, such as debate"
        )
    return tuple(dict.fromkeys(split_names(options["tools"])))


def choose_tools(
    run: Run, given: Sequence[str], called: Sequence[str], wanted: Sequence[str]
) -> tuple[str, ...]:
    """Return the tools to leave out: the wanted ones, by default all that answered about the rows,
    in the run's order.

    given: the tools of the run; called: the tools with answers in its rows. Raise InputError for
    others.
    """
    unknown = [name for name in wanted if name not in given]
    if unknown:
        raise InputError(
            f"tools: {unknown[0]!r} is not a tool of run {run.name}, expected"
            f" {', '.join(given) or 'none'}"
        )
    chosen = tuple(name for name in given if name in (wanted or called))
    if not chosen:
        raise InputError(
            f"run {run.name}: called no tool on these rows, so none can be left out; expected rows"
            " with a dossier"
        )
    return chosen


TOOLS = Kind("tools", "A tool left out", TOOLS_QUESTION, ToolsSettings, build_tools, missing=missing_run)
