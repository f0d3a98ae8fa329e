"""train_lookup: the labelled rows of a perturbation, of a target gene, or of both."""

from __future__ import annotations

from typing import TypedDict

from core.evidence.label_view import LabelView, Tally, count
from core.evidence.tool import Answer, Query, Tool, look_up
from core.types import Pair


class LabelledRow(TypedDict):
    """One labelled row."""

    pert: str
    gene: str
    label: str


class LabelledRows(Tally):
    """pert, gene: what the rows share, None where that was not asked; the counts are over the rows."""

    pert: str | None
    gene: str | None
    rows: list[LabelledRow]


def _ask(query: Query) -> Answer:
    view = query.view
    if query.gene is None:
        return look_up(query.symbol, view.by_pert, lambda pert, rows: _body(pert, None, rows))
    if query.pert is None:
        return look_up(query.symbol, view.by_gene, lambda gene, rows: _body(None, gene, rows))
    return _both(query.pert, query.gene, view)


def _both(pert: str, gene: str, view: LabelView) -> Answer:
    """The rows that both share: those of the perturbation, and the gene among them."""
    perts = view.by_pert.spellings(pert)
    if len(perts) != 1:
        return Answer("empty", view.source, {"ambiguous": list(perts)} if perts else {})
    of_pert = LabelView(view.by_pert.entries[perts[0]])
    answer = look_up(gene, of_pert.by_gene, lambda found, rows: _body(perts[0], found, rows))._replace(source=view.source)
    as_asked = answer.status != "ok" or (pert, gene) == (perts[0], answer.body["gene"])
    return answer if as_asked else answer._replace(body={**answer.body, "asked": f"{pert}|{gene}"})


def _body(pert: str | None, gene: str | None, rows: tuple[Pair, ...]) -> LabelledRows:
    listed = [LabelledRow(pert=row.pert, gene=row.gene, label=str(row.label)) for row in rows]
    return LabelledRows(pert=pert, gene=gene, **count(rows).tally(), rows=listed)


TOOL = Tool(
    "train_lookup",
    "Labelled rows of a perturbation, of a target gene, or of both.",
    ("pert", "gene"),
    _ask,
    sees_labels=True,
    together=True,
)
