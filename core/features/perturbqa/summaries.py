"""SUMMER's first step: what a gene is known for, summarised by the model as a perturbed and as a
measured gene.

A gene set summarised by a model in a phrase, and how much of a person's words that phrase holds.

The messages of SUMMER, composed from the Markdown texts of prompts, and how its answers are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

from core.base.errors import MissingPackage
from core.base.types import Evidence, Label, Pair, TraceEvent
from core.evidence.label_view import LabelView
from core.evidence.packs import Packs
from core.evidence.registry import tool_named
from core.evidence.render import MAX_CHARACTERS, render
from core.evidence.tool import Tool
from core.features.perturbqa.retrieval import GeneNames, Retrieved
from core.llm.answers import Unread, read_option
from core.llm.messages import Message, Reply, Request
from core.methods.conversation import CallSpec, Messages, RowConversation, event_of
from core.methods.prompts import cell_desc, fill, prompt_text

Stage = Literal["de", "dir"]
Role = Literal["perturbed", "measured"]
ROLES: tuple[Role, Role] = ("perturbed", "measured")
INSUFFICIENT = "insufficient evidence"
# What an answer to each question counts, the answers in the order in which prompts offer them.
SCORES: Mapping[Stage, Mapping[str, float]] = {
    "de": {"yes": 1.0, "no": 0.0, INSUFFICIENT: 0.5},
    "dir": {"increase": 1.0, "decrease": 0.0, INSUFFICIENT: 0.5},
}
NOTHING_KNOWN = "Nothing is known of it beyond its name."
_SHORT = "insufficient"  # of an answer that leaves out the last word
_WORDS = {
    Label.NONE: "unchanged",
    Label.DE: "changed, direction unknown",
    Label.UP: "increased",
    Label.DOWN: "decreased",
}


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
    """What packs say of a gene. entries: of itself. relations: of the genes one step away.
    partners: the closest, described."""

    entries: tuple[Evidence, ...]
    relations: tuple[Evidence, ...]
    partners: tuple[Evidence, ...]

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """All answers of tools."""
        return (*self.entries, *self.relations, *self.partners)


@dataclass(frozen=True, slots=True)
class GeneSummary:
    """A gene's summary, "" if nothing is known of it; how it came about; and the answers of tools
    behind it."""

    text: str
    events: tuple[TraceEvent, ...]
    evidence: tuple[Evidence, ...]


async def find_knowledge(role: Role, symbol: str, packs: Packs) -> Knowledge:
    """Return what the tools say of a gene; under the symbol of its ortholog if the packs list it
    under no other."""
    names = GeneNames(packs.orthologs or {}).of(symbol)
    entries = [await _ask(tool_named(tool), names, packs) for tool in ENTRY_TOOLS]
    relations = [await _ask(tool_named(tool), names, packs) for tool in RELATION_TOOLS[role]]
    closest = [
        partner["symbol"] for item in relations for partner in item.body.get("partners", ())
    ][:MOST_PARTNERS]
    partners = [await _ask(tool_named("gene_info"), (name,), packs) for name in closest]
    return Knowledge(tuple(entries), tuple(relations), tuple(partners))


async def summarise(
    conversation: RowConversation,
    role: Role,
    symbol: str,
    packs: Packs,
    spec: CallSpec,
    options: Mapping[str, Any],
) -> GeneSummary:
    """Return a gene's summary: one from its entries, written again with its relations; each is
    asked for once in a run."""
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
        summary = await ask(
            "summary",
            _messages(options, fill(prompt_text(f"summer_{role}"), gene=symbol, knowledge=entries)),
        )
    if relations:
        knowledge = "\n".join(filter(None, (relations, partners)))
        text = fill(
            prompt_text(f"summer_{role}_relations"),
            gene=symbol,
            summary=summary or "No database describes it.",
            knowledge=knowledge,
        )
        summary = await ask("summary with relations", _messages(options, text))
    return GeneSummary(summary, tuple(events), known.evidence)


async def describe_genes(genes: Sequence[str], packs: Packs) -> list[str]:
    """Return a line in a few words for each gene that a pack describes, in the order of the
    genes."""
    names = GeneNames(packs.orthologs or {})
    found = [await _ask(tool_named("gene_info"), names.of(gene), packs) for gene in genes]
    return [
        _lines((item,), gene, PARTNER_CHARACTERS)
        for gene, item in zip(genes, found, strict=True)
        if item.status == "ok"
    ]


async def _ask(tool: Tool, names: Sequence[str], packs: Packs) -> Evidence:
    """Return a tool's answer about the first of a gene's names that it knows; about the first if it
    knows none."""
    found: list[Evidence] = []
    for name in names:
        pert, gene = (name, None) if tool.takes[0] == "pert" else (None, name)
        found.append(await tool.run(pert, gene, packs, _NO_LABELS))
        if found[-1].status == "ok":
            return found[-1]
    return found[0]


def _lines(items: Sequence[Evidence], symbol: str, limit: int = MAX_CHARACTERS) -> str:
    """Return what tools know as text, one line for each answer; "" if they know nothing."""
    return "\n".join(
        f"- {render(item, (symbol,), limit).text}" for item in items if item.status == "ok"
    )


TEMPERATURE, TOP_P, MAX_TOKENS = 0.6, 0.9, 1_024  # as SUMMER samples


async def summary_request(
    genes: Sequence[str], packs: Packs, model: str, seed: int
) -> tuple[Request, int]:
    """Return the request for a gene set's phrase, and of how many of its genes a pack says
    something."""
    described = await describe_genes(genes, packs)
    text = fill(
        prompt_text("gene_set"),
        genes=", ".join(genes),
        knowledge="\n".join(described) or "Nothing.",
    )
    request = Request(
        model,
        (Message("user", text),),
        seed=seed,
        temperature=TEMPERATURE,
        top_p=TOP_P,
        max_completion_tokens=MAX_TOKENS,
    )
    return request, len(described)


def rouge_1_recall(label: str, phrase: str) -> float:
    """Return the share of a label's words that a phrase holds, in [0, 1], each as often as the
    label has it: ROUGE-1 recall.

    Words are runs of letters and digits in any case, without stemming, as the package rouge-score
    cuts them. Raises MissingPackage if it is not installed.
    """
    try:
        from rouge_score.rouge_scorer import RougeScorer  # brings NLTK, which takes seconds
    except ModuleNotFoundError as error:
        raise MissingPackage(
            f"gene sets are scored by the package {error.name}, which is not installed: pip install"
            " -r requirements-gene-sets.txt"
        ) from error
    return float(RougeScorer(["rouge1"], use_stemmer=False).score(label, phrase)["rouge1"].recall)


def system_prompt(options: Mapping[str, Any]) -> str:
    """Return the system prompt of every call."""
    return fill(prompt_text("summer_system"), cell_desc=cell_desc(options))


def answer_messages(
    stage: Stage,
    pair: Pair,
    summaries: Mapping[Role, str],
    pairs: Sequence[Retrieved],
    options: Mapping[str, Any],
) -> Messages:
    """Return the request for one sample's answer. summaries: "" for a gene of which nothing is
    known."""
    names = {"pert": pair.pert, "gene": pair.gene}
    guided = options["chain_of_thought"]
    task = fill(
        prompt_text(f"summer_guided_{stage}" if guided else "summer_direct"),
        question=fill(prompt_text(f"summer_question_{stage}"), **names),
        format=fill(
            prompt_text("summer_format" if guided else "summer_format_direct"),
            choices=choices(stage),
        ),
        **(names if guided else {}),
    )
    text = fill(
        prompt_text("summer_answer"),
        **names,
        pert_summary=summaries["perturbed"] or NOTHING_KNOWN,
        gene_summary=summaries["measured"] or NOTHING_KNOWN,
        pairs=fill(prompt_text("summer_pairs"), pairs=pairs_text(pairs)) if pairs else "",
        task=task,
    )
    return _messages(options, text)


def pairs_text(pairs: Sequence[Retrieved]) -> str:
    """Return labelled pairs as text, those of each preference under its name."""
    parts = []
    for preference, found in groupby(pairs, key=lambda one: one.preference):
        lines = [
            f"- {one.row.pert} -> {one.row.gene}: {_WORDS[one.row.label]}"
            for one in found
            if one.row.label
        ]
        parts.append("\n".join((f"{preference[0].upper()}{preference[1:]}:", *lines)))
    return "\n\n".join(parts)


def choices(stage: Stage) -> str:
    """Return the answers that a question allows, in their format, one a line."""
    return "\n".join(f"<answer>{answer}</answer>" for answer in SCORES[stage])


def read_answer(stage: Stage, reply: Reply) -> str | Unread:
    """Return the answer of a reply, a key of SCORES."""
    return read_option(
        reply.content, {**{answer: answer for answer in SCORES[stage]}, _SHORT: INSUFFICIENT}
    )


def ask_answer_again(stage: Stage, problem: Unread) -> str:
    """Return the second request for an answer, with the reason why the first was rejected."""
    return fill(prompt_text("reask_choice"), reason=problem.reason, choices=choices(stage))


def all_texts(stages: Sequence[Stage], options: Mapping[str, Any]) -> str:
    """Return every text that a prompt with these options may hold, one after the other."""
    guided = options["chain_of_thought"]
    names = ["summer_answer", "reask_choice", "summer_format" if guided else "summer_format_direct"]
    names += [f"summer_{role}{relations}" for role in ROLES for relations in ("", "_relations")]
    names += [f"summer_question_{stage}" for stage in stages]
    names += [f"summer_guided_{stage}" for stage in stages] if guided else ["summer_direct"]
    names += ["summer_pairs"] if options["retrieval"] else []
    return "\n\n".join(
        (system_prompt(options), NOTHING_KNOWN, *map(choices, stages), *map(prompt_text, names))
    )


def _messages(options: Mapping[str, Any], text: str) -> Messages:
    return Message("system", system_prompt(options)), Message("user", text)
