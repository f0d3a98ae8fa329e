"""program_priors: compare the expected direction of a target gene's curated program with the labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from core.evidence.tools.gene_class import PROGRAMS, program_of
from core.experiments.ablations.arms import Arm, Trial, describe_changes, score_arms
from core.experiments.ablations.base import Ablation, Outcome
from core.experiments.ablations.material import Material
from core.experiments.ablations.priors import CUTS, K, make_trial
from core.methods.base import Option
from core.stats.arrays import Bools, Codes, Floats
from core.stats.scores_and_labels import Scores, outcome_of, scores_from_probabilities
from core.transfer.protocols import EvaluationProtocol, parts_of

NO_PROGRAM = "no program"
BASE = "base rate"
EXPECTED = "as expected"
_SIGN = {"up": 1.0, "down": -1.0}


def program_counts(labels: Any, programs: list[str]) -> pd.DataFrame:
    """Return one row for each program of the target gene: program, expected (up, down or ""), rows, up, down, none."""
    expected = {program.name: program.expected for program in PROGRAMS}
    frame = pd.DataFrame({"program": programs, "label": labels})
    counts = pd.crosstab(frame["program"], frame["label"]).reindex(columns=["up", "down", "none"], fill_value=0)
    table = counts.assign(rows=counts.sum(axis=1)).reset_index()
    table["expected"] = table["program"].map(expected).fillna("")
    return table[["program", "expected", "rows", "up", "down", "none"]].sort_values("rows", ascending=False, ignore_index=True)


def _rates(trial: Trial, code: Codes, seed: int, strength: float) -> Scores:
    """Return each program's rates among the rows visible to a row, mixed with `strength` pseudo-rows at their base rate."""
    outcome, rows = outcome_of(trial.labels), trial.rows
    parts = parts_of(EvaluationProtocol("folds", K, seed), rows, rows)
    assert parts is not None
    pert, gene = parts.pert[rows.pert], parts.gene[rows.gene]
    n = int(code.max(initial=0)) + 1
    de, up = np.full((2, len(rows)), np.nan)
    for i in range(K):
        for j in range(K):
            inside = (pert == i) & (gene == j)
            if inside.any():
                seen = (pert != i) & (gene != j)
                de[inside] = _shares(outcome.effect, seen, code, n, strength)[code[inside]]
                up[inside] = _shares(outcome.up, seen & outcome.directed, code, n, strength)[code[inside]]
    return scores_from_probabilities(de, up)


def _shares(happened: Bools, seen: Bools, code: Codes, n: int, strength: float) -> Floats:
    base = happened[seen].mean() if seen.any() else 0.5
    hits, rows = (np.bincount(code[chosen], minlength=n) for chosen in (seen & happened, seen))
    shares: Floats = (hits + strength * base) / (rows + strength)
    return shares


def _make(material: Material, options: Mapping[str, Any]) -> Outcome:
    trial = make_trial(material, options["cuts"])
    found = [program_of(symbol)[1] for symbol in material.symbols(trial.rows.gene)]
    names = [program.name if program else NO_PROGRAM for program in found]
    code = np.unique(names, return_inverse=True)[1].astype(np.intp)
    seeds = range(options["cuts"])
    nothing = np.zeros(len(names), dtype=np.intp)
    rule = scores_from_probabilities(
        np.array([program is not None for program in found], dtype=float),
        np.array([_SIGN[program.expected] if program else 0.0 for program in found]),
    )
    arms = [
        Arm(BASE, tuple(_rates(trial, nothing, seed, options["strength"]) for seed in seeds), "no program"),
        Arm(EXPECTED, (rule,) * options["cuts"], "saw no label: a program changes, in its expected direction"),
        Arm("rates of programs", tuple(_rates(trial, code, seed, options["strength"]) for seed in seeds), "learned in folds"),
    ]
    table, counts = score_arms(trial, arms, BASE), program_counts(trial.labels, names)
    covered = np.mean([program is not None for program in found])
    remark = f"{covered:.0%} of rows have a gene of a curated program; the others tie."
    return Outcome(table, f"{describe_expectations(counts)} {describe_changes(table, BASE)}", (remark,), counts)


def describe_expectations(counts: pd.DataFrame) -> str:
    """Describe which programs move as expected and which do not, with their counts of up and down."""
    listed = counts[counts["expected"] != ""]
    if listed.empty:
        return "No target gene belongs to a curated program."
    parts = []
    for row in listed.to_dict("records"):
        with_it, against = (int(row["up"]), int(row["down"])) if row["expected"] == "up" else (int(row["down"]), int(row["up"]))
        word = "no changed row" if with_it + against == 0 else "borne out" if with_it > against else "not borne out"
        parts.append(f"{row['program']} expected {row['expected']}, {row['up']} up and {row['down']} down: {word}")
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


ABLATION = Ablation(
    name="program_priors",
    title="Program priors",
    question="Do genes of known programs (stress, p53, ribosome, cell cycle) change in the expected direction?",
    needs=("labels",),
    options=(
        Option("strength", "float", 20.0, "Number of pseudo-rows at the base rate added to each program.", least=0.0),
        CUTS,
    ),
    make=_make,
)
