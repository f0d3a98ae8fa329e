"""What the site of a run says: the run in words and numbers, a table of its rows, and each row's
texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

from core.base.errors import InputError
from core.base.texts import NO_LABEL
from core.base.types import FLAG_NAMES, Flag
from core.features.sharing.report.material import dataset_text, run_facts
from core.features.sharing.report.rows import Row, evidence_card, row_texts
from core.methods.brief_checks import SHORT
from core.plots import drawing
from core.scoring import row_numbers
from core.scoring.debate_audit import load_audit
from core.scoring.run_scores import load_scored_rows, score_run
from core.store import datasets, evidence, predictions, traces
from core.store.connection import Cursor
from core.store.predictions import Order, RowFilter
from core.store.runs import Run


@dataclass(frozen=True, slots=True)
class SiteContent:
    """Plain data. run: title, facts, scores and words for what the rows hold as codes. rows: lists
    of equal length by name."""

    run: dict[str, Any]
    rows: dict[str, list[Any]]


@dataclass(frozen=True, slots=True)
class Sources:
    """clean: removes what means something on this machine alone from a text. dataset_sha256: of the
    dataset's pairs."""

    clean: Callable[[str], str]
    dataset_sha256: str


def read_content(
    db: Cursor, run: Run, sources: Sources, take: Callable[[Row], None]
) -> SiteContent:
    """Read what the site of a run says; hand on the texts of each row, in file order.

    Raise InputError for a run without rows.
    """
    rows = predictions.whole_rows(db, run.id)
    for row in rows:
        row["error"] = sources.clean(row["error"]) if row["error"] else None
    if not rows:
        raise InputError(f"run {run.name}: no rows, expected at least one to make a site of")
    cards = _read_cards(db, run.id)
    # of each row: roles that wrote briefs, and how many of them argued
    argued: list[tuple[int, int | None]] = []
    for row, events in traces.with_events(db, run.id, rows, [row["pair_id"] for row in rows]):
        texts = row_texts(run, row, events, cards.get(row["pair_id"], []))
        advocates = texts["advocates"]
        roles, arguing = (
            {each["role"] for each in advocates},
            {each["role"] for each in advocates if each["argued"]},
        )
        argued.append((len(roles), len(arguing) if advocates else None))
        take(texts)
    about = _describe_run(db, run, sources) | {"hasBriefs": any(n for n, _ in argued)}
    is_wrong = not run.has_rank_scores and any(row["outcome"] == "miss" for row in rows)
    order: Order = predictions.CONFIDENTLY_WRONG if is_wrong else predictions.LONGEST
    opens = predictions.find_pair_ids(db, run.id, RowFilter(), order)[0]
    name = datasets.find(db, run.dataset).name
    why = "that it gets most confidently wrong" if is_wrong else "with the longest texts"
    words = (
        "What does a target gene’s expression do when another gene is knocked down? The run"
        f" {run.name} predicted it for {len(rows):,} pairs of genes of {name}. Below is the one"
        f" {why}; the others are in the list."
    )
    return SiteContent(about | {"opens": opens, "intro": words}, _columns(rows, argued))


def _read_cards(db: Cursor, run: str) -> dict[str, list[Row]]:
    """Return the evidence that each row saw, in order, as it is shown; rows share the same one."""
    cards: dict[int, Row] = {}
    seen = evidence.of_run(db, run)
    for item in chain.from_iterable(seen.values()):
        if id(item) not in cards:
            cards[id(item)] = evidence_card(asdict(item))
    return {pair_id: [cards[id(item)] for item in items] for pair_id, items in seen.items()}


def _columns(rows: Sequence[Row], argued: Sequence[tuple[int, int | None]]) -> dict[str, list[Any]]:
    """Return the table of the rows: what they are listed and filtered by. argued: roles with
    briefs, and those that argued."""
    flags = list(FLAG_NAMES)
    columns: dict[str, list[Any]] = {
        name: [row[name] for row in rows]
        for name in (
            "pair_id",
            "pert",
            "gene",
            "label",
            "outcome",
            "p_de",
            "p_up_given_de",
            "prediction_up",
            "prediction_down",
        )
    }
    columns["flags"] = [[flags.index(Flag(flag)) for flag in row["flags"]] for row in rows]
    columns["failed"] = [row["error"] is not None for row in rows]
    columns["advocates"], columns["argued"] = ([row[i] for row in argued] for i in (0, 1))
    return columns


def _describe_run(db: Cursor, run: Run, sources: Sources) -> dict[str, Any]:
    dataset = datasets.find(db, run.dataset)
    scores: list[str] = []
    if run.done:
        score = score_run(load_scored_rows(db, run.id))
        scores = [*filter(None, [dataset.marks.sentence]), score.sentence, *score.caveats]
    audit = load_audit(db, run.id)
    audited = audit.sentence if audit.roles else ""
    hashes = {
        "Dataset's pairs, SHA-256": sources.dataset_sha256,
        "File, SHA-256": str(run.spec.get("sha256", "")),
    }
    return {
        "name": run.name,
        "dataset": dataset.name,
        "rankScores": run.has_rank_scores,
        "p_de": row_numbers.score_name(run),
        "p_up": row_numbers.score_name(run, "P(up | DE)"),
        "scores": scores,
        "audit": audited,
        "argued": f"{SHORT} characters or more, and no answer to the multiple-choice question",
        "facts": [*(run_facts(run, sources.clean) | {"Dataset": dataset_text(dataset)}).items()],
        "sources": [(title, words) for title, words in hashes.items() if words],
        "labels": {
            name: [drawing.LABEL_SIGNS[name], drawing.LABEL_WORDS[name]]
            for name in drawing.LABEL_SIGNS
        },
        "outcomes": dict(drawing.OUTCOME_SIGNS),
        "flags": [[name, row_numbers.FLAG_HELP.get(flag, "")] for flag, name in FLAG_NAMES.items()],
        "noLabel": NO_LABEL,
    }
