"""Saved runs as arms: runs named by a person, or runs that differ in only one option."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from core.errors import InputError
from core.experiments.ablations.arms import Arm, Trial, describe_changes, score_arms
from core.experiments.ablations.base import Ablation, Outcome
from core.experiments.ablations.material import Material, MissingInput
from core.methods.base import Option
from core.scoring.run_scores import RunRows
from core.stats.scored_rows import combine_codes
from core.store.runs import Run
from core.transfer.labelled_rows import Rows

RUNS = Option("runs", "runs", "", "Runs to compare, the baseline first; by default, runs that differ only in this option.")
MOST = 12


def runs_that_differ(material: Material, option: str) -> list[Run]:
    """Return the largest group of runs on labelled rows with equal specifications except for one option, by its value.

    If two runs have the same value, the older one is used. Return {} if there are no two values.
    """
    groups: dict[str, dict[str, Run]] = {}
    for run in material.runs:
        options = run.spec.get("options")
        if run.id in material.labelled_runs and isinstance(options, Mapping) and option in options:
            rest = {**run.spec, "options": {name: value for name, value in options.items() if name != option}}
            key = json.dumps(rest, sort_keys=True, default=str)
            groups.setdefault(key, {}).setdefault(str(options[option]), run)
    largest = max(groups.values(), key=len, default={})
    return [run for _, run in sorted(largest.items())] if len(largest) > 1 else []


def score_runs(material: Material, names: str, option: str, how: str) -> Outcome:
    """Score runs against the first one, on their common labelled rows, inside the cells of each.

    how: a command that makes the missing runs. Raise MissingInput without two runs, InputError for runs without a common row.
    """
    chosen = material.chosen_runs(names) or [material.load_run(run.id) for run in runs_that_differ(material, option)]
    if len(chosen) < 2:
        raise MissingInput(f"needs {_what_is_needed(option, how)}")
    if len(chosen) > MOST or len({each.run.id for each in chosen}) < len(chosen):
        raise InputError(f"runs: got {', '.join(each.run.name for each in chosen)}; expected 2 to {MOST} runs, each once")
    shared = _shared_rows(chosen)
    first, cells = shared[0], combine_codes(*(each.cells for each in shared))
    trial = Trial(first.labels, Rows(first.pert, first.gene), (cells,), first.scored)
    notes = [f"{each.run.method}, {int((~each.covered).sum())} stand-ins" for each in shared]
    arms = [Arm(_title(each, option), (each.scores,), note) for each, note in zip(shared, notes, strict=True)]
    table = score_arms(trial, arms, arms[0].name)
    remark = f"Scored on the {len(first):,} labelled rows that all {len(shared)} runs have."
    return Outcome(table, describe_changes(table, arms[0].name), (remark,))


def _what_is_needed(option: str, how: str) -> str:
    return f"two runs on the same labelled rows that differ only in {option}: make them with {how}, or choose two with runs"


def _title(rows: RunRows, option: str) -> str:
    value = rows.run.spec.get("options", {}).get(option)
    return rows.run.name if value is None else f"{rows.run.name} ({option} {value or 'of the run'})"


def _shared_rows(runs: Sequence[RunRows]) -> list[RunRows]:
    """Return the common labelled rows of the runs, from each run, in the same order."""
    positions = set(map(int, runs[0].positions)).intersection(*(map(int, each.positions) for each in runs[1:]))
    labels = runs[0].index.labels
    kept = np.array(sorted(position for position in positions if labels[position] is not None), dtype=np.intp)
    if not len(kept):
        raise InputError(f"runs: {', '.join(each.run.name for each in runs)} have no labelled row in common")
    found = []
    for each in runs:
        at = {int(position): i for i, position in enumerate(each.positions)}
        found.append(each.take(np.array([at[int(position)] for position in kept], dtype=np.intp)))
    return found


def ablation_of_option(name: str, title: str, question: str, option: str, how: str) -> Ablation:
    """Return the ablation of runs that differ in one option."""

    def make(material: Material, options: Mapping[str, Any]) -> Outcome:
        return score_runs(material, options["runs"], option, how)

    def find_lacking(material: Material) -> list[str]:
        return [] if runs_that_differ(material, option) else [_what_is_needed(option, how)]

    return Ablation(name, title, question, ("labels",), (RUNS,), make, find_lacking)


JUDGES = ablation_of_option(
    name="judges",
    title="Sharp against plain judges",
    question="Does it matter how the judges of a debate answer?",
    option="judge",
    how="`perturbdesk run debate --rows sample=500 --set judge=sharp, then another`",
)

ROUNDS = ablation_of_option(
    name="rounds",
    title="Rounds of a debate",
    question="Do briefs and rebuttals help the judges, or is the dossier enough?",
    option="rounds",
    how="`perturbdesk run debate --rows sample=500 --set rounds=0, then 1 and 2`",
)

SEED_ENSEMBLES = ablation_of_option(
    name="seed_ensembles",
    title="Seed ensembles",
    question="Is a mean over several seeds better than one seed?",
    option="seeds",
    how="`perturbdesk run debate --rows sample=500, then --set seeds=42,43,44`",
)
