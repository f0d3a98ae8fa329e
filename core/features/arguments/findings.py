"""The findings in texts, by the rule of their kind or as a model's reading lists them, and what became of each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from core.actions.workspace import Workspace
from core.errors import InputError
from core.features.arguments.claim_knowledge import NOTHING, ClaimKnowledge, load_knowledge
from core.features.arguments.finding_kinds import FindingKind
from core.store import Cursor, rubrics

OF_TEXT = ("pair_id", "pert", "gene", "seq", "stage", "role")
Findings = tuple[pd.DataFrame, pd.DataFrame]


def by_rule(kind: FindingKind, texts: pd.DataFrame, contents: Iterable[str], knowledge: ClaimKnowledge) -> Findings:
    """Return texts (`OF_TEXT`) with the rule's answer, and its findings, a line each."""
    if kind.rule is None:
        raise InputError(f"rubric {kind.name}: has neither rule nor pattern; expected a reading by a model")
    places = texts[[*OF_TEXT]].to_dict("records")
    found = [
        {**place, **finding}
        for place, content in zip(places, contents, strict=True)
        for finding in kind.rule(content, knowledge.symbols)
    ]
    return _settle(kind, [{**place, "roles": [place["role"]], "answer": ""} for place in places], found, knowledge)


def by_model(db: Cursor, kind: FindingKind, reading: str, knowledge: ClaimKnowledge, pair_id: str | None = None) -> Findings:
    """Return the same of a finished reading (id). The answer about a text that it could not read is ""."""
    events = [{"seq": event.pop("of_seq"), **event} for event in rubrics.findings(db, reading, pair_id)]
    asked, found = ([event for event in events if event["kind"] == of] for of in ("reading", "finding"))
    judged = {(event["pair_id"], event["seq"]): event["has_verdict"] for event in asked}
    found = [{**event, "has_verdict": judged[event["pair_id"], event["seq"]]} for event in found]
    return _settle(kind, asked, found, knowledge)


def _settle(kind: FindingKind, asked: list[Any], found: list[Any], knowledge: ClaimKnowledge) -> Findings:
    """Return the texts with whether one has a finding beside the question, and the findings with what became of each."""
    texts = pd.DataFrame(asked, columns=[*OF_TEXT, "roles", "answer", "has_verdict", "invented"])
    findings = pd.DataFrame(found, columns=[*OF_TEXT, "has_verdict", *kind.schema.columns])
    findings = kind.settle(findings.assign(is_answer=False), knowledge).drop_duplicates(["pair_id", "seq", *kind.schema.key])
    having = pd.MultiIndex.from_frame(findings.loc[~findings["is_answer"], ["pair_id", "seq"]])
    answer = np.where(pd.MultiIndex.from_frame(texts[["pair_id", "seq"]]).isin(having), "yes", "no")
    return texts.assign(answer=np.where(texts["answer"].isna(), "", answer), p=np.nan, passage=""), findings


def knowledge_for(workspace: Workspace, kind: FindingKind, dataset: str) -> ClaimKnowledge:
    """Return what checks the findings of a kind."""
    return load_knowledge(workspace, dataset) if kind.checks else NOTHING
