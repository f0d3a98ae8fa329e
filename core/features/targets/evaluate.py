"""One table for all models on the same test cells, split, mask and unit, with the random level and
the structural ceiling."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import pandas as pd

from core.base.errors import InputError, MissingPackage
from core.base.fields.record import read_options
from core.base.fields.setting import Whole, setting
from core.base.file_io import read_file
from core.base.hashes import KEY_DIGITS, sha256_of
from core.base.records import parse
from core.base.texts import list_some
from core.features.targets.expression import (
    CellSource,
    ExpressionSet,
    Flags,
    Mask,
    mask_expression,
    parse_condition,
    take_perturbed,
    targets_in,
)
from core.features.targets.metrics import (
    KS,
    Place,
    Pools,
    Unit,
    best_levels,
    ceilings_of,
    clustered_interval,
    place_targets,
    score_rankings,
)
from core.features.targets.models.base import (
    REQUIREMENTS,
    FittedModel,
    RankingModel,
    Report,
    ranking_model_named,
)
from core.features.targets.splits import DrawnKind, Split, read_split

ALL_GENES: Final = "all genes"  # the pool of an evaluation without candidates
CELLS_AT_ONCE: Final = 512


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    """How rankings are scored. unit: "condition" (the expression of its cells is averaged first) or
    "cell". candidates: pools for the rankings; None to rank all genes.
    """

    mask: Annotated[
        Mask,
        setting(
            "Genes that models may not see: of each profile those that differ most from control"
            " cells, or every target of the split.",
            title="Mask",
            words={
                "none": "no mask",
                "strongest": "10 strongest genes masked",
                "targets": "all targets masked",
            },
        ),
    ] = "none"
    unit: Annotated[
        Unit,
        setting(
            "The unit of a ranking: averaged cells, or each cell.",
            title="Unit",
            words={"condition": "averaged conditions", "cell": "single cells"},
        ),
    ] = "condition"
    candidates: Annotated[
        Path | None,
        setting(
            "Rank within pools: JSON of condition to genes, or one gene per line.",
            metavar="FILE",
            where="command",
        ),
    ] = None


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """The scores of models.

    settings: mask, unit, ks and pool, which identify it among those of the same models. ceilings:
    as of `ceilings_of`. table: model, metric, k (NaN for mrr), estimate, low, high, random,
    ceiling, n, conditions.
    """

    settings: Mapping[str, Any]
    ceilings: Mapping[str, Mapping[str, str]]
    table: pd.DataFrame

    @property
    def key(self) -> str:
        """The name of its folder."""
        return sha256_of(json.dumps(dict(self.settings), sort_keys=True))[:KEY_DIGITS]


def evaluate(
    models: Mapping[str, FittedModel],
    cells: ExpressionSet,
    split: Split,
    request: EvaluationRequest,
    seed: int = 0,
    pools: Pools | None = None,
    report: Report = lambda _share, _what: None,
) -> Evaluation:
    """Return the evaluation of models on the test conditions of a split.

    cells: with those on which the models were fitted. seed: of matched controls. pools: the
    candidates of each test condition; None to rank all genes.
    """
    test = cells.of_conditions(split.test)
    rows = take_perturbed(test, test, np.random.default_rng(seed), "test")
    if request.unit == "condition":
        rows = rows.average(by_batch=False)
    conditions = rows.conditions.tolist()
    perturbed = [gene for condition in split.conditions for gene in targets_in(condition)]
    hidden = np.flatnonzero(np.isin(cells.genes, perturbed))
    levels = {
        name: best_levels(conditions, scored, pools, len(cells.genes))
        for name, scored in (("random", frozenset[str]()), ("ceiling", split.trained_genes))
    }
    lines: list[dict[str, Any]] = []
    for position, (name, model) in enumerate(models.items()):
        report(position / len(models), f"{name}: ranking genes for {len(rows.x):,} {request.unit}s")
        places: list[list[Place]] = []
        for start in range(0, len(rows.x), CELLS_AT_ONCE):
            block = rows.take(slice(start, start + CELLS_AT_ONCE))
            x = mask_expression(block.x, block.controls.means(), request.mask, hidden)
            scores = model.score(x, block.controls)
            if pools is not None:
                scores[~pool_matrix(pools, block.conditions.tolist(), cells.genes)] = np.nan
            places += place_targets(scores, block.target_columns)
        lines += (
            {
                "model": name,
                "metric": metric,
                "k": float("nan") if k is None else float(k),
                **clustered_interval(values, conditions).columns,
                **{level: float(best[metric, k].mean()) for level, best in levels.items()},
                "n": len(conditions),
                "conditions": len(set(conditions)),
            }
            for (metric, k), values in score_rankings(places).items()
        )
    pool = ALL_GENES if request.candidates is None else request.candidates.name
    settings = {"mask": request.mask, "unit": request.unit, "ks": list(KS), "pool": pool}
    return Evaluation(settings, ceilings_of(split, pools, len(cells.genes)), pd.DataFrame(lines))


MAX_BYTES: Final = 100_000_000


def read_candidates(path: Path, conditions: Collection[str]) -> dict[str, frozenset[str]]:
    """Return the pool of genes of each condition.

    The file is a JSON object of condition → list of genes, or one pool for all conditions: a JSON
    list, or a text with one gene per line. Raise InputError for other content, and for a condition
    without candidates.
    """
    content = read_file(path, MAX_BYTES).strip()
    pools: dict[str, frozenset[str]]
    if content.startswith(b"{"):
        by_name = parse(dict[str, frozenset[str]], content, path.name)
        pools = {parse_condition(name): genes for name, genes in by_name.items()}
    elif content.startswith(b"["):
        pools = dict.fromkeys(conditions, parse(frozenset[str], content, path.name))
    else:
        lines = content.decode(errors="replace").splitlines()
        pools = dict.fromkeys(conditions, frozenset(line.strip() for line in lines if line.strip()))
    missing = sorted(condition for condition in conditions if not pools.get(condition))
    if missing:
        raise InputError(
            f"{path.name}: no candidates for {len(missing):,} test conditions, such as"
            f" {missing[0]}, expected some"
        )
    return {condition: pools[condition] for condition in conditions}


def pool_matrix(pools: Pools, conditions: Sequence[str], genes: Sequence[str]) -> Flags:
    """Return flags of the genes in the pool of each row's condition, of shape (n_rows, n_genes).

    Raise InputError for a candidate that is not among the genes.
    """
    rows: dict[str, Flags] = {}
    for condition in dict.fromkeys(conditions):
        unknown = sorted(pools[condition] - set(genes))
        if unknown:
            raise InputError(
                f"candidates: {condition}: {list_some(unknown)} not among the {len(genes):,} genes "
                "measured, expected genes that can be ranked"
            )
        rows[condition] = np.isin(genes, list(pools[condition]))
    return np.stack([rows[condition] for condition in conditions])


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
