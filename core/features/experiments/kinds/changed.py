"""A run with one thing changed: asked again by another method, model or option, or with another
dossier; or fused with another run, or with a kNN that is made under each cut."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from annotated_types import Ge

from core.base.errors import InputError
from core.base.experiment import Arm, Experiment, Fused, Kind
from core.base.fields.record import read_options, values_of
from core.base.fields.setting import Count, Share, setting
from core.features.experiments.arms import answered_rows
from core.features.experiments.kinds.asking import (
    Asking,
    ChangedSettings,
    DecidingMetric,
    SmallestEffect,
    ask_again,
    compare_changed,
)
from core.features.experiments.kinds.shown import tools_given
from core.methods.base import DerivedMethod, method_named
from core.methods.fusion_settings import LessInDisagreement
from core.methods.prompts import tools_of
from core.runs.workspace import Workspace
from core.store import runs
from core.store.runs import Run
from core.transfer.protocols import SimilaritySettings

METHOD_QUESTION = "What does another method, model, prompt or option do to the predictions?"


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodSettings(ChangedSettings):
    """A run, and what is changed of how it is asked."""

    method: Annotated[str, setting("Another method.", title="Method", missing="the run's")] = ""
    model: Annotated[str | None, setting("Another model.", title="Model", missing="the run's")] = (
        None
    )
    options: Annotated[
        Mapping[str, Any],
        setting(
            "Options of the method, each changed alone; those of another method count together.",
            title="Options",
            metavar="NAME=VALUE",
        ),
    ] = field(default_factory=dict)


def build_method(workspace: Workspace, settings: MethodSettings) -> Experiment:
    """Return the experiment. Raise NotFound for an unknown method, InputError for impossible
    options, or if nothing changes."""
    asking = ask_again(workspace, settings)
    return compare_changed(asking, settings, METHOD_QUESTION, _method_arms(asking, settings))


def _method_arms(asking: Asking, settings: MethodSettings) -> Iterator[Arm]:
    base = asking.request
    own = method_named(base.method)
    if settings.method not in ("", own.name):
        other = method_named(settings.method)
        if isinstance(other, DerivedMethod):
            why = "asks no rows, expected another; `experiment plan component` fuses with a kNN"
            raise InputError(f"method {other.name}: {why}")
        options = read_options(other.settings, settings.options)
        model = base.model if own.needs_model else settings.model
        request = replace(
            base, method=other.name, options=options, model=model if other.needs_model else None
        )
        yield Arm(other.name, f"method: {base.method} → {other.name}", request)
    else:
        before = read_options(own.settings, base.options)
        after = read_options(own.settings, {**base.options, **settings.options})
        for name in settings.options:
            if after[name] != before[name]:
                change = f"{name}: {before[name]} → {after[name]}"
                yield Arm(f"{name} {after[name]}", change, asking.changed(**{name: after[name]}))
    if own.needs_model and settings.model not in (None, base.model):
        yield Arm(
            str(settings.model),
            f"model: {base.model} → {settings.model}",
            replace(base, model=settings.model),
        )


METHOD = Kind(
    "method",
    "Another method, model or option",
    METHOD_QUESTION,
    MethodSettings,
    build_method,
)


DOSSIER_QUESTION = "What does another dossier do to the predictions?"


@dataclass(frozen=True, slots=True, kw_only=True)
class DossierSettings(ChangedSettings):
    """A run, and what is changed of its dossier."""

    tools: Annotated[
        tuple[str, ...], setting("Another list of tools, in this order.", title="Other tools")
    ] = ()
    add: Annotated[
        tuple[str, ...], setting("Tools to add to the run's, one at a time.", title="Tools to add")
    ] = ()
    sources: Annotated[
        Literal["", "packs", "web", "cache"],
        setting(
            "Where tools look: in packs, in public sources, or in what those answered before.",
            title="Where tools look",
            words={"": "as in the run"},
        ),
    ] = ""


def build_dossier(workspace: Workspace, settings: DossierSettings) -> Experiment:
    """Return the experiment. Raise StateError for a run without tools, InputError for unknown
    tools, or if nothing changes."""
    asking = ask_again(workspace, settings)
    return compare_changed(asking, settings, DOSSIER_QUESTION, _dossier_arms(asking, settings))


def _dossier_arms(asking: Asking, settings: DossierSettings) -> Iterator[Arm]:
    given = tools_given(asking.run)
    if settings.tools and settings.tools != given:
        change = f"tools: {', '.join(given)} → {', '.join(settings.tools)}"
        yield _with_tools(asking, "other tools", change, settings.tools)
    for tool in settings.add:
        if tool in given:
            raise InputError(
                f"add: {tool} is a tool of run {asking.run.name} already, expected another"
            )
        yield _with_tools(asking, f"with {tool}", f"with {tool}", (*given, tool))
    before = asking.request.options.get("sources")
    if settings.sources not in ("", before):
        change = f"sources: {before} → {settings.sources}"
        yield Arm(f"sources {settings.sources}", change, asking.changed(sources=settings.sources))


def _with_tools(asking: Asking, name: str, change: str, tools: tuple[str, ...]) -> Arm:
    listed = ",".join(tools)
    tools_of(listed)  # refuses an unknown tool
    return Arm(name, change, asking.changed(tools=listed))


DOSSIER = Kind(
    "dossier",
    "Another dossier",
    DOSSIER_QUESTION,
    DossierSettings,
    build_dossier,
)


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


COMPONENT = Kind(
    "component",
    "A fused component",
    COMPONENT_QUESTION,
    ComponentSettings,
    build_component,
)
