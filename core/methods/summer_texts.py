"""The messages of SUMMER, composed from the Markdown texts of prompts, and how its answers are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Literal

from core.evidence.retrieval import Retrieved
from core.llm.messages import Message, Reply
from core.llm.parsing import Unparsed, choice
from core.methods.conversation import Messages
from core.methods.prompts import cell_desc, fill, prompt_text
from core.types import Label, Pair

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
_WORDS = {Label.NONE: "unchanged", Label.DE: "changed, direction unknown", Label.UP: "increased", Label.DOWN: "decreased"}


def system_prompt(options: Mapping[str, Any]) -> str:
    """Returns the system prompt of every call."""
    return fill(prompt_text("summer_system"), cell_desc=cell_desc(options))


def summary_messages(role: Role, gene: str, knowledge: str, options: Mapping[str, Any]) -> Messages:
    """Returns the request for a gene's first summary. knowledge: what databases say of the gene."""
    return _messages(options, fill(prompt_text(f"summer_{role}"), gene=gene, knowledge=knowledge))


def relations_messages(role: Role, gene: str, summary: str, knowledge: str, options: Mapping[str, Any]) -> Messages:
    """Returns the request for a summary with relations. summary: the first, "" without one. knowledge: of genes one step away."""
    text = fill(
        prompt_text(f"summer_{role}_relations"), gene=gene, summary=summary or "No database describes it.", knowledge=knowledge
    )
    return _messages(options, text)


def answer_messages(
    stage: Stage, pair: Pair, summaries: Mapping[Role, str], pairs: Sequence[Retrieved], options: Mapping[str, Any]
) -> Messages:
    """Returns the request for one sample's answer. summaries: "" for a gene of which nothing is known."""
    names = {"pert": pair.pert, "gene": pair.gene}
    guided = options["chain_of_thought"]
    task = fill(
        prompt_text(f"summer_guided_{stage}" if guided else "summer_direct"),
        question=fill(prompt_text(f"summer_question_{stage}"), **names),
        format=fill(prompt_text("summer_format" if guided else "summer_format_direct"), choices=choices(stage)),
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
    """Returns labelled pairs as text, those of each preference under its name."""
    parts = []
    for preference, found in groupby(pairs, key=lambda one: one.preference):
        lines = [f"- {one.row.pert} -> {one.row.gene}: {_WORDS[one.row.label]}" for one in found if one.row.label]
        parts.append("\n".join((f"{preference[0].upper()}{preference[1:]}:", *lines)))
    return "\n\n".join(parts)


def choices(stage: Stage) -> str:
    """Returns the answers that a question allows, in their format, one a line."""
    return "\n".join(f"<answer>{answer}</answer>" for answer in SCORES[stage])


def read_answer(stage: Stage, reply: Reply) -> str | Unparsed:
    """Returns the answer of a reply, a key of SCORES."""
    return choice(reply.content, {**{answer: answer for answer in SCORES[stage]}, _SHORT: INSUFFICIENT})


def ask_answer_again(stage: Stage, problem: Unparsed) -> str:
    """Returns the second request for an answer, with the reason why the first was rejected."""
    return fill(prompt_text("reask_choice"), reason=problem.reason, choices=choices(stage))


def all_texts(stages: Sequence[Stage], options: Mapping[str, Any]) -> str:
    """Returns every text that a prompt with these options may hold, one after the other."""
    guided = options["chain_of_thought"]
    names = ["summer_answer", "reask_choice", "summer_format" if guided else "summer_format_direct"]
    names += [f"summer_{role}{relations}" for role in ROLES for relations in ("", "_relations")]
    names += [f"summer_question_{stage}" for stage in stages]
    names += [f"summer_guided_{stage}" for stage in stages] if guided else ["summer_direct"]
    names += ["summer_pairs"] if options["retrieval"] else []
    return "\n\n".join((system_prompt(options), NOTHING_KNOWN, *map(choices, stages), *map(prompt_text, names)))


def _messages(options: Mapping[str, Any], text: str) -> Messages:
    return Message("system", system_prompt(options)), Message("user", text)
