"""pathway_neighbours: the labels of the rows in which a perturbation's closest partners were
perturbed."""

from __future__ import annotations

from core.base.types import JsonObject
from core.evidence.label_view import Counts, pool_counts
from core.evidence.packs import Partner
from core.evidence.tool import Answer, Query, Tool, answer_from_table
from core.evidence.tools.protein_interactions import partner_table

MAX_PARTNERS = 25  # the highest scores, before those without labels are dropped


async def _ask(query: Query) -> Answer:
    view = query.view

    def counts_of(partner: Partner) -> tuple[str, Counts] | None:
        spellings = view.by_pert.spellings(partner.symbol)
        return (spellings[0], view.pert_counts[spellings[0]]) if len(spellings) == 1 else None

    def body(symbol: str, partners: tuple[Partner, ...]) -> JsonObject | None:
        """Return the partners with labelled rows in view, the highest score first; counts and
        shares are pooled over them."""
        labelled = [
            (partner.score, named)
            for partner in partners[:MAX_PARTNERS]
            if (named := counts_of(partner))
        ]
        if not labelled:
            return None
        total = pool_counts(counts for _, (_, counts) in labelled)
        listed = [
            {"symbol": name, "score": score, **counts._asdict()}
            for score, (name, counts) in labelled
        ]
        shares = {"p_de": total.p_de, "p_up_given_de": total.p_up_given_de}
        return {"symbol": symbol, "partners": listed, **total._asdict(), **shares}

    table, retrieved_at = await partner_table(query)
    answer = answer_from_table(query.symbol, table, body)
    return answer._replace(source=f"{answer.source}; {view.source}", retrieved_at=retrieved_at)


TOOL = Tool(
    "pathway_neighbours",
    "Labels of the rows where a perturbation's closest interaction partners were perturbed.",
    ("pert",),
    _ask,
    sees_labels=True,
    reads=("edges",),
)
