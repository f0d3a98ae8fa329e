"""Call cell-eval, the field's own suite, on predicted and real cells, in a separate process, since it prints, changes global
settings of libraries and may run out of memory: `core.cells.cell_eval_process` reads a request from a folder and leaves its table
there.
"""

from __future__ import annotations

import importlib.util
import json
import math
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from core.cells.evaluation_cells import CellChoice
from core.config import REPOSITORY
from core.environment import bare_environment
from core.errors import InputError, MissingPackage, StateError
from core.file_io import temporary_folder
from core.records import from_json, to_json

REQUEST, RESULT, LOG = "request.json", "result.json", "log.txt"
_PACKAGES = ("anndata", "cell_eval")


@dataclass(frozen=True, slots=True)
class Metric:
    """One line of cell-eval's table, over the n perturbations for which it defines the metric.

    best: "one" or "zero", or "none" for a count. mean, sd (ddof 1), low, high: NaN without a perturbation, sd also with one.
    """

    name: str
    description: str
    best: str
    mean: float
    sd: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CellEvaluation:
    """cell-eval's table for a file of predicted cells.

    profile: "full", or "anndata" if there are too few cells of a perturbation to test for differential expression. left_out: a
    description of the parts in only one of the files. problems: metrics that cell-eval could not compute, with its reason.
    per_perturbation: cell-eval's rows, "perturbation" and a number or None for each metric. sample: cells drawn of each
    perturbation, None for all. within: the columns of obs inside of whose values cells were compared: a perturbation's numbers
    are then means over these strata, each counting by its real cells.
    """

    version: str
    profile: str
    n_perturbations: int
    n_genes: int
    n_predicted: int
    n_real: int
    sample: int | None
    read_as: Mapping[str, str]
    left_out: tuple[str, ...]
    problems: tuple[str, ...]
    metrics: tuple[Metric, ...]
    per_perturbation: Sequence[Mapping[str, Any]]
    within: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the table as plain data, NaN as None."""
        found = to_json(self)
        metrics = [{name: None if value != value else value for name, value in each.items()} for each in found["metrics"]]
        return found | {"metrics": metrics}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return a table from `as_json`."""
        metrics = [{name: math.nan if value is None else value for name, value in each.items()} for each in values["metrics"]]
        return from_json(cls, {**values, "metrics": metrics}, "table of cell-eval")


def evaluate_cells(choice: CellChoice) -> CellEvaluation:
    """Return cell-eval's table for predicted cells against the real ones in `choice.options.real`.

    Raise MissingPackage, InputError for unsuitable files, and StateError, with the end of its output, if cell-eval itself fails.
    """
    if choice.options.real is None:
        raise InputError(f"{choice.predicted}: cell-eval compares with real cells, got none; expected --real FILE")
    if missing := [name for name in _PACKAGES if importlib.util.find_spec(name) is None]:
        raise MissingPackage(f"{', '.join(missing)}: not installed: pip install -r requirements-cells.txt")
    with temporary_folder("cell-eval") as folder:
        (folder / REQUEST).write_text(json.dumps(_as_request(choice)))
        with (folder / LOG).open("wb") as log:
            command = (sys.executable, "-m", "core.cells.cell_eval_process", str(folder))
            ended = subprocess.run(
                command, cwd=REPOSITORY, env=bare_environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False
            )
        return _read_result(folder, choice, ended.returncode)


def _as_request(choice: CellChoice) -> dict[str, Any]:
    """Return a choice as plain data, with absolute paths because the process has another working directory."""
    real = choice.options.real
    options = replace(choice.options, real=None if real is None else real.absolute())
    return to_json(replace(choice, predicted=choice.predicted.absolute(), options=options))


def _read_result(folder: Path, choice: CellChoice, status: int) -> CellEvaluation:
    if (folder / RESULT).exists():
        found = json.loads((folder / RESULT).read_text())
        if "error" in found:
            raise InputError(found["error"])
        return CellEvaluation.from_json(found)
    lines = [line for line in (folder / LOG).read_text("utf-8", "replace").splitlines() if line.strip()]
    said = " / ".join(lines[-3:])[-400:] or "nothing"
    killed = f"was killed (signal {-status}; memory, perhaps: draw fewer cells with --sample)" if status < 0 else "failed"
    raise StateError(f"{choice.predicted}: cell-eval {killed}; it said: {said}")
