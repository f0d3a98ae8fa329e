"""base_rates: the share of the labelled rows that changed, and the share of those that went up."""

from __future__ import annotations

from core.evidence.label_view import Tally
from core.evidence.tool import Answer, Query, Tool


class BaseRates(Tally):
    """The counts of all rows in view. p_de: share that changed; p_up_given_de: share of those that went up; both in [0, 1],
    None without rows to count. perts, genes: how many are in view."""

    p_de: float | None
    p_up_given_de: float | None
    perts: int
    genes: int


def _ask(query: Query) -> Answer:
    view = query.view
    if not len(view):
        return Answer("empty", view.source, {})
    counts = view.counts
    body = BaseRates(
        **counts.tally(),
        p_de=counts.p_de,
        p_up_given_de=counts.p_up_given_de,
        perts=len(view.by_pert.entries),
        genes=len(view.by_gene.entries),
    )
    return Answer("ok", view.source, body)


TOOL = Tool("base_rates", "Counts and shares of the labels in view.", (), _ask, sees_labels=True)
