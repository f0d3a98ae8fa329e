"""The messages to advocates and judges, composed from the Markdown texts of prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from core.base.types import Options
from core.llm.answers import AnswerSchema, letter_schema, percent_schema
from core.llm.messages import Message
from core.methods.conversation import Messages
from core.methods.prompts import cell_desc, fill, prompt_text, with_form

Stage = Literal["de", "dir"]
Speech = tuple[str, str]  # speaker, text; a speaker is a side, or a side in reply
Speeches = Sequence[Speech]
SIDES: Mapping[Stage, tuple[str, str]] = {"de": ("EFFECT", "NULL"), "dir": ("UP", "DOWN")}
OPPONENT = {"EFFECT": "NULL", "NULL": "EFFECT", "UP": "DOWN", "DOWN": "UP"}
Judge = Literal["sharp", "numeric", "logprob"]
YES, NO = "A", "B"  # of a judge who answers by letter
ANSWERS = (YES, NO)


@dataclass(frozen=True, slots=True)
class DebateCase:
    """One row as every advocate and judge sees it; dossier, examples: texts; options: the
    method's."""

    pert: str
    gene: str
    dossier: str
    examples: str
    options: Options

    @property
    def dossier_and_examples(self) -> str:
        """The dossier, followed by the examples."""
        return f"{self.dossier or 'No tool gave any evidence.'}\n\n{self.examples}".strip()


def system_prompts(options: Options) -> tuple[str, ...]:
    """Return every system prompt of a run: the judges', and the advocates' if there are rounds."""
    names = ("judge", "advocate") if options["rounds"] else ("judge",)
    return tuple(_system_prompt(name, options) for name in names)


def _system_prompt(name: str, options: Options) -> str:
    return fill(prompt_text(name), cell_desc=cell_desc(options), measure=prompt_text("measure"))


def brief_messages(side: str, case: DebateCase) -> Messages:
    """Return the request for a brief: the pair, the side and the dossier, without a multiple-choice
    question."""
    position = fill(prompt_text(f"side_{side.lower()}"), pert=case.pert, gene=case.gene)
    task = fill(
        prompt_text("advocate_task"),
        pert=case.pert,
        gene=case.gene,
        side=side,
        position=position,
        dossier=case.dossier_and_examples,
    )
    return Message("system", _system_prompt("advocate", case.options)), Message("user", task)


def rebuttal_messages(side: str, case: DebateCase, own_brief: str, other_brief: str) -> Messages:
    """Return the request for a rebuttal: the advocate's own brief, and the opponent's to answer."""
    reply = fill(prompt_text("rebuttal"), opponent=OPPONENT[side], brief=other_brief, side=side)
    return *brief_messages(side, case), Message("assistant", own_brief), Message("user", reply)


def verdict_messages(stage: Stage, case: DebateCase, speeches: Speeches) -> Messages:
    """Return the request for a verdict on the speeches, in order."""
    pair = {"pert": case.pert, "gene": case.gene}
    task = fill(
        prompt_text("judge_task"),
        **pair,
        dossier=case.dossier_and_examples,
        debate="\n\n".join(f"{who}:\n{words}" for who, words in speeches),
        question=fill(prompt_text(f"question_{stage}"), **pair),
        format=with_form(
            fill(prompt_text(_format(stage, case.options)), **pair),
            verdict_schema(stage, case.options),
        ),
    )
    return Message("system", _system_prompt("judge", case.options)), Message("user", task)


def judge_of(stage: Stage, options: Options) -> Judge:
    """Return how the judge of a debate answers: in its own way, or as both do."""
    own: Judge = options.get(f"judge_{stage}") or options["judge"]
    return own


def _format(stage: Stage, options: Options) -> str:
    judge = judge_of(stage, options)
    return f"format_sharp_{stage}" if judge == "sharp" else f"format_{judge}"


def verdict_schema(stage: Stage, options: Options) -> AnswerSchema | None:
    """Return the schema of a verdict; None for a verdict in any text."""
    if not options.get("structured"):
        return None
    return (
        letter_schema(ANSWERS)
        if judge_of(stage, options) == "logprob"
        else percent_schema("probability")
    )


def ask_brief_again(side: str, case: DebateCase, reason: str) -> str:
    """Return the second request for a brief, with the reason why the first answer was rejected."""
    return fill(
        prompt_text("reask_brief"), reason=reason, side=side, pert=case.pert, gene=case.gene
    )


def all_texts(options: Options) -> str:
    """Return every text that a prompt with these options may hold, one after the other."""
    formats = dict.fromkeys(_format(stage, options) for stage in SIDES)
    names = [
        "judge",
        "judge_task",
        "question_de",
        "question_dir",
        *formats,
        "reask_letter",
        "reask_prob",
        "examples",
    ]
    if options["rounds"]:
        names += [
            "advocate",
            "advocate_task",
            "reask_brief",
            *(f"side_{side.lower()}" for side in OPPONENT),
        ]
    if options["rounds"] > 1:
        names.append("rebuttal")
    text = "\n\n".join((*map(prompt_text, names), prompt_text("measure"), cell_desc(options)))
    for schema in dict.fromkeys(verdict_schema(stage, options) for stage in SIDES):
        text = with_form(text, schema)
    return text
