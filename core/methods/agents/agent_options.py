"""What an agent can be told, and what its prompts are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.methods.base import Option
from core.methods.prompt_options import CONTEXT, EFFORTS, LITERATURE, SHOTS, SOURCES
from core.methods.prompt_texts import fill, prompt_text

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
    """What a model is told of a tool; arguments: name → JSON schema."""

    name: str
    description: str
    arguments: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class PromptOutline:
    """What an agent's prompts are made of, which no row changes.

    told: its instructions. given: the names of its input fields. asked: its output fields and what they are.
    """

    instructions: str
    tools: tuple[ToolDescription, ...]
    input_fields: tuple[str, ...]
    output_fields: tuple[tuple[str, str], ...]


def outline_of_answerer(options: Mapping[str, Any], tools: Sequence[ToolDescription], *more: str) -> PromptOutline:
    """The agent that is given the pair and answers."""
    letter = options["answers"] == "letter"
    asked = prompt_text("agent_letter" if letter else "agent_probabilities")
    told = fill(prompt_text("agent"), measure=prompt_text("measure"), format=asked)
    given = ("cells", "perturbed_gene", "target_gene", *(("measured_pairs",) if options["shots"] else ()))
    return PromptOutline("\n\n".join((told, *more)), tuple(tools), given, LETTER if letter else PROBABILITIES)


def outline_of_colleague(told: str, tools: Sequence[ToolDescription]) -> PromptOutline:
    """An agent that is asked a question in words."""
    return PromptOutline(told, tuple(tools), ("question",), IN_WORDS)
