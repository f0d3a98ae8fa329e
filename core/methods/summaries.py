"""SUMMER's first step: what a gene is known for, summarised by the model as a perturbed and as a measured gene."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.evidence.gene_names import GeneNames
from core.evidence.label_view import LabelView
from core.evidence.packs import Packs
from core.evidence.registry import tool_named
from core.evidence.render import render
from core.evidence.tool import Tool
from core.methods import summer_texts as texts
from core.methods.conversation import CallSpec, Messages, RowConversation, event_of
from core.methods.summer_texts import Role
from core.types import Evidence, TraceEvent

STAGE = "summarise"
ENTRY_TOOLS = ("gene_info", "pathways")
RELATION_TOOLS: Mapping[Role, tuple[str, ...]] = {
    "perturbed": ("protein_interactions", "targets"),
    "measured": ("protein_interactions", "regulators"),
}
MOST_PARTNERS = 5  # of the closest, which are described in a few words
PARTNER_CHARACTERS = 200  # of each of these descriptions
EVENT_ROLES: Mapping[Role, str] = {"perturbed": "PERTURBED GENE", "measured": "MEASURED GENE"}

_NO_LABELS = LabelView(())


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What packs say of a gene. entries: of itself. relations: of the genes one step away. partners: the closest, described."""

    entries: tuple[Evidence, ...]
    relations: tuple[Evidence, ...]
    partners: tuple[Evidence, ...]

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """All answers of tools."""
        return (*self.entries, *self.relations, *self.partners)


@dataclass(frozen=True, slots=True)
class GeneSummary:
    """A gene's summary, "" if nothing is known of it; how it came about; and the answers of tools behind it."""

    text: str
    events: tuple[TraceEvent, ...]
    evidence: tuple[Evidence, ...]


async def find_knowledge(role: Role, symbol: str, packs: Packs) -> Knowledge:
    """Returns what the tools say of a gene; under the symbol of its ortholog if the packs list it under no other."""
    names = GeneNames(packs.orthologs or {}).of(symbol)
    entries = [await _ask(tool_named(tool), names, packs) for tool in ENTRY_TOOLS]
    relations = [await _ask(tool_named(tool), names, packs) for tool in RELATION_TOOLS[role]]
    closest = [partner["symbol"] for item in relations for partner in item.body.get("partners", ())][:MOST_PARTNERS]
    partners = [await _ask(tool_named("gene_info"), (name,), packs) for name in closest]
    return Knowledge(tuple(entries), tuple(relations), tuple(partners))


async def summarise(
    conversation: RowConversation, role: Role, symbol: str, packs: Packs, spec: CallSpec, options: Mapping[str, Any]
) -> GeneSummary:
    """Returns a gene's summary: one from its entries, written again with its relations; each is asked for once in a run."""
    known = await find_knowledge(role, symbol, packs)
    entries, relations = _lines(known.entries, symbol), _lines(known.relations, symbol)
    partners = _lines(known.partners, symbol, PARTNER_CHARACTERS)
    if not entries and not relations:
        text = f"No knowledge pack says anything of {symbol}: it has no summary."
        event = TraceEvent(STAGE, EVENT_ROLES[role], "nothing known", text, 0)
        return GeneSummary("", (event,), known.evidence)
    events: list[TraceEvent] = []

    async def ask(kind: str, messages: Messages) -> str:
        reply = await conversation.ask_once(spec, messages)
        events.append(event_of(spec, kind, reply))
        return reply.content.strip()

    summary = ""
    if entries:
        summary = await ask("summary", texts.summary_messages(role, symbol, entries, options))
    if relations:
        knowledge = "\n".join(filter(None, (relations, partners)))
        summary = await ask("summary with relations", texts.relations_messages(role, symbol, summary, knowledge, options))
    return GeneSummary(summary, tuple(events), known.evidence)


async def describe_genes(genes: Sequence[str], packs: Packs) -> list[str]:
    """Returns a line in a few words for each gene that a pack describes, in the order of the genes."""
    names = GeneNames(packs.orthologs or {})
    found = [await _ask(tool_named("gene_info"), names.of(gene), packs) for gene in genes]
    return [_lines((item,), gene, PARTNER_CHARACTERS) for gene, item in zip(genes, found, strict=True) if item.status == "ok"]


async def _ask(tool: Tool, names: Sequence[str], packs: Packs) -> Evidence:
    """Returns a tool's answer about the first of a gene's names that it knows; about the first if it knows none."""
    found: list[Evidence] = []
    for name in names:
        pert, gene = (name, None) if tool.takes[0] == "pert" else (None, name)
        found.append(await tool.run(pert, gene, packs, _NO_LABELS))
        if found[-1].status == "ok":
            return found[-1]
    return found[0]


def _lines(items: Sequence[Evidence], symbol: str, limit: int | None = None) -> str:
    """Returns what tools know as text, one line for each answer; "" if they know nothing."""
    known = [item for item in items if item.status == "ok"]
    rendered = [render(item, (symbol,), limit) if limit else render(item, (symbol,)) for item in known]
    return "\n".join(f"- {text}" for text, _ in rendered)
