"""How an idea becomes a kind of experiment: its arms are computed, and judged like those of every
other kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from annotated_types import Ge, Le

from core.base.errors import StateError
from core.base.experiment import Kind, Metric
from core.base.fields.setting import Share, setting
from core.base.result import Table
from core.features.experiments.ideas.arms import Ranking, Trial, score_arms
from core.features.experiments.ideas.material import (
    NEEDS,
    Material,
    load_material,
)
from core.features.experiments.result import ExperimentResult, judge_arms
from core.runs.workspace import Workspace
from core.store import datasets

SMALLEST_EFFECT = 0.01
RUN = "A run on labelled rows; by default the oldest one made by a model."
Cuts = Annotated[
    int,
    Ge(1),
    Le(10),
    setting("Number of averaged cuts of perturbations and genes into 5 × 5 cells."),
]


@dataclass(frozen=True, slots=True)
class OnLabels:
    """The setting of every idea."""

    dataset: Annotated[
        str,
        setting(
            "The dataset whose labelled rows are scored; by default the workspace's.",
            where="command",
        ),
    ] = ""


@dataclass(frozen=True, slots=True)
class OfSpaces(OnLabels):
    """Settings of ideas on kNN priors."""

    spaces: Annotated[
        str,
        setting(
            "Gene spaces, separated by commas; all by default.", title="Gene spaces", names="spaces"
        ),
    ] = ""
    centre: Annotated[bool, setting("Subtract the mean vector of the labelled genes first.")] = (
        False
    )
    cuts: Cuts = 10


@dataclass(frozen=True, slots=True)
class OfRuns(OnLabels):
    """Settings of ideas that compare saved runs."""

    runs: Annotated[
        str,
        setting(
            "Runs to compare, the base first; by default all that the question is about.",
            names="runs",
        ),
    ] = ""


@dataclass(frozen=True, slots=True)
class OfFusion(OfSpaces):
    """Settings of ideas on a run fused with kNN priors."""

    run: Annotated[str, setting(RUN, names="run")] = ""
    weight: Annotated[Share, setting("The weight of the component fused with the run.")] = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """What an idea computed. arms: the first is the base, unless `has_base` is False. is_computed:
    as of `ExperimentResult`."""

    trial: Trial
    arms: Sequence[Ranking]
    remarks: tuple[str, ...] = ()
    metric: Metric = "mean"
    details: tuple[Table, ...] = ()
    has_base: bool = True
    is_computed: bool = True


def idea(
    name: str,
    title: str,
    question: str,
    needs: tuple[str, ...],
    settings: type,
    judge: Callable[[Material, Any], Judged],
    lacking: Callable[[Material], list[str]] = lambda _: [],
) -> Kind:
    """Return an idea as a kind. needs: keys of NEEDS. lacking: what else its default settings
    lack."""

    def compute(workspace: Workspace, chosen: Any) -> ExperimentResult:
        material = load_material(workspace, chosen.dataset)
        if missing := material.missing(needs):
            raise StateError(f"experiment {name}: needs {'; and '.join(missing)}")
        return _result(name, question, material, chosen, judge(material, chosen))

    def missing(workspace: Workspace, dataset: str | None) -> list[str]:
        with workspace.store.read() as db:
            if not datasets.list_all(db):
                return [NEEDS["labels"]]
        material = load_material(workspace, dataset)
        return [*material.missing(needs), *lacking(material)]

    return Kind(name, title, question, settings, compute=compute, missing=missing)


def _result(
    name: str, question: str, material: Material, chosen: Any, judged: Judged
) -> ExperimentResult:
    arms = tuple(score_arms(judged.trial, judged.arms, has_base=judged.has_base))
    if judged.has_base:
        arms = judge_arms(
            (replace(arms[0], is_base=True), *arms[1:]), judged.metric, SMALLEST_EFFECT
        )
    all_spaces = f"No gene space was named: {', '.join(material.space_names)}."
    n, n_rows = max(arm.n for arm in arms), len(judged.trial.labels)
    return ExperimentResult(
        kind=name,
        name=name,
        question=question,
        dataset=material.dataset.name,
        arms=arms,
        noise_floor=None,
        measure="score",
        metric=judged.metric,
        smallest_effect=SMALLEST_EFFECT,
        n=n,
        n_labelled=n,
        left_out=n_rows - n,
        remarks=(*judged.remarks, *([all_spaces] if getattr(chosen, "spaces", None) == "" else [])),
        details=judged.details,
        is_computed=judged.is_computed,
    )
