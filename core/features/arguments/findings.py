"""The findings in texts, as a model's reading lists them, and what became of each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from core.features.arguments import rubric_tables
from core.features.arguments.finding_kinds import FindingKind
from core.store import Cursor

_OF_TEXT = ("pair_id", "pert", "gene", "seq", "stage", "role", "has_verdict")
_KEY = ["pair_id", "seq"]


def load_findings(
    db: Cursor,
    kind: FindingKind,
    reading: str,
    knowledge: Any,
    pair_id: str | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the texts of a reading (id), and the findings in them with what became of each.

    A text's answer is whether it has a finding that does more than answer the question of its row;
    "" if it could not be read. pair_id: of one row alone.
    """
    by_kind: dict[str, list[dict[str, Any]]] = {"reading": [], "finding": []}
    for event in rubric_tables.findings(db, reading, pair_id):
        by_kind[event["kind"]].append(event)
    texts = pd.DataFrame(
        by_kind["reading"], columns=[*_OF_TEXT, "roles", "answer", "invented"]
    ).astype({"seq": np.int64})
    listed = pd.DataFrame(by_kind["finding"], columns=[*_OF_TEXT[:-1], *kind.schema.columns])
    listed = (
        listed.astype({"seq": np.int64})
        .merge(texts[[*_KEY, "has_verdict"]], on=_KEY)
        .assign(is_answer=False)
    )
    findings = kind.settle(listed, knowledge).drop_duplicates([*_KEY, *kind.schema.key])
    having = pd.MultiIndex.from_frame(findings.loc[~findings["is_answer"], _KEY])
    answer = np.where(pd.MultiIndex.from_frame(texts[_KEY]).isin(having), "yes", "no")
    return texts.assign(
        answer=np.where(texts["answer"].isna(), "", answer), p=np.nan, passage=""
    ), findings
