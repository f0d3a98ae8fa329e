"""train_lookup: the labelled rows of a perturbation, of a target gene, or of both."""

from __future__ import annotations

from core.base.types import JsonObject, Pair
from core.evidence.label_view import LabelView, count_labels
from core.evidence.tool import Answer, Query, Tool, answer_from_table


def _ask(query: Query) -> Answer:
    view = query.view
    if query.gene is None:
        return answer_from_table(
            query.symbol, view.by_pert, lambda pert, rows: _body(pert, None, rows)
        )
    if query.pert is None:
        return answer_from_table(
            query.symbol, view.by_gene, lambda gene, rows: _body(None, gene, rows)
        )
    perts = view.by_pert.spellings(query.pert)
    if len(perts) != 1:
        return Answer("empty", view.source, {"ambiguous": list(perts)} if perts else {})
    of_pert = LabelView(view.by_pert.entries[perts[0]])
    answer = answer_from_table(
        query.gene, of_pert.by_gene, lambda spelling, rows: _body(perts[0], spelling, rows)
    )._replace(source=view.source)
    same_spelling = answer.status != "ok" or (query.pert, query.gene) == (
        perts[0],
        answer.body["gene"],
    )
    return (
        answer
        if same_spelling
        else answer._replace(body={**answer.body, "asked": f"{query.pert}|{query.gene}"})
    )


def _body(pert: str | None, gene: str | None, rows: tuple[Pair, ...]) -> JsonObject:
    """Return labelled rows and their counts. pert, gene: what they share, None for an argument that
    was left out."""
    listed = [{"pert": row.pert, "gene": row.gene, "label": str(row.label)} for row in rows]
    return {"pert": pert, "gene": gene, **count_labels(rows)._asdict(), "rows": listed}


TOOL = Tool(
    "train_lookup",
    "Labelled rows of a perturbation, of a target gene, or of both.",
    ("pert", "gene"),
    _ask,
    sees_labels=True,
    takes_both=True,
)
