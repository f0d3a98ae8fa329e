"""Results of rubrics: rates with and without labels and by a rule, and worth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from core.base.result import Result
from core.features.arguments.rates import RULE, RubricRates, rates_by_role
from core.features.arguments.rubric import Rubric
from core.features.arguments.worth import rubric_worth
from tests.scoring.test_run_scores import GENE, PERT, rows_of

RUBRIC = Rubric("pathway", "Does the brief name a pathway?")
OTHER = Rubric("row", "Is it so?", unit="row")


def rates(n_labels: int, judge: str = "ab12") -> RubricRates:
    """400 texts of two roles, of which the judge cannot read two and is wrong about some."""
    rng = np.random.default_rng(1)
    n = np.arange(400)
    reading = (rng.random(400) < 0.3).astype(float)
    reading[:2] = np.nan
    label = np.where(n < n_labels, np.nan_to_num(reading) * (rng.random(400) < 0.9), np.nan)
    frame = pd.DataFrame(
        {
            "role": np.where(n % 2, "EFFECT", "NULL"),
            "pert": n % 37,
            "gene": n // 11,
            "reading": reading,
        }
    )
    frame["answer"] = np.select([reading == 1, reading == 0], ["yes", "no"], "")
    frame = frame.assign(
        says_yes=reading == 1, label=label, weight=np.where(n < n_labels, 400 / max(n_labels, 1), 0)
    )
    name = "its rule" if judge == RULE else "pathway of run 7"
    about = (
        RUBRIC.name,
        RUBRIC.question,
        "run 7",
        judge,
        "yes",
        rates_by_role(frame, judge, RUBRIC.answers),
    )
    kappa = about[-1]["all"].rate  # any interval
    return RubricRates(*about, kappa if n_labels else None, 12 if n_labels else 0, name)


def readings(answers: Sequence[str]) -> pd.DataFrame:
    ids = [f"{pert}_{gene}" for pert, gene in zip(PERT, GENE, strict=True)][: len(answers)]
    return pd.DataFrame(
        {"pair_id": ids, "seq": 0, "role": "EFFECT", "answer": answers, "p": np.nan}
    )


def examples() -> Sequence[Result]:
    hits = pd.Series(["hit", "miss", "hit", None, "hit", "hit", "miss", "miss"])
    one = (RUBRIC, readings(["yes", "no", "yes", "no", "no", "yes", "no", ""]))
    two = (OTHER, readings(["yes", "yes", "no", "no", "no", "yes", "no", "yes"]))
    worth = [rubric_worth(rows_of(), hits, tried) for tried in ([one], [one, two])]
    return rates(0), rates(20), rates(120), rates(0, RULE), *worth
