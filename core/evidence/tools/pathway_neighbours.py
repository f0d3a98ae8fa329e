"""pathway_neighbours: what happened when a perturbation's closest partners were perturbed."""

from __future__ import annotations

from core.evidence.label_view import Counts, Tally, pooled
from core.evidence.packs import Partner
from core.evidence.tool import Answer, Query, Tool, look_up
from core.evidence.tools.protein_interactions import partner_table

PARTNERS = 25  # the highest scores, before those without labels are left out


class Neighbour(Tally):
    """A partner that has labelled rows in view: its score in 1–1000 and its counts."""

    symbol: str
    score: int


class Neighbours(Tally):
    """partners: best first; the counts and shares beside them are pooled over them."""

    symbol: str
    partners: list[Neighbour]
    p_de: float | None
    p_up_given_de: float | None


async def _ask(query: Query) -> Answer:
    view = query.view

    def counts_of(partner: Partner) -> tuple[str, Counts] | None:
        found = view.by_pert.spellings(partner.symbol)
        return (found[0], view.pert_counts[found[0]]) if len(found) == 1 else None

    def body(symbol: str, partners: tuple[Partner, ...]) -> Neighbours | None:
        found = [(partner.score, labelled) for partner in partners[:PARTNERS] if (labelled := counts_of(partner))]
        if not found:
            return None
        total = pooled(counts for _, (_, counts) in found)
        return Neighbours(
            symbol=symbol,
            partners=[Neighbour(symbol=name, score=score, **counts.tally()) for score, (name, counts) in found],
            **total.tally(),
            p_de=total.p_de,
            p_up_given_de=total.p_up_given_de,
        )

    table, at = await partner_table(query)
    answer = look_up(query.symbol, table, body)
    return answer._replace(source=f"{answer.source}; {view.source}", retrieved_at=at)


TOOL = Tool(
    "pathway_neighbours",
    "Labels of the rows where a perturbation's closest interaction partners were perturbed.",
    ("pert",),
    _ask,
    sees_labels=True,
)
