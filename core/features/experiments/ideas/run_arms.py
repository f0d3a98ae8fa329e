"""Saved runs as arms: runs named by a person, or runs that differ in only one option."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import reduce

import numpy as np
import pandas as pd

from core.base.errors import InputError, StateError
from core.base.experiment import Kind
from core.features.experiments.ideas.arms import Ranking, Trial
from core.features.experiments.ideas.idea import Judged, OfRuns, idea
from core.features.experiments.ideas.material import Material
from core.scoring.run_scores import RunRows
from core.stats.scores_and_labels import combine_codes
from core.store.runs import Run
from core.transfer.row_index import Rows

MOST = 12


def idea_of_option(name: str, title: str, question: str, option: str, how: str) -> Kind:
    """Return the idea of runs that differ in one option. how: a command that makes them."""
    needed = (
        f"two runs on the same labelled rows that differ only in {option}: make them with {how}, or"
        " choose two with runs"
    )

    def judge(material: Material, chosen: OfRuns) -> Judged:
        runs = material.load_runs(chosen.runs) or [
            material.load_run(run.id) for run in runs_that_differ(material.runs, option)
        ]
        if len(runs) < 2:
            raise StateError(f"experiment {name}: needs {needed}")
        return _judge_runs(runs, option)

    def lacking(material: Material) -> list[str]:
        return [] if runs_that_differ(material.runs, option) else [needed]

    return idea(name, title, question, ("labels",), OfRuns, judge, lacking)


def runs_that_differ(runs: Sequence[Run], option: str) -> list[Run]:
    """Return the largest group of runs with equal specifications except for one option, by its
    value.

    If two runs have the same value, the older one is used. Return [] if there are no two values.
    """
    groups: dict[str, dict[str, Run]] = {}
    for run in runs:
        options = run.spec.get("options")
        if isinstance(options, Mapping) and option in options:
            rest = {
                **run.spec,
                "options": {name: value for name, value in options.items() if name != option},
            }
            key = json.dumps(rest, sort_keys=True, default=str)
            groups.setdefault(key, {}).setdefault(str(options[option]), run)
    largest = max(groups.values(), key=len, default={})
    return [run for _, run in sorted(largest.items())] if len(largest) > 1 else []


def _judge_runs(runs: Sequence[RunRows], option: str) -> Judged:
    """Compare runs with the first one, on their common labelled rows, inside the cells of each."""
    if len(runs) > MOST or len({each.run.id for each in runs}) < len(runs):
        names = ", ".join(each.run.name for each in runs)
        raise InputError(f"runs: got {names}; expected 2 to {MOST} runs, each once")
    shared = _shared_rows(runs)
    first, cells = shared[0], combine_codes(*(each.cells for each in shared))
    arms = [
        Ranking(
            _title(each, option),
            (each.scores,),
            f"{each.run.method}, {int((~each.covered).sum())} stand-ins",
            each.run.id,
        )
        for each in shared
    ]
    remark = f"Scored on the {len(first):,} labelled rows that all {len(shared)} runs have."
    trial = Trial(first.labels, Rows(first.pert, first.gene), (cells,), first.scored)
    return Judged(trial, arms, (remark,), is_computed=False)


def _title(rows: RunRows, option: str) -> str:
    value = rows.run.spec.get("options", {}).get(option)
    return rows.run.name if value is None else f"{rows.run.name} ({option} {value or 'of the run'})"


def _shared_rows(runs: Sequence[RunRows]) -> list[RunRows]:
    """Return the common labelled rows of the runs, from each run, in the same order."""
    shared = reduce(np.intersect1d, [each.positions for each in runs])
    kept = shared[pd.notna(runs[0].index.labels[shared])]
    if not len(kept):
        raise InputError(
            f"runs: {', '.join(each.run.name for each in runs)} have no labelled row in common"
        )
    orders = [np.argsort(each.positions) for each in runs]
    return [
        each.take(order[np.isin(each.positions[order], kept)])
        for each, order in zip(runs, orders, strict=True)
    ]


JUDGES = idea_of_option(
    "judges",
    "Sharp against plain judges",
    "Does it matter how the judges of a debate answer?",
    option="judge",
    how="`perturbdesk run debate --rows sample=500 --set judge=sharp, then another`",
)
ROUNDS = idea_of_option(
    "rounds",
    "Rounds of a debate",
    "Do briefs and rebuttals help the judges, or is the dossier enough?",
    option="rounds",
    how="`perturbdesk run debate --rows sample=500 --set rounds=0, then 1 and 2`",
)
SEED_ENSEMBLES = idea_of_option(
    "seed_ensembles",
    "Seed ensembles",
    "Is a mean over several seeds better than one seed?",
    option="seeds",
    how="`perturbdesk run debate --rows sample=500, then --set seeds=42,43,44`",
)
