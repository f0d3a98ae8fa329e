"""The options that agents share, and the outline of their prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.methods.base import Option
from core.methods.prompts import CONTEXT, EFFORTS, LITERATURE, SHOTS, SOURCES, fill, prompt_text

SHARED: tuple[Option, ...] = (
    Option(
        "answers",
        "choice",
        "probabilities",
        "What is asked for in the end: two numbers, or a letter.",
        ("probabilities", "letter"),
    ),
    Option("max_steps", "int", 12, "The most steps of one agent; then it answers from what it has.", least=1, most=1_000),
    Option("max_tokens", "int", 3_000, "The longest reply in tokens, reasoning included.", least=1),
    Option("effort", "choice", "", "Reasoning effort; empty leaves it to the server.", EFFORTS),
    SOURCES,
    LITERATURE,
    CONTEXT,
    SHOTS,
)
PROBABILITIES = (
    ("p_de", "how probable it is, from 0 to 100, that the target gene's expression changes at all"),
    ("p_up_given_de", "how probable it is, from 0 to 100, that it goes up, should it change"),
)
LETTER = (("answer", "A) up, B) down or C) none: the letter alone"),)
IN_WORDS = (("answer", "the answer in a few sentences"),)


@dataclass(frozen=True, slots=True)
class ToolDescription:
    """A tool as the model sees it; arguments: name → JSON schema."""

    name: str
    description: str
    arguments: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class PromptOutline:
    """The parts of an agent's prompts that are the same for every row.

    input_fields: their names. output_fields: (name, description) of each.
    """

    instructions: str
    tools: tuple[ToolDescription, ...]
    input_fields: tuple[str, ...]
    output_fields: tuple[tuple[str, str], ...]


def outline_of_answerer(options: Mapping[str, Any], tools: Sequence[ToolDescription], *more: str) -> PromptOutline:
    """Returns the outline of the agent that predicts the pair; more: further paragraphs of instructions."""
    letter = options["answers"] == "letter"
    answer_format = prompt_text("agent_letter" if letter else "agent_probabilities")
    instructions = fill(prompt_text("agent"), measure=prompt_text("measure"), format=answer_format)
    input_fields = ("cells", "perturbed_gene", "target_gene", *(("measured_pairs",) if options["shots"] else ()))
    return PromptOutline("\n\n".join((instructions, *more)), tuple(tools), input_fields, LETTER if letter else PROBABILITIES)


def outline_of_colleague(instructions: str, tools: Sequence[ToolDescription]) -> PromptOutline:
    """Returns the outline of an agent that answers a question in words."""
    return PromptOutline(instructions, tuple(tools), ("question",), IN_WORDS)
