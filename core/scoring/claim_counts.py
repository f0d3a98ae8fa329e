"""The claims of a run's texts: how many of each role are supported, contradicted or not known, and what they are worth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from core.audit.claim_checks import STATUSES, ClaimsRequest, Knowledge
from core.audit.claims import Symbols, find_claims
from core.audit.rubric import Rubric
from core.scoring.argument_kinds import RunTexts
from core.scoring.rubric_words import worth_shape
from core.scoring.rubric_worth import RubricWorth, load_outcomes, rubric_worth
from core.scoring.run_scores import load_scored_rows
from core.store import Cursor
from core.store.runs import Run

_COLUMNS = ("subject", "relation", "object", "status", "is_answer")
_OF_TEXT = ("pair_id", "pert", "gene", "seq", "stage", "role", "outcome")


@dataclass(frozen=True, slots=True)
class ClaimCount:
    """The claims of one role. texts, claiming: its texts, and those that claim something. answers: claims that the perturbation
    does something to the gene of their own row, which is the question itself; they are in no other number. supported,
    contradicted, not_known: of the other claims."""

    role: str
    texts: int
    claiming: int
    answers: int
    supported: int
    contradicted: int
    not_known: int


@dataclass(frozen=True, slots=True, eq=False)
class RunClaims:
    """The claims of a run's texts. claims: one a row, in file order: pair_id, pert, gene, seq, stage,
    role, outcome, subject, relation, object, status, is_answer. readings: of each status, whether a text makes such a claim, as a
    rubric and its answers. sources: the packs by which claims were checked. worth: of the readings, where rows have labels."""

    run: Run
    texts: str
    counts: tuple[ClaimCount, ...]
    claims: pd.DataFrame
    readings: Sequence[tuple[Rubric, pd.DataFrame]]
    sources: tuple[str, ...]
    worth: tuple[RubricWorth, ...] = ()


def find_run_claims(texts: RunTexts, symbols: Symbols, knowledge: Knowledge) -> RunClaims:
    """Return the claims of some texts, counted by role."""
    found = [
        (place, *claim, knowledge.status(claim))
        for place, text in enumerate(texts.content)
        for claim in find_claims(text, symbols)
    ]
    claims = pd.DataFrame(found, columns=["place", *_COLUMNS[:-1]]).set_index("place").join(texts.frame[[*_OF_TEXT]])
    claims["is_answer"] = claims["subject"].eq(claims["pert"]) & claims["object"].eq(claims["gene"])
    counts = tuple(_count(str(role), of_role, claims) for role, of_role in texts.frame.groupby("role", sort=False))
    listed = claims[[*_OF_TEXT, *_COLUMNS]].reset_index(drop=True)
    return RunClaims(texts.run, texts.name, counts, listed, _readings(texts.frame, claims), knowledge.sources)


def with_worth(db: Cursor, found: RunClaims) -> RunClaims:
    """Return the claims with what they are worth; as they are for a run without labels."""
    rows = load_scored_rows(db, found.run.id)
    if not rows.arrays.outcome.labelled.any():
        return found
    return replace(found, worth=tuple(rubric_worth(rows, load_outcomes(db, rows), found.readings)))


def _count(role: str, texts: pd.DataFrame, claims: pd.DataFrame) -> ClaimCount:
    own = claims[claims["role"] == role]
    known = Counter(own.loc[~own["is_answer"], "status"])
    return ClaimCount(role, len(texts), own.index.nunique(), int(own["is_answer"].sum()), *(known[status] for status in STATUSES))


def select_claims(found: RunClaims, asked: ClaimsRequest) -> pd.DataFrame:
    """Return the claims about some genes, of a relation and a status."""
    claims = found.claims
    wanted = pd.Series(True, claims.index)
    for name in ("subject", "object"):
        if value := getattr(asked, name):
            wanted &= claims[name].str.casefold() == value.casefold()
    for name in ("relation", "status"):
        if value := getattr(asked, name):
            wanted &= claims[name] == value
    return claims[wanted]


def _readings(frame: pd.DataFrame, claims: pd.DataFrame) -> list[tuple[Rubric, pd.DataFrame]]:
    """Whether a text makes a claim of each status, beside the answer to its own row."""
    others = claims[~claims["is_answer"]]
    found = []
    for status in STATUSES:
        makes_one = frame.index.isin(others.index[others["status"] == status])
        answers = frame[["pair_id", "seq", "role", "stage"]].assign(answer=np.where(makes_one, "yes", "no"))
        found.append(
            (Rubric(f"claim that is {status}", f"Does a text of the row make a claim that is {status}?", unit="row"), answers)
        )
    return found


def as_json(found: RunClaims, asked: ClaimsRequest) -> Mapping[str, Any]:
    """The numbers, and every claim that was asked for."""
    claims = select_claims(found, asked).astype(object)
    claims = claims.where(claims.notna(), None)
    return {
        "run": found.run.name,
        "texts": found.texts,
        "sources": list(found.sources),
        "counts": [asdict(count) for count in found.counts],
        "worth": worth_shape(found.worth)["rubrics"],
        "claims": claims.to_dict("records"),
    }


def describe_claims(found: RunClaims) -> str:
    """What was looked for, and by what it was checked, in words."""
    packs = " and ".join(found.sources) or "no pack: none of regulation, signalling or a network is imported"
    n = sum(count.supported + count.contradicted + count.not_known for count in found.counts)
    texts, answers = (sum(getattr(count, name) for count in found.counts) for name in ("texts", "answers"))
    return (
        f"{found.run.name}: rules find {n:,} claims about genes in {texts:,} {found.texts}. {answers:,} more only answer the "
        f"question of their own row. Checked by: {packs}. That a pack does not list a pair says nothing against a claim."
    )
