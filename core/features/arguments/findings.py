"""Kinds of findings: what is declared of each (its schema, and what becomes of its findings), and
the findings of a reading. Claims: what briefs say that one gene does to another. The clash of
debates: which points are answered, ignored, or decide the judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from core.base.feature import resolve
from core.features.arguments import rubric_tables
from core.features.arguments.rubric import Rubric
from core.features.arguments.schema import Field, Schema
from core.store import Cursor

if TYPE_CHECKING:
    import pandas as pd


Which = Callable[["pd.DataFrame"], "pd.Series[bool]"]
DECLARED = ("core.features.arguments.findings:CLAIMS", "core.features.arguments.findings:CLASH")


@dataclass(frozen=True, slots=True)
class FindingKind:
    """A kind of finding. texts: what is read, in the plural.

    answers: the findings that only answer the question of their row. statuses: what can become of a
    finding, which `settle` says of each. counted: further ones that are counted, by what their
    columns say. worth: those for which rows are compared.
    """

    schema: Schema
    texts: str
    answers: Which | None = None
    statuses: tuple[str, ...] = ()
    settle: Callable[[pd.DataFrame], Sequence[str]] | None = None
    counted: Mapping[str, Which] = field(default_factory=dict)
    worth: tuple[str, ...] = ()

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
        names = [name for name in self.schema.columns if name != "invented"]
        names += ["status"] if self.settle is not None else []
        fields = {name.replace("_", " "): finding[name] or None for name in names}
        return {"row": finding["pair_id"], "role": finding["role"], **fields}


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
    db: Cursor, kind: FindingKind, reading: str, pair_id: str | None = None
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
    findings = (
        listed.astype({"seq": np.int64})
        .merge(texts[[*_KEY, "has_verdict"]], on=_KEY)
        .drop_duplicates([*_KEY, *kind.schema.key])
    )
    findings["is_answer"] = False if kind.answers is None else kind.answers(findings)
    if kind.settle is not None:
        findings["status"] = kind.settle(findings)
    having = pd.MultiIndex.from_frame(findings.loc[~findings["is_answer"].astype(bool), _KEY])
    answer = np.where(pd.MultiIndex.from_frame(texts[_KEY]).isin(having), "yes", "no")
    return texts.assign(
        answer=np.where(texts["answer"].isna(), "", answer), p=np.nan, passage=""
    ), findings


RELATIONS: Final = ("activates", "represses", "regulates", "binds", "acts with")
_SYMMETRIC = ("binds", "acts with")


def _answers_question(claims: pd.DataFrame) -> pd.Series[bool]:
    """Return whether each claim only says that the perturbation acts on the target gene of its row,
    or with it."""
    subject, target, pert, gene = (
        claims[name].str.casefold() for name in ("subject", "object", "pert", "gene")
    )
    is_symmetric = claims["relation"].isin(_SYMMETRIC)
    is_reversed: pd.Series[bool] = is_symmetric & (subject == gene) & (target == pert)
    return is_reversed | ((subject == pert) & (target == gene))


CLAIMS = FindingKind(
    Schema(
        Rubric(
            "claims",
            "Does the brief claim something about two genes, apart from the effect that is asked"
            " about?",
        ),
        listed="claims",
        of="text",
        role=(
            "You read a text that a language model wrote about two genes, and list what it claims"
            " about genes: which gene does what to which other gene."
        ),
        request="List every claim that the text makes about two genes.",
        fields=(
            Field("subject", "the gene that acts, spelled as in the text.", "word"),
            Field(
                "relation",
                '"regulates" leaves the direction open; "binds" is a physical interaction; "acts'
                ' with" is a shared pathway or process.',
                "choice",
                RELATIONS,
            ),
            Field("object", "the gene that is acted on, spelled as in the text.", "word"),
            Field("quote", "the sentence that makes the claim, copied word for word."),
        ),
        key=("subject", "relation", "object"),
        note=(
            'A loss turns the relation around: "knockdown of X lowers Y" claims that X activates Y.'
            " What is asked, denied or doubted is no claim. If the text claims nothing, the list is"
            " empty."
        ),
    ),
    texts="texts",
    answers=_answers_question,
)


def _settle_points(points: pd.DataFrame) -> list[str]:
    return [
        "answered" if answer else "unclear" if "answer" in invented else "ignored"
        for answer, invented in zip(points["answer"], points["invented"], strict=True)
    ]


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
    settle=_settle_points,
    counted={
        "judged": lambda points: points["has_verdict"].eq(True),
        "decisive": lambda points: points["verdict"] != "",
        "decisive and ignored": lambda points: (
            (points["verdict"] != "") & (points["status"] == "ignored")
        ),
    },
    worth=("ignored", "decisive and ignored"),
)
