"""A run asked again with something else shown to it: other gene names (does it remember names, or
read its dossier?), or a dossier without one of its tools (which evidence moves its answers?).

A score from remembered names falls if names are coded or swapped. A score from the dossier falls if
names are shown without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from annotated_types import Ge, Le

from core.base.errors import InputError, StateError
from core.base.experiment import Arm, Experiment, Kind, Runs
from core.base.fields.record import options_of
from core.base.fields.setting import setting, split_names
from core.features.experiments.kinds.asking import AskingSettings, ask_again
from core.features.experiments.result import ArmResult, ExperimentResult
from core.methods.base import method_named
from core.methods.coded_names import ALONE, CODED, HIDDEN, SWAPPED, count_leaks
from core.runs.workspace import Workspace
from core.store import calls, evidence
from core.store.connection import Cursor
from core.store.runs import Run

NAMES_QUESTION = "Do the answers rest on remembered names or on the dossier?"
TITLES = {
    CODED: "every name coded",
    SWAPPED: "names swapped",
    HIDDEN: "dossier only",
    ALONE: "names only",
}
LIMITS = (
    "Coded names leave other hints in the texts: descriptions of a gene, and aliases that no"
    " imported pack lists (XCT, Arp2/3). A model may still recognise a gene by these. So a stable"
    " score does not rule out memory."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamesSettings(AskingSettings):
    """A run, and the ways to show gene names."""

    arms: Annotated[
        tuple[str, ...],
        setting(
            "Some of coded, swapped, hidden and alone; by default all that the method has.",
            title="Ways to show names",
        ),
    ] = ()


def build_names(workspace: Workspace, settings: NamesSettings) -> Experiment:
    """Return the experiment. Raise StateError for a run that cannot be asked with other names,
    InputError for unknown arms."""
    asking = ask_again(workspace, settings)
    run = asking.run
    names = choose_arms(run, settings.arms)
    arms = [Arm(TITLES[name], TITLES[name], asking.changed(names=name)) for name in names]
    without = [TITLES[name] for name in names if name != ALONE]
    return Experiment(
        f"names of {run.name}",
        NAMES_QUESTION,
        run.dataset,
        Arm("as it is", request=asking.request),
        tuple(arms),
        asking.rows,
        noise_seeds=tuple(range(1, settings.repeats + 1)),
        contrasts=tuple((title, TITLES[ALONE]) for title in without) if ALONE in names else (),
        remarks=(LIMITS,),
        again=run.id,
    )


def choose_arms(run: Run, wanted: Sequence[str]) -> tuple[str, ...]:
    """Return the wanted ways to show names, by default all that the run's method has.

    Raise StateError for a run that cannot be asked with other names, and InputError for unknown
    arms.
    """
    options_of_method = options_of(method_named(run.method).settings)
    choices = next((each.choices for each in options_of_method if each.name == "names"), ())
    if not choices:
        raise StateError(
            f"run {run.name} ({run.method}): its method does not support other names; prompt_only,"
            " debate, react, coordinator and summer do"
        )
    options = run.spec["options"]
    if options.get("names"):
        raise StateError(
            f"run {run.name}: its names are {options['names']} already; expected a run with"
            " original names"
        )
    has_dossier = ALONE in choices
    offered = [
        name
        for name in TITLES
        if name in choices and (name != HIDDEN or has_dossier or options.get("prompts"))
    ]
    unknown = next((name for name in wanted if name not in offered), None)
    if unknown is not None:
        raise InputError(
            f"arms: {unknown!r} is none of {run.method}, expected {', '.join(offered)}"
        )
    return tuple(name for name in offered if not wanted or name in wanted)


def complete_names(
    workspace: Workspace, _experiment: Experiment, _runs: Runs, result: ExperimentResult
) -> ExperimentResult:
    """Note of each arm with coded names how many of its requests hold a symbol of their row all the
    same."""
    coded = (TITLES[CODED], TITLES[HIDDEN])
    with workspace.store.read() as db:
        arms = [
            replace(arm, note=_leaks(db, arm)) if arm.name in coded else arm for arm in result.arms
        ]
    return replace(result, arms=tuple(arms))


def _leaks(db: Cursor, arm: ArmResult) -> str:
    texts = [text for run in arm.runs for text in calls.texts_of_requests(db, run)]
    leaks = sum(count_leaks([text], (pert, gene)) for pert, gene, text in texts)
    return f"a symbol of the row is in {leaks:,} of {len(texts):,} requests"


NAMES = Kind(
    "names",
    "Other gene names",
    NAMES_QUESTION,
    NamesSettings,
    build_names,
    complete=complete_names,
)


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


TOOLS = Kind("tools", "A tool left out", TOOLS_QUESTION, ToolsSettings, build_tools)
