"""base_rates: the share of the labelled rows that changed, and the share of those that went up."""

from __future__ import annotations

from core.evidence.tool import Answer, Query, Tool


def _ask(query: Query) -> Answer:
    """Return the counts of all rows in view, with the shares that follow; perts, genes: how many
    are in view."""
    view = query.view
    if not len(view):
        return Answer("empty", view.source, {})
    counts = view.counts
    shares = {"p_de": counts.p_de, "p_up_given_de": counts.p_up_given_de}
    in_view = {"perts": len(view.by_pert.entries), "genes": len(view.by_gene.entries)}
    return Answer("ok", view.source, counts._asdict() | shares | in_view)


TOOL = Tool("base_rates", "Counts and shares of the labels in view.", (), _ask, sees_labels=True)
