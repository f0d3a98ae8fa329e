"""The claims of a run's texts in words and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from core.audit.claim_checks import DECIDES
from core.base.result import plain, to_json
from core.scoring.claim_counts import RunClaims
from core.texts import table_lines

MOST_LISTED = 20  # claims in the lines; the JSON has all


def as_json(found: RunClaims) -> dict[str, Any]:
    """Return the numbers, and every claim."""
    claims = found.claims.astype(object)
    claims = claims.where(claims.notna(), None)
    agreement = None if found.agreement is None else {**asdict(found.agreement), "total": found.agreement.total}
    return {
        "run": found.run.name,
        "texts": found.texts,
        "sources": list(dict.fromkeys(found.packs.values())),
        "packs": [{"pack": name, "kind": kind, "decides": DECIDES[kind]} for name, kind in found.packs.items()],
        "counts": [asdict(count) for count in found.counts],
        "worth": [] if found.worth is None else plain(found.worth.rubrics),
        "claims": claims.to_dict("records"),
        "reader": "rules" if found.reading is None else "model",
        "reading": None if found.reading is None else found.reading.id,
        "model": None if found.reading is None else found.reading.model,
        "unread": found.unread,
        "not_found": found.not_found,
        "agreement": agreement,
        "rates": None if found.rates is None else to_json(found.rates),
        "precision": None if found.precision is None else to_json(found.precision),
    }


def list_claims(found: RunClaims) -> list[str]:
    """Return what is found as lines: sentences, the counts by role, the worth, and the first claims."""
    claims = found.claims[~found.claims["is_answer"]]
    shown = claims.head(MOST_LISTED)
    lines = [*describe(found), "", *table_lines(counts_table(found))]
    lines += ["", found.worth.sentence] if found.worth else []
    lines += ["", f"{len(shown):,} of {len(claims):,} claims:"] if len(claims) else []
    row: Any
    for row in shown.itertuples():
        by = f", {row.pack}: {row.entry}" if row.pack else ""
        lines.append(f"  {row.pair_id} {row.role}: {row.subject} {row.relation} {row.object} ({row.status}{by})")
    return lines


def counts_table(found: RunClaims) -> list[dict[str, str | int]]:
    """Return the counts of each role, by the names that people read."""
    return [{name.replace("_", " "): value for name, value in asdict(count).items()} for count in found.counts]


def describe(found: RunClaims) -> list[str]:
    """Return sentences about the reader and its results."""
    said = (describe_claims(found), describe_agreement(found), describe_labels(found), describe_precision(found))
    return [each for each in said if each]


def describe_claims(found: RunClaims) -> str:
    """Describe the counts of claims and the packs that checked them."""
    n = sum(count.supported + count.contradicted + count.not_known for count in found.counts)
    texts, answers = (sum(getattr(count, name) for count in found.counts) for name in ("texts", "answers"))
    reader = "rules find" if found.reading is None else f"{found.reading.model} finds"
    words = [
        f"{found.run.name}: {reader} {n:,} claims about genes in {texts:,} {found.texts}. "
        f"{answers:,} more only answer the question of their own row."
    ]
    if found.unread:
        words.append(f"Its answers about {found.unread:,} more could not be read.")
    if found.not_found:
        words.append(f"{found.not_found:,} of its claims have quotations or names that are not in the text; they are not used.")
    packs = " and ".join(found.packs) or "no pack: import one of regulation, signalling, a network or pathways"
    return " ".join([*words, f"Checked by: {packs}. A pair that no pack lists is not evidence against a claim."])


def describe_agreement(found: RunClaims) -> str:
    """Return how far a model and the rules find the same claims, in a sentence; "" for the rules' own."""
    if found.agreement is None:
        return ""
    both, rules, model, total = (getattr(found.agreement, name) for name in ("both", "rules_alone", "model_alone", "total"))
    if not total:
        return "Neither the rules nor the model find claims in these texts."
    return (
        f"Of {total:,} claims found in the same texts, the rules and the model both find {both:,} ({both / total:.0%}), "
        f"only the rules {rules:,}, only the model {model:,}."
    )


def describe_precision(found: RunClaims) -> str:
    """Return how many claims of a reading are right by people's labels, in a sentence; "" without any."""
    if found.precision is None:
        return ""
    return " ".join((found.precision.sentence, *found.precision.caveats))


def describe_labels(found: RunClaims) -> str:
    """Return a sentence on the reader's quality by people's labels; "" if the rates are not for these texts."""
    return "" if found.rates is None else " ".join((found.rates.sentence, *found.rates.caveats))
