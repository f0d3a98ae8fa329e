"""Kinds of findings: what is declared of each (its schema, and what becomes of its findings), the
findings of a reading, and the clash of debates: which points are answered, ignored, or decide the
judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from core.base.feature import resolve
from core.features.arguments import rubric_tables
from core.features.arguments.rubric import Rubric
from core.features.arguments.schema import Field, Schema
from core.store import Cursor

if TYPE_CHECKING:
    import pandas as pd

    from core.runs.workspace import Workspace


Which = Callable[["pd.DataFrame"], "pd.Series[bool]"]
DECLARED = ("core.features.arguments.claims:CLAIMS", "core.features.arguments.findings:CLASH")


@dataclass(frozen=True, slots=True)
class FindingKind:
    """A kind of finding. texts: what is read, in the plural.

    statuses: what can become of a finding; settle: gives a table of findings the columns status,
    pack and entry. counted: further ones that are counted, by what their columns say. worth: those
    for which rows are compared. load_knowledge: of a dataset, what `settle` checks findings by.
    """

    schema: Schema
    texts: str
    statuses: tuple[str, ...]
    settle: Callable[[pd.DataFrame, Any], pd.DataFrame]
    worth: tuple[str, ...]
    counted: Mapping[str, Which] = field(default_factory=dict)
    load_knowledge: Callable[[Workspace, str], Any] | None = None

    @property
    def checks(self) -> bool:
        """Whether findings are checked by knowledge packs."""
        return self.load_knowledge is not None

    def knowledge_of(self, workspace: Workspace, dataset: str) -> Any:
        """Return what checks the findings of a dataset; None where nothing does."""
        return self.load_knowledge and self.load_knowledge(workspace, dataset)

    @property
    def name(self) -> str:
        """The name of its rubric."""
        return self.schema.rubric.name

    @property
    def which(self) -> Mapping[str, Which]:
        """All that is counted: name → whether a finding is one."""
        return {**{status: _has(status) for status in self.statuses}, **self.counted}

    def row(self, finding: Mapping[Any, Any]) -> dict[str, Any]:
        """Return a finding as a row of a table."""
        fields = {
            name.replace("_", " "): finding[name] or None
            for name in self.schema.columns
            if name != "invented"
        }
        entry = f"{finding['pack']}: {finding['entry']}" if finding["pack"] else None
        return {
            "row": finding["pair_id"],
            "role": finding["role"],
            **fields,
            "status": finding["status"],
            "pack entry": entry,
        }


def _has(status: str) -> Which:
    return lambda findings: findings["status"] == status


@cache
def kinds() -> Mapping[str, FindingKind]:
    """Return the kinds of findings by the name of their rubric. A new one is a file, named in
    DECLARED."""
    return {kind.name: kind for kind in map(resolve, DECLARED)}


def kind_of(rubric: Rubric) -> FindingKind | None:
    """Return the kind of finding that a rubric's answer lists; None for a rubric with fixed
    answers."""
    kind = kinds().get(rubric.name)
    return kind if kind is not None and kind.schema.rubric == rubric else None


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
    import numpy as np
    import pandas as pd

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


def _settle(points: pd.DataFrame, _knowledge: object) -> pd.DataFrame:
    status = [
        "answered" if answer else "unclear" if "answer" in invented else "ignored"
        for answer, invented in zip(points["answer"], points["invented"], strict=True)
    ]
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
