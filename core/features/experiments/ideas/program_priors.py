"""Compare the expected direction of a target gene's curated program with the labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge

from core.base.fields.setting import setting
from core.base.result import Table
from core.evidence.tools.gene_class import PROGRAMS, program_of
from core.features.experiments.ideas.arms import Ranking, Trial
from core.features.experiments.ideas.idea import Cuts, Judged, OnLabels, idea
from core.features.experiments.ideas.material import Material
from core.features.experiments.ideas.priors import learn_in_folds, make_trial
from core.stats.arrays import Bools, Codes, Floats, count_codes
from core.stats.scores_and_labels import Scores, scores_from_probabilities

LABELS = ("up", "down", "none")
NO_PROGRAM = "no program"
_SIGN = {"up": 1.0, "down": -1.0}


@dataclass(frozen=True, slots=True)
class ProgramSettings(OnLabels):
    """How far rates are shrunk, and the cuts."""

    strength: Annotated[
        float, Ge(0.0), setting("Number of pseudo-rows at the base rate added to each program.")
    ] = 20.0
    cuts: Cuts = 10


def program_counts(labels: Iterable[str], programs: Sequence[str]) -> list[dict[str, Any]]:
    """Return each program of the target gene with program, expected (up, down or ""), rows, up,
    down, none; most rows first."""
    expected = {program.name: program.expected for program in PROGRAMS}
    counts = Counter(zip(programs, labels, strict=True))
    return [
        {
            "program": name,
            "expected": expected.get(name, ""),
            "rows": n,
            **{label: counts[name, label] for label in LABELS},
        }
        for name, n in Counter(programs).most_common()
    ]


def _rates(trial: Trial, code: Codes, n_cuts: int, strength: float) -> tuple[Scores, ...]:
    """Return each program's rates among the rows visible to a row, mixed with `strength`
    pseudo-rows at their base rate."""
    n = count_codes(code)

    def learn(inside: Bools, seen: Bools, positive: Bools) -> Floats:
        base = positive[seen].mean() if seen.any() else 0.5
        hits, rows = (np.bincount(code[chosen], minlength=n) for chosen in (seen & positive, seen))
        shares: Floats = (hits + strength * base) / (rows + strength)
        return shares[code[inside]]

    return learn_in_folds(trial, n_cuts, learn)


def _judge_programs(material: Material, chosen: ProgramSettings) -> Judged:
    trial = make_trial(material, chosen.cuts)
    programs = [program_of(symbol)[1] for symbol in material.symbols(trial.rows.gene)]
    names = [program.name if program else NO_PROGRAM for program in programs]
    code = np.unique(names, return_inverse=True)[1].astype(np.intp)
    rule = scores_from_probabilities(
        np.array([program is not None for program in programs], dtype=float),
        np.array([_SIGN[program.expected] if program else 0.0 for program in programs]),
    )
    arms = [
        Ranking(
            "base rate",
            _rates(trial, np.zeros_like(code), chosen.cuts, chosen.strength),
            "no program",
        ),
        Ranking(
            "as expected",
            (rule,) * chosen.cuts,
            "saw no label: a program changes, in its expected direction",
        ),
        Ranking(
            "rates of programs",
            _rates(trial, code, chosen.cuts, chosen.strength),
            "learned in folds",
        ),
    ]
    counts = program_counts(trial.labels, names)
    covered = np.mean([program is not None for program in programs])
    remark = f"{covered:.0%} of rows have a gene of a curated program; the others tie."
    return Judged(trial, arms, (remark,), details=(Table("Programs", tuple(counts)),))


PROGRAM_PRIORS = idea(
    "program_priors",
    "Program priors",
    "Do genes of known programs (stress, p53, ribosome, cell cycle) change in the expected"
    " direction?",
    ("labels",),
    ProgramSettings,
    _judge_programs,
)
