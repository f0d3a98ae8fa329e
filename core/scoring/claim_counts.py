"""The claims of a run's texts: how many of each role are supported, contradicted or unknown, and their worth.

They are found by rules, or by a model's reading (`core.methods.claims`), and counted separately.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from core.audit.claim_checks import STATUSES, Knowledge
from core.audit.claims import SYMMETRIC, Claim, find_claims, is_answer
from core.audit.rubric import Rubric
from core.audit.rules.claims import RIGHT_CLAIM, RULE
from core.audit.rules.registry import answer_by_rule
from core.audit.text_symbols import Symbols
from core.features.arguments.rates import RULE as BY_RULE
from core.features.arguments.rates import RubricRates, load_rates
from core.features.arguments.worth import RubricWorth, load_outcomes, rubric_worth
from core.scoring.run_scores import load_scored_rows
from core.scoring.run_texts import RunTexts
from core.store import Cursor, rubrics
from core.store.runs import Run

_COLUMNS = ("subject", "relation", "object", "status", "pack", "entry", "quote", "is_answer")
_OF_TEXT = ("pair_id", "pert", "gene", "seq", "stage", "role", "outcome")


@dataclass(frozen=True, slots=True)
class ClaimCount:
    """The claims of one role. texts, claiming: numbers of texts, and of texts with a claim. answers: claims that the perturbation
    does something to the gene of their own row, which is the question itself; they are in no other number. supported,
    contradicted, not_known: of the other claims."""

    role: str
    texts: int
    claiming: int
    answers: int
    supported: int
    contradicted: int
    not_known: int


@dataclass(frozen=True, slots=True)
class ReaderAgreement:
    """Numbers of claims found by a model and by rules in the same texts, without answers: by both, and by only one."""

    both: int
    rules_alone: int
    model_alone: int

    @property
    def total(self) -> int:
        return self.both + self.rules_alone + self.model_alone


class ReadTexts(NamedTuple):
    """Texts with the claims in each, and the quoted words of each claim, "" for claims of rules."""

    texts: RunTexts
    claims: Sequence[Sequence[tuple[Claim, str]]]


@dataclass(frozen=True, slots=True, eq=False)
class RunClaims:
    """The claims of a run's texts. claims: one a row, in file order: pair_id, pert, gene, seq, stage,
    role, outcome, subject, relation, object, status, pack, entry (which decided the status), quote ("" by rules), is_answer.
    readings: of each status, whether a text makes such a claim, as a rubric and its answers. packs: by which claims were
    checked, name → kind. answers: to the rubric of claims, as of `store.rubrics.readings`. worth: of the readings, where rows
    have labels.

    reading: a model's, None for the rules. unread: texts of which its answer could not be read; not_found: number of claims
    whose quotation is not in the text; no other number includes them. agreement: with the rules. rates: of texts with a claim
    other than an answer, by role, corrected by people's labels; None for texts other than briefs. precision: of a reading, how
    many of its claims are right by people's labels; None for the rules, and for a reading without a claim.
    """

    run: Run
    texts: str
    counts: tuple[ClaimCount, ...]
    claims: pd.DataFrame
    readings: Sequence[tuple[Rubric, pd.DataFrame]]
    packs: Mapping[str, str]
    answers: pd.DataFrame
    worth: RubricWorth | None = None
    reading: Run | None = None
    unread: int = 0
    not_found: int = 0
    agreement: ReaderAgreement | None = None
    rates: RubricRates | None = None
    precision: RubricRates | None = None


def read_by_rules(texts: RunTexts, symbols: Symbols) -> ReadTexts:
    """Return texts with the claims that rules find in them."""
    return ReadTexts(texts, [[(claim, "") for claim in find_claims(text, symbols)] for text in texts.content])


def count_claims(read: ReadTexts, knowledge: Knowledge) -> RunClaims:
    """Return the claims of some texts, checked and counted by role."""
    texts, of_texts = read
    found = [(place, *claim, *knowledge.check(claim), quote) for place, claims in enumerate(of_texts) for claim, quote in claims]
    claims = pd.DataFrame(found, columns=["place", *_COLUMNS[:-1]]).set_index("place").join(texts.frame[[*_OF_TEXT]])
    claims["is_answer"] = [
        is_answer(Claim(*claim), pert, gene)
        for *claim, pert, gene in claims[["subject", "relation", "object", "pert", "gene"]].itertuples(index=False)
    ]
    claims = claims.astype({"is_answer": bool})
    counts = tuple(_count(str(role), of_role, claims) for role, of_role in texts.frame.groupby("role", sort=False))
    listed = claims[[*_OF_TEXT, *_COLUMNS]].reset_index(drop=True)
    others = claims[~claims["is_answer"]]
    readings = [
        (
            Rubric(f"claim that is {status}", f"Does a text of the row make a claim that is {status}?", unit="row"),
            _whether(texts.frame, others[others["status"] == status]),
        )
        for status in STATUSES
    ]
    answers = _whether(texts.frame, others).assign(p=np.nan)
    return RunClaims(texts.run, texts.name, counts, listed, readings, knowledge.kinds, answers)


def load_model_claims(db: Cursor, texts: RunTexts, reading: Run, symbols: Symbols, knowledge: Knowledge) -> RunClaims:
    """Return the claims of briefs in a finished reading; briefs that it could not read are not counted."""
    events = [(pair_id, kind, json.loads(meta)) for pair_id, kind, meta in rubrics.claim_events(db, reading.id)]
    of_text: dict[tuple[str, int], list[tuple[Claim, str]]] = {
        (pair_id, meta["of_seq"]): [] for pair_id, kind, meta in events if kind == "reading" and "answer" in meta
    }
    for pair_id, kind, meta in events:
        if kind == "claim":
            of_text[pair_id, meta["of_seq"]].append((spell_claim(meta, symbols), meta["quote"]))
    keys = list(zip(texts.frame["pair_id"], texts.frame["seq"].astype(int), strict=True))
    places = [place for place, key in enumerate(keys) if key in of_text]
    frame = texts.frame.iloc[places].reset_index(drop=True)
    known = replace(texts, frame=frame, content=[texts.content[place] for place in places])
    read = ReadTexts(known, [of_text[keys[place]] for place in places])
    asked = {key: meta.get("not_found", 0) for key, meta in _readings_of(events) if key in set(keys)}
    return replace(
        count_claims(read, knowledge),
        reading=reading,
        unread=len(asked) - len(places),
        not_found=sum(asked.values()),
        agreement=compare_readers(read, read_by_rules(known, symbols)),
    )


def _readings_of(events: Sequence[tuple[str, str, Mapping[str, Any]]]) -> list[tuple[tuple[str, int], Mapping[str, Any]]]:
    return [((pair_id, meta["of_seq"]), meta) for pair_id, kind, meta in events if kind == "reading"]


def spell_claim(meta: Mapping[str, Any], symbols: Symbols) -> Claim:
    """Return a model's claim from its event's meta, with its genes in the dataset's spelling."""
    subject, object_ = symbols.spell(meta["subject"]), symbols.spell(meta["object"])
    if meta["relation"] in SYMMETRIC:
        subject, object_ = sorted((subject, object_))
    return Claim(subject, meta["relation"], object_)


