"""A run fused with another run, or with a kNN that is made under each cut, at given weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from annotated_types import Ge

from core.base.errors import InputError
from core.base.experiment import Arm, Experiment, Fused, Kind
from core.base.fields.record import values_of
from core.base.fields.setting import Count, Share, setting
from core.features.experiments.arms import answered_rows
from core.features.experiments.kinds.asking import DecidingMetric, SmallestEffect
from core.methods.fusion_settings import LessInDisagreement
from core.runs.component_loader import default_dataset
from core.runs.workspace import Workspace
from core.store import runs
from core.store.runs import Run
from core.transfer.protocols import SimilaritySettings

COMPONENT_QUESTION = "What does a fused component add to a run?"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentSettings:
    """A run, what is fused with it, the weights, and the folds under which a kNN is made."""

    run: Annotated[str, setting("The run that is fused.", names="run", where="elsewhere")]
    rows: Annotated[
        str | tuple[str, ...], setting("Which of the run's rows; by default all.", title="Rows")
    ] = ""
    others: Annotated[
        tuple[str, ...],
        setting("Runs, each fused alone.", title="Fused with", names="runs", name="with"),
    ] = ()
    spaces: Annotated[
        tuple[str, ...],
        setting("Gene spaces of a kNN that is fused.", title="Gene spaces", names="spaces"),
    ] = ()
    similarity: SimilaritySettings = field(default_factory=SimilaritySettings)
    w_de: Annotated[
        Share, setting("The weight of the component for DE.", title="Weight for DE")
    ] = 0.5
    w_dir: Annotated[
        Share, setting("The weight of the component for DIR.", title="Weight for DIR")
    ] = 0.5
    by_agreement: LessInDisagreement = False
    folds: Annotated[
        int,
        Ge(2),
        setting("Parts into which a kNN's folds cut perturbations and genes.", title="Folds"),
    ] = 5
    cuts: Annotated[
        Count, setting("Over how many cuts of the folds the scores are averaged.", title="Cuts")
    ] = 1
    metric: DecidingMetric = "mean"
    smallest_effect: SmallestEffect = 0.01


def build_component(workspace: Workspace, settings: ComponentSettings) -> Experiment:
    """Return the experiment. Raise NotFound for an unknown run, InputError without a component."""
    with workspace.store.read() as db:
        run = runs.find_predicting(db, settings.run)
    arms = tuple(_component_arms(run, settings))
    if not arms:
        raise InputError(
            "component: has nothing to fuse, expected runs (with) or gene spaces (spaces)"
        )
    k, cuts = settings.folds, tuple(range(settings.cuts))
    view = run.spec.get("view", {})
    if not settings.spaces:
        k, cuts = 0, (0,)  # runs alone are fused as they are
    elif view.get("kind") == "folds":
        k, cuts = int(view["k"]), (int(view["seed"]),)
    return Experiment(
        ", ".join(arm.name for arm in arms),
        COMPONENT_QUESTION,
        run.dataset,
        Arm(run.name, run=run.id),
        arms,
        answered_rows(workspace, run, settings.rows),
        k,
        cuts,
        metric=settings.metric,
        smallest_effect=settings.smallest_effect,
        remarks=("A fusion is computed from answers that are there, so no model is asked again.",),
    )


def _component_arms(run: Run, settings: ComponentSettings) -> Iterator[Arm]:
    others: list[tuple[str, str | Mapping[str, Any]]] = [(name, name) for name in settings.others]
    if settings.spaces:
        knn = {**values_of(settings.similarity), "spaces": ",".join(settings.spaces)}
        others.append((f"kNN over {', '.join(settings.spaces)}", knn))
    weights = settings.w_de, settings.w_dir
    words = (
        f"weights {weights[0]:g} and"
        f" {weights[1]:g}{' by agreement' if settings.by_agreement else ''}"
    )
    for name, other in others:
        fused = Fused(run.name, other, weights, settings.by_agreement)
        yield Arm(f"{run.name} + {name}, {words}", f"fused with {name}, {words}", fused=fused)


def missing_component(workspace: Workspace, dataset: str | None) -> list[str]:
    """Return what a dataset lacks for fusing a run, in words."""
    with workspace.store.read() as db:
        here = runs.list_predicting(db, default_dataset(workspace, dataset).id)
    return [] if here else ["a run"]


COMPONENT = Kind("component", "A fused component", COMPONENT_QUESTION, ComponentSettings, build_component, missing=missing_component)
