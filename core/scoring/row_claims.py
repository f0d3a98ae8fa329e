"""The claims of the briefs of one row, by rules and as a model read them, each with its status."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.audit.claim_checks import Knowledge, Verdict
from core.audit.claims import Claim, find_claims, is_answer
from core.audit.text_symbols import Symbols
from core.scoring.claim_counts import spell_claim
from core.types import Pair

SPEECHES = ("brief", "rebuttal")


@dataclass(frozen=True, slots=True)
class RowClaim:
    """A claim of a text. readers: "rules", "model" or both. is_answer: as of `core.audit.claims.is_answer`."""

    claim: Claim
    verdict: Verdict
    readers: tuple[str, ...]
    is_answer: bool


def claims_of_row(
    pair: Pair, events: Sequence[Mapping[str, Any]], by_model: Sequence[Mapping[str, Any]], symbols: Symbols, knowledge: Knowledge
) -> dict[str, list[RowClaim]]:
    """Return the claims of each brief and rebuttal of a row, by its text; those without a claim are absent.

    events: `traces.of_row`, all of them. by_model: the meta of what a reading found, as of `core.methods.claims`.
    """
    found: dict[str, list[RowClaim]] = {}
    for seq, event in enumerate(events):
        if event["kind"] in SPEECHES:
            read = [spell_claim(meta, symbols) for meta in by_model if meta["of_seq"] == seq]
            claims = list(_join(find_claims(event["content"], symbols), read, pair, knowledge))
            found |= {event["content"]: claims} if claims else {}
    return found


def _join(by_rules: Sequence[Claim], by_model: Sequence[Claim], pair: Pair, knowledge: Knowledge) -> Iterator[RowClaim]:
    for claim in dict.fromkeys((*by_rules, *by_model)):
        readers = tuple(name for name, read in (("rules", by_rules), ("model", by_model)) if claim in read)
        yield RowClaim(claim, knowledge.check(claim), readers, is_answer(claim, pair.pert, pair.gene))
