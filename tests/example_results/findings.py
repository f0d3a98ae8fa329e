"""Results of readings with a schema: claims, the clash of debates, and a reading without findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from core.base.result import Result
from core.features.arguments.findings import CLAIMS, CLASH, FindingKind
from core.features.arguments.rubric import count_answers
from core.features.arguments.schema_reading import SchemaReading, count_by_role
from tests.example_results.rubrics import examples as rubric_examples

PLACES = [
    {"pair_id": f"Pa_G{i % 7}", "pert": "Pa", "gene": f"G{i % 7}", "seq": i, "stage": "de"}
    for i in range(20)
]


def reading(
    kind: FindingKind, findings: Sequence[Mapping[str, Any]], **others: Any
) -> SchemaReading:
    """Findings in 20 texts or debates, of which a model cannot read two."""
    sides = ["EFFECT", "NULL"] if kind.schema.of == "debate" else ["EFFECT"]
    asked = pd.DataFrame(PLACES).assign(role="EFFECT", has_verdict=True, answer="yes")
    asked = asked.assign(roles=[sides] * len(asked))
    frame = pd.DataFrame(
        [{**PLACES[i % 20], **each} for i, each in enumerate(findings)],
        columns=[
            *asked.drop(columns="answer"),
            *kind.schema.columns,
            "status",
            "is_answer",
        ],
    ).astype({"is_answer": bool})
    own = frame[~frame["is_answer"]]
    return SchemaReading(
        kind,
        kind.name,
        kind.schema.rubric.question,
        "debate",
        "ab12",
        "scripted",
        n=18,
        unread=2,
        judged=11,
        n_findings=len(own),
        answers=len(frame) - len(own),
        statuses={status: int((own["status"] == status).sum()) for status in kind.statuses},
        quotes=31,
        roles=count_answers(kind.schema.rubric, asked),
        counts=tuple(count_by_role(kind, asked, frame)),
        findings=tuple(frame.to_dict("records")),
        **{"invented": 0, "replies": True, "worth": None, **others},
    )


def examples() -> Sequence[Result]:
    *_, worth = rubric_examples()
    claims = [
        {
            **dict.fromkeys(CLAIMS.schema.columns, "Ga"),
            "quote": "It is so.",
            "role": "EFFECT",
            "is_answer": i % 5 == 0,
        }
        for i in range(41)
    ]
    points = [
        {
            **dict.fromkeys(CLASH.schema.columns, "It is so."),
            "invented": [],
            "role": ("EFFECT", "NULL")[i % 2],
            "is_answer": False,
        }
        | {"status": CLASH.statuses[i % 3], "has_verdict": True}
        for i in range(25)
    ]
    return (
        reading(CLAIMS, claims, invented=3),
        reading(CLASH, points, worth=worth, replies=False),
        reading(CLASH, []),
    )
