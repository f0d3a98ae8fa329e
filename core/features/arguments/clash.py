"""Clash: which points of a debate are answered, ignored, or decide the judge, as a model reads
it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.features.arguments.finding_kinds import FindingKind
from core.features.arguments.rubric import Rubric
from core.features.arguments.schema import Field, Schema


def _settle(points: pd.DataFrame, _knowledge: object) -> pd.DataFrame:
    unclear = ["answer" in invented for invented in points["invented"]]
    status = np.where(points["answer"] != "", "answered", np.where(unclear, "unclear", "ignored"))
    return points.assign(status=status, pack="", entry="")


CLASH = FindingKind(
    Schema(
        Rubric(
            "clash",
            "Which points of a debate are answered, ignored, or decide the judge?",
            unit="speech",
        ),
        listed="points",
        of="debate",
        role=(
            "You read a debate between language models and say which points were made, which of"
            " them were answered, and which the judge took up. The debate is about whether"
            " perturbing one gene changes the expression of another."
        ),
        request="List the main points of every side, at most five a side.",
        fields=(
            Field("side", "the side that makes it.", "side"),
            Field(
                "point",
                "the sentence that makes it, copied word for word from that side's speeches.",
            ),
            Field(
                "answer",
                'the sentence of another side that answers it, copied word for word; "" if no side'
                " answers it.",
                of="others",
                optional=True,
            ),
            Field(
                "verdict",
                "the sentence of JUDGE that takes it up as a reason for the verdict, copied word"
                ' for word; "" if none does.',
                of="judge",
                optional=True,
            ),
        ),
        key=("side", "point"),
    ),
    texts="debates",
    statuses=("answered", "ignored", "unclear"),
    settle=_settle,
    counted={
        "judged": lambda points: points["has_verdict"].eq(True),
        "decisive": lambda points: points["verdict"] != "",
        "decisive and ignored": lambda points: (
            (points["verdict"] != "") & (points["status"] == "ignored")
        ),
    },
    worth=("ignored", "decisive and ignored"),
)