def compare_readers(model: ReadTexts, rules: ReadTexts) -> ReaderAgreement:
    """Return the numbers of claims that a model and the rules find in the same texts."""
    by_model, by_rules = (
        {
            (place, claim)
            for place, (pert, gene) in enumerate(zip(read.texts.frame["pert"], read.texts.frame["gene"], strict=True))
            for claim, _ in read.claims[place]
            if not is_answer(claim, pert, gene)
        }
        for read in (model, rules)
    )
    return ReaderAgreement(len(by_model & by_rules), len(by_rules - by_model), len(by_model - by_rules))


def with_worth(db: Cursor, found: RunClaims) -> RunClaims:
    """Return the claims with their worth, unchanged for a run without labels."""
    rows = load_scored_rows(db, found.run.id)
    if not rows.arrays.outcome.labelled.any():
        return found
    return replace(found, worth=rubric_worth(rows, load_outcomes(db, rows), found.readings))


def with_rates(db: Cursor, found: RunClaims) -> RunClaims:
    """Return the claims of all briefs of a run with how often one makes a claim, corrected by people's labels."""
    judge = BY_RULE if found.reading is None else found.reading.id
    return replace(found, rates=load_rates(db, RULE.rubric, found.run.id, found.answers, judge))


def with_precision(db: Cursor, found: RunClaims) -> RunClaims:
    """Return the claims of a reading with how many are right by people's labels."""
    if found.reading is None:
        return found
    rubric, reading = RIGHT_CLAIM.rubric, found.reading.id
    answers = answer_by_rule(rubric, rubrics.texts(db, reading, rubric))
    return replace(found, precision=load_rates(db, rubric, reading, answers, reading))


def _whether(texts: pd.DataFrame, claims: pd.DataFrame) -> pd.DataFrame:
    """Return, as answers to a rubric, whether each text makes one of these claims."""
    makes_one = texts.index.isin(claims.index)
    return texts[["pair_id", "seq", "role", "stage"]].assign(answer=np.where(makes_one, "yes", "no"))


def _count(role: str, texts: pd.DataFrame, claims: pd.DataFrame) -> ClaimCount:
    own = claims[claims["role"] == role]
    known = Counter(own.loc[~own["is_answer"], "status"])
    return ClaimCount(role, len(texts), own.index.nunique(), int(own["is_answer"].sum()), *(known[status] for status in STATUSES))
