"""The process in which cell-eval runs: reads a request from a folder, leaves its table or a refusal there."""

from __future__ import annotations

import importlib.metadata
import json
import logging
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from core.cells.cell_eval import REQUEST, RESULT, CellEvaluation, Metric
from core.cells.evaluation_cells import CONTROL, PERTURBATION, CellChoice, CellPair, load_cell_pair, strata_of
from core.errors import DeskError, InputError
from core.file_io import replace_file
from core.file_limits import free_memory
from core.records import parse

LEAST_CELLS = 3  # of each group, for a rank sum; below, only metrics of mean expression are computed


def main(folder: Path) -> None:
    """Write result.json: the table, or {"error": why the files cannot be evaluated}."""
    choice = parse(CellChoice, (folder / REQUEST).read_text(), REQUEST)
    try:
        found = evaluate_here(choice, folder).as_json()
    except DeskError as error:
        found = {"error": str(error)}
    replace_file(folder / RESULT, json.dumps(found).encode())


def evaluate_here(choice: CellChoice, folder: Path) -> CellEvaluation:
    """Return cell-eval's table, computed in this process. folder: for files that it writes."""
    choice = replace(choice, most_bytes=choice.most_bytes or free_memory())
    if choice.within:
        return _evaluate_within(choice, folder)
    pair = load_cell_pair(choice)
    profile = "full" if pair.fewest >= LEAST_CELLS else "anndata"
    results, problems = _call_cell_eval(pair, profile, folder)
    sizes = _Sizes.of(pair)
    return _evaluation(choice, sizes, profile, (list(results.columns[1:]), results.to_dicts()), (pair.left_out, problems))


@dataclass(frozen=True, slots=True)
class _Sizes:
    """The sizes of one compared pair of files. n_real_of: real cells of each perturbation."""

    n_genes: int
    n_predicted: int
    n_real: int
    n_real_of: Mapping[str, int]
    read_as: Mapping[str, str]

    @classmethod
    def of(cls, pair: CellPair) -> _Sizes:
        return cls(pair.real.n_vars, pair.predicted.n_obs, pair.real.n_obs, pair.n_real, pair.read_as)


def _evaluation(
    choice: CellChoice,
    sizes: _Sizes,
    profile: str,
    table: tuple[list[str], list[dict[str, Any]]],
    said: tuple[tuple[str, ...], tuple[str, ...]],
) -> CellEvaluation:
    """table: the metrics, and one row per perturbation. said: omissions, and cell-eval's problems."""
    names, rows = table
    return CellEvaluation(
        version=importlib.metadata.version("cell-eval"),
        profile=profile,
        n_perturbations=len(rows),
        n_genes=sizes.n_genes,
        n_predicted=sizes.n_predicted,
        n_real=sizes.n_real,
        sample=choice.sample,
        read_as=sizes.read_as,
        left_out=said[0],
        problems=said[1],
        metrics=tuple(_metrics_of(names, rows)),
        per_perturbation=[{name: _finite(value) for name, value in row.items()} for row in rows],
        within=choice.within,
    )


def _evaluate_within(choice: CellChoice, folder: Path) -> CellEvaluation:
    """Return the table of comparisons inside strata, pooled.

    A perturbation's numbers are means over strata with LEAST_CELLS of its cells or more, weighted by its real cells there. Raises
    InputError if there is no such stratum.
    """
    found, left_out, problems = list[tuple[_Sizes, Any]](), list[str](), dict[str, None]()
    for number, stratum in enumerate(strata_of(choice)):
        name = " / ".join(stratum.values())
        options = replace(choice.options, where={**choice.options.where, **stratum})
        try:
            pair = load_cell_pair(replace(choice, options=options, least=LEAST_CELLS))
        except InputError as error:
            left_out.append(f"stratum {name}, left out: {error}")
            continue
        if pair.fewest < LEAST_CELLS or pair.n_real[CONTROL] < LEAST_CELLS:
            left_out.append(f"stratum {name}, left out: fewer than {LEAST_CELLS} controls")
            continue
        results, said = _call_cell_eval(pair, "full", folder / str(number))
        found.append((_Sizes.of(pair), results))
        problems |= dict.fromkeys(said)
    if not found:
        raise InputError(
            f"{choice.predicted}: no stratum of --within can be compared ({'; '.join(left_out) or 'no value is in both files'})"
        )
    sizes = [each for each, _ in found]
    total = replace(sizes[0], n_predicted=sum(s.n_predicted for s in sizes), n_real=sum(s.n_real for s in sizes))
    return _evaluation(choice, total, "full", _pool(found), (tuple(left_out), tuple(problems)))


def _pool(found: Sequence[tuple[_Sizes, Any]]) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the metrics, and a row for each perturbation: of each metric the mean over strata, by their real cells."""
    names = list(dict.fromkeys(name for _, results in found for name in results.columns[1:]))
    sums: dict[str, dict[str, tuple[float, int]]] = {}
    for sizes, results in found:
        for row in results.to_dicts():
            pert = str(row["perturbation"])
            n, of_pert = sizes.n_real_of[pert], sums.setdefault(pert, {})
            for name in names:
                value = _finite(row.get(name))
                if value is not None:
                    total, weight = of_pert.get(name, (0.0, 0))
                    of_pert[name] = (total + n * value, weight + n)
    rows = [
        {"perturbation": pert, **{name: of[name][0] / of[name][1] if name in of else None for name in names}}
        for pert, of in sorted(sums.items())
    ]
    return names, rows


class _Problems(logging.Handler):
    """A collector of cell-eval's messages about metrics that it skips."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


def _call_cell_eval(pair: CellPair, profile: Any, folder: Path) -> tuple[Any, tuple[str, ...]]:
    """Return cell-eval's table by perturbation, a polars frame, and its problems.

    Its rank sum is pdex's for files that are larger than memory, which gives the same numbers as the other many times faster.
    """
    import numba
    from cell_eval import MetricsEvaluator

    problems = _Problems()
    logging.getLogger("cell_eval").addHandler(problems)
    threads = numba.get_num_threads()  # the processors of this process, or what the environment allows
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
    """Return the lines of the table: each metric over the perturbations for which cell-eval defines it.

    Its own summary has no mean if one perturbation lacks the metric; otherwise both agree.
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
