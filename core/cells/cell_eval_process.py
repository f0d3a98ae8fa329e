"""The process in which cell-eval runs: reads a request from a folder, leaves its table or a refusal there."""

from __future__ import annotations

import importlib.metadata
import json
import logging
import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from core.cells.cell_eval import REQUEST, RESULT, CellEvaluation, Metric
from core.cells.evaluation_cells import CONTROL, PERTURBATION, CellChoice, CellPair, load_cell_pair
from core.errors import DeskError
from core.file_io import replace_file
from core.file_limits import free_memory
from core.records import parse

LEAST_CELLS = 3  # of each group, for a rank sum; below, only metrics of mean expression are computed


def main(folder: Path) -> None:
    """Writes result.json: the table, or {"error": why the files cannot be evaluated}."""
    choice = parse(CellChoice, (folder / REQUEST).read_text(), REQUEST)
    try:
        found = evaluate_here(choice, folder).as_json()
    except DeskError as error:
        found = {"error": str(error)}
    replace_file(folder / RESULT, json.dumps(found).encode())


def evaluate_here(choice: CellChoice, folder: Path) -> CellEvaluation:
    """Returns cell-eval's table, computed in this process. folder: where it may write."""
    pair = load_cell_pair(replace(choice, most_bytes=choice.most_bytes or free_memory()))
    profile = "full" if pair.fewest >= LEAST_CELLS else "anndata"
    results, problems = _call_cell_eval(pair, profile, folder)
    rows = results.to_dicts()
    return CellEvaluation(
        version=importlib.metadata.version("cell-eval"),
        profile=profile,
        n_perturbations=pair.n_perturbations,
        n_genes=pair.real.n_vars,
        n_predicted=pair.predicted.n_obs,
        n_real=pair.real.n_obs,
        sample=choice.sample,
        read_as=pair.read_as,
        left_out=pair.left_out,
        problems=problems,
        metrics=tuple(_metrics_of(results.columns[1:], rows)),
        per_perturbation=[{name: _finite(value) for name, value in row.items()} for row in rows],
    )


class _Problems(logging.Handler):
    """Collects what cell-eval says of metrics that it cannot compute: it goes on without them."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


def _call_cell_eval(pair: CellPair, profile: Any, folder: Path) -> tuple[Any, tuple[str, ...]]:
    """Returns cell-eval's table by perturbation, a polars frame, and its problems.

    Its rank sum is pdex's for files that are larger than memory, which gives the same numbers as the other many times faster.
    """
    from cell_eval import MetricsEvaluator

    problems = _Problems()
    logging.getLogger("cell_eval").addHandler(problems)
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    evaluator = MetricsEvaluator(
        pair.predicted,
        pair.real,
        control_pert=CONTROL,
        pert_col=PERTURBATION,
        outdir=str(folder / "tables"),
        pdex_kwargs={"low_memory": True, "num_workers": 1, "num_threads": threads, "show_progress": False},
        skip_de=profile == "anndata",
    )
    results, _ = evaluator.compute(profile=profile, write_csv=False)
    return results, tuple(problems.texts)


def _metrics_of(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> list[Metric]:
    """Returns the lines of the table: each metric over the perturbations for which cell-eval defines it.

    Its own summary has no mean where one perturbation has none; where all have one, both are the same.
    """
    from cell_eval import metrics_registry

    found = []
    for name in names:
        known = next(key for key in sorted(metrics_registry.list_metrics(), key=len, reverse=True) if name.startswith(key))
        info = metrics_registry.get_metric(known)
        column = [_finite(row[name]) for row in rows]
        values = np.array([value for value in column if value is not None], dtype=np.float64)
        mean, low, high = (float(each(values)) if len(values) else math.nan for each in (np.mean, np.min, np.max))
        sd = float(values.std(ddof=1)) if len(values) > 1 else math.nan
        found.append(Metric(name, info.description, info.best_value.value, mean, sd, low, high, len(values)))
    return found


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


if __name__ == "__main__":
    main(Path(sys.argv[1]))
