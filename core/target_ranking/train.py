"""Fit the models of a request one after another. Each is saved as soon as it is fitted, so a killed training can continue."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from typing import Final

from core.target_ranking.evaluate import EvaluationSettings, evaluate
from core.target_ranking.expression import ExpressionSet
from core.target_ranking.models.base import FitSettings, ranking_model_named
from core.target_ranking.reading import ReadCells, read_source
from core.target_ranking.request import TrainingRequest, check_request
from core.target_ranking.results import ALL_GENES, RankingFolder
from core.target_ranking.splits import Split, draw_split, require_conditions

Report = Callable[[float, str], object]
CHECKPOINTS: Final = "checkpoints"


def prepare(request: TrainingRequest) -> tuple[ReadCells, Split]:
    """Return the cells of a request and its split, without writing anything.

    Raise InputError for wrong settings, cells or split, and MissingPackage.
    """
    check_request(request)
    read = read_source(request.source)
    split = split_of(request, read.cells)
    require_conditions(split, read.cells.perturbed, request.source.name)
    return read, split


def split_of(request: TrainingRequest, cells: ExpressionSet) -> Split:
    """Return the published split of a request, or draw one from the conditions of the cells."""
    choice = request.split
    if choice.split is not None:
        return choice.split
    return draw_split(cells.perturbed, "hard" if choice.kind == "hard" else "compositional", choice.seed)


def train(folder: RankingFolder, read: ReadCells, split: Split, report: Report) -> None:
    """Fit and save every missing model of a folder's request, then evaluate all models on averaged conditions.

    report: called with the share that is done and the current step. Raise the errors of the models.
    """
    request = folder.request()
    folder.write_data(split, read.facts, read.notes)
    training = read.cells.of_conditions(split.train)
    validation = read.cells.of_conditions(split.validation)
    seconds: dict[str, float] = {}
    there, n = folder.saved_models(), len(request.models)
    for at, (name, options) in enumerate(request.models.items()):
        if name in there:
            continue
        begun = time.monotonic()
        checkpoint = folder.path / CHECKPOINTS / name
        settings = FitSettings(options, request.seed, checkpoint)
        fitted = ranking_model_named(name).fit(training, validation, settings, _part_of(report, at / n, 1 / n, name))
        fitted.save(folder.model(name))
        seconds[name] = round(time.monotonic() - begun, 3)
        shutil.rmtree(checkpoint, ignore_errors=True)
    report(1.0, "evaluating")
    settings_shown = EvaluationSettings(seed=request.seed)
    folder.write_evaluation(settings_shown, ALL_GENES, evaluate(folder.load_models(), read.cells, split, settings_shown))
    folder.write_manifest({"seconds": seconds})


def _part_of(report: Report, start: float, share: float, name: str) -> Report:
    """Return a report function for one model's share of the work."""
    return lambda done, what: report(start + share * min(max(done, 0.0), 1.0), f"{name}: {what}")
