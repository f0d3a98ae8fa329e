"""The request of a training of ranking models: cells, split, models. Plain data, saved with the
results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from core.base.errors import InputError, MissingPackage
from core.base.fields.record import read_options
from core.base.fields.setting import Whole, setting
from core.features.targets.evaluate import EvaluationRequest
from core.features.targets.expression import CellSource
from core.features.targets.models.base import REQUIREMENTS, RankingModel, ranking_model_named
from core.features.targets.splits import DrawnKind, Split, read_split


@dataclass(frozen=True, slots=True)
class TrainingRequest:
    """What to train. models: the chosen options of each model, by name. split: a published one,
    None to draw one of a kind. seed: of the models and of the drawn split."""

    # A ranking is found by its name, so another name is another ranking, which is trained anew.
    name: Annotated[
        str,
        setting(
            "The name of the target ranking.", title="Name", missing="my screen", key="targets_name"
        ),
    ] = "targets"
    source: CellSource = field(default_factory=CellSource)
    kind: Annotated[
        DrawnKind,
        setting(
            "A split drawn here.",
            title="Split",
            words={
                "hard": "hard: some genes are never perturbed in training",
                "compositional": "compositional: doubles of trained genes",
            },
            key="split",
        ),
    ] = "hard"
    split: Split | None = None
    models: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    seed: Annotated[
        Whole,
        setting(
            "Random seed of the split, the models and the choice of cells.",
            title="Seed",
            key="targets_seed",
        ),
    ] = 0


SplitFile = Annotated[
    Path | None,
    setting(
        "A published split: JSON with train_conditions and so on.",
        option="--split",
        metavar="FILE",
        where="command",
    ),
]


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """A training as a person asks for it. models: names, none for all with installed packages.
    model_options: MODEL.KEY to value. split_file: of a published split, instead of a drawn one. A
    further setting that changes the ranking belongs to `training`, which makes its identity."""

    training: TrainingRequest = field(default_factory=TrainingRequest)
    simulate: Annotated[bool, setting("A simulated screen instead of a file.", where="command")] = (
        False
    )
    models: Annotated[
        tuple[str, ...],
        setting(
            "The models to train. Those whose packages are not installed are not offered.",
            title="Models",
        ),
    ] = ()
    split_file: SplitFile = None
    model_options: Annotated[
        Mapping[str, str],
        setting(
            "An option of a model.", option="--set", metavar="MODEL.KEY=VALUE", where="command"
        ),
    ] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RankingChoice:
    """The target ranking that a command is about, by default the latest. split_file: of a published
    split, which has to be the ranking's own. ceilings: whether those of the split are wanted."""

    ranking: Annotated[
        str | None,
        setting(
            "The target ranking; by default the latest.",
            title="Target ranking",
            missing="the latest",
            option="--name",
            names="core.features.targets.actions:list_all",
        ),
    ] = None
    split_file: Annotated[SplitFile, setting("", changes_result=False)] = None
    ceilings: Annotated[
        bool,
        setting(
            "The ceiling of models that rank only trained genes.",
            where="command",
            changes_result=False,
        ),
    ] = False


@dataclass(frozen=True, slots=True)
class RankingEvaluationRequest:
    """An evaluation of a target ranking as a person asks for it."""

    choice: RankingChoice = field(default_factory=RankingChoice)
    evaluation: EvaluationRequest = field(default_factory=EvaluationRequest)


@dataclass(frozen=True, slots=True)
class RankingTableRequest:
    """The table of the latest evaluation as a person asks for it. candidates: pools for the
    ceilings of a published split."""

    choice: RankingChoice = field(default_factory=RankingChoice)
    candidates: Annotated[
        Path | None, setting("Pools for the ceilings.", metavar="FILE", where="command")
    ] = None


def request_of(asked: TrainingOptions, file: str) -> TrainingRequest:
    """Return the request for chosen settings. file: of cells, "" for the simulator. Raise
    InputError."""
    models: dict[str, dict[str, object]] = {name: {} for name in asked.models}
    for key, value in asked.model_options.items():
        model, _, option = key.partition(".")
        if not option or model not in models:
            raise InputError(
                f"--set {key}: expected MODEL.KEY=VALUE with a model of {', '.join(models)}"
            )
        models[model][option] = value
    training = replace(
        asked.training,
        models=models,
        source=replace(asked.training.source, file=file, seed=asked.training.seed),
    )
    if asked.split_file is None:
        return training
    # A published split leaves none to draw.
    return replace(training, kind=TrainingRequest().kind, split=read_split(asked.split_file))


def missing_packages(model: RankingModel) -> tuple[str, ...]:
    """Return the packages of a model that are not installed, without importing any."""
    return tuple(package for package in model.packages if find_spec(package) is None)


def check_request(request: TrainingRequest) -> None:
    """Raise InputError for unknown models, options and kinds of split, and without a model. Raise
    MissingPackage."""
    if not request.models:
        raise InputError("target ranking: got no model, expected at least one")
    for name, options in request.models.items():
        model = ranking_model_named(name)
        read_options(model.settings, options)
        missing = missing_packages(model)
        if missing:
            packages = ", ".join(missing)
            raise MissingPackage(
                f"{name} needs {packages}, which is not installed: pip install -r {REQUIREMENTS}"
            )
