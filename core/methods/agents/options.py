"""What an agent can be told, and the texts that its prompts are made from."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from core.errors import InputError, MissingPackage
from core.evidence.registry import tool_named
from core.evidence.tool import Tool
from core.methods.base import Option
from core.methods.case import CONTEXT, EFFORTS, LITERATURE, SHOTS, SOURCES, cell_desc
from core.methods.limits import B_TOOLS
from core.methods.texts import fill, text

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


def tools_of(names: str) -> tuple[Tool, ...]:
    """Evidence tools from "a,b,c", each once. Raises NotFound for one that is not known, InputError for none or too many."""
    found = tuple(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if not 1 <= len(found) <= B_TOOLS:
        raise InputError(f"tools: got {len(found)}, expected 1 to {B_TOOLS}")
    return tuple(map(tool_named, found))


def instructions(options: Mapping[str, Any], *more: str) -> str:
    """What the agent that answers is told, apart from the pair."""
    asked = text("agent_letter" if options["answers"] == "letter" else "agent_probabilities")
    told = fill(text("agent"), measure=text("measure"), format=asked)
    return "\n\n".join((told, *more))


def all_texts(options: Mapping[str, Any], tools: tuple[Tool, ...], *more: str) -> str:
    """Every text that a prompt may hold, DSPy's by its version. Raises MissingPackage where DSPy is not installed."""
    try:
        dspy = version("dspy")
    except PackageNotFoundError as error:
        raise MissingPackage(
            "agents need the package dspy, which is not installed: pip install -r requirements-agents.txt"
        ) from error
    described = "\n".join(f"{tool.name}: {tool.description}" for tool in tools)
    asked = (text("reask_prob"), text("reask_letter"), text("reask_field"), text("examples"), cell_desc(options))
    return "\n\n".join((f"dspy {dspy}", instructions(options, *more), described, *asked))
