"""Reads what another run's briefs claim about two genes: one question for each brief, which a model answers by edges.

It predicts nothing. Each brief has one event of kind "reading", as of `judge_rubric`: whether it makes a claim other than an
answer to the question of its own row; its meta also holds `not_found`. Behind it comes an event of kind "claim" for each claim,
whose meta holds `of_seq` (of which brief), `subject`, `relation`, `object` and `quote`. The quotation and both genes stand in the
brief word for word; `not_found` counts the claims of which that is not so, which are dropped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from core.audit.claims import RELATIONS, SYMMETRIC, Claim, is_answer
from core.audit.rubric import Rubric
from core.audit.rules.claims import RULE
from core.audit.rules.registry import yes_if
from core.hashes import sha256_of
from core.llm.json_objects import find_list
from core.llm.messages import Message, Reply
from core.llm.parsing import Unparsed
from core.methods.base import Option, RowMethod, RowText, TextsOfRun
from core.methods.conversation import CallSpec, Messages, ReadAnswer, event_of
from core.methods.marked_passage import QUOTES, find_passage
from core.methods.prompts import EFFORT, LONGEST_ANSWER, fill, prompt_text
from core.methods.text_reading import TextReading
from core.types import Pair, TraceEvent

_PROMPTS = ("claims", "claims_task", "reask_claims")
_FIELDS: Final = ("subject", "relation", "object", "quote")


class QuotedClaim(NamedTuple):
    """A claim, and the words that make it."""

    claim: Claim
    quote: str


class ReadClaims(NamedTuple):
    """The claims of a text, and how many of the reader's do not stand in it."""

    claims: tuple[QuotedClaim, ...]
    not_found: int


class Claims(TextReading[RowText, ReadClaims]):
    """One question about each brief of a row, all asked concurrently."""

    name = "claims"
    version = 1
    reask = "reask_claims"
    about = "A model reads what another run's briefs claim about two genes, with quotations; it predicts nothing."
    options: tuple[Option, ...] = (
        Option("run", "run", "", "The run whose briefs are read."),
        EFFORT,
        LONGEST_ANSWER,
    )
    form = json.dumps({"claims": [dict.fromkeys(_FIELDS[:3], "words") | {"quote": " ".join(["words"] * 20)}] * 4})

    def calls(self, _options: Mapping[str, Any]) -> float:
        """Return the calls for a row of four briefs; the run decides how many it has."""
        return 4

    def prompts(self, _options: Mapping[str, Any]) -> str:
        """Return every text of a prompt, apart from the pair and the brief."""
        return "\n\n".join([*map(prompt_text, _PROMPTS), *RELATIONS])

    def rubric(self, _options: Mapping[str, Any]) -> Rubric:
        """Return the rubric that is answered, which says which texts are read."""
        return RULE.rubric

    def answer_form(self, _options: Mapping[str, Any]) -> str:
        """Return a text about as long as an answer, reasoning left out."""
        return self.form

    def items(self, texts: Sequence[RowText]) -> Sequence[RowText]:
        """Return the briefs of a row."""
        return texts

    def question(self, _texts: TextsOfRun, pair: Pair, item: RowText, _options: Mapping[str, Any]) -> Messages:
        """Return the question about a brief, which stands between marks made from a hash of it, so that it cannot end itself."""
        task = fill(
            prompt_text("claims_task"),
            pert=pair.pert,
            gene=pair.gene,
            relations=", ".join(RELATIONS),
            mark=sha256_of(item.content)[:8],
            content=item.content,
        )
        return Message("system", prompt_text("claims")), Message("user", task)

    def read_reply(self, reply: Reply, pair: Pair, item: RowText, _options: Mapping[str, Any]) -> ReadClaims | Unparsed:
        """Return the claims of a reply."""
        return read_claims(reply, item.content, pair)

    def events(self, pair: Pair, item: RowText, spec: CallSpec, found: ReadAnswer[ReadClaims]) -> Iterator[TraceEvent]:
        """Yield the reading of a brief, and its claims."""
        value = found.value
        if isinstance(value, Unparsed):
            yield event_of(spec, "reading", found.reply, of_seq=item.seq, unread=value.reason)
            return
        others = any(not is_answer(each.claim, pair.pert, pair.gene) for each in value.claims)
        yield event_of(spec, "reading", found.reply, of_seq=item.seq, answer=yes_if(others), not_found=value.not_found)
        for claim, quote in value.claims:
            said = f"{' '.join(claim)}: “{' '.join(quote.split())}”"
            yield TraceEvent(item.stage, item.role, "claim", said, meta={"of_seq": item.seq, **claim._asdict(), "quote": quote})


METHOD: RowMethod = Claims()


def read_claims(reply: Reply, text: str, pair: Pair) -> ReadClaims | Unparsed:
    """Return the claims of a reply whose quotation and genes stand in the text, each once; of a gene with itself none is."""
    listed = find_list(reply.content, "claims")
    if listed is None:
        return Unparsed('no JSON object with a list "claims", expected one')
    found: dict[Claim, QuotedClaim] = {}
    not_found = 0
    for each in listed:
        said: dict[str, Any] = {name: each.get(name) for name in _FIELDS} if isinstance(each, Mapping) else {}
        if not said or not all(isinstance(value, str) for value in said.values()):
            return Unparsed(f"a claim is {json.dumps(each)[:80]}, expected the texts {', '.join(_FIELDS)}")
        if said["relation"] not in RELATIONS:
            return Unparsed(f"a relation is {said['relation'][:40]!r}, expected one of {', '.join(RELATIONS)}")
        quote, genes = find_passage(text, said["quote"].strip(QUOTES)), [_spell(said[name], text, pair) for name in _FIELDS[::2]]
        if not quote or not all(genes):
            not_found += 1
        elif genes[0] != genes[1]:
            subject, object_ = sorted(genes) if said["relation"] in SYMMETRIC else genes
            claim = Claim(subject, said["relation"], object_)
            found.setdefault(claim, QuotedClaim(claim, quote))
    return ReadClaims(tuple(found.values()), not_found)


def _spell(gene: str, text: str, pair: Pair) -> str:
    """Return a gene in the row's spelling, else in the text's; "" if the text does not contain it."""
    name = gene.strip(QUOTES)
    stands = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) if name else None
    if stands is None:
        return ""
    return next((known for known in (pair.pert, pair.gene) if known.casefold() == name.casefold()), stands[0])
