"""What the scripted server says as an agent: the fields that a DSPy prompt asks for, drawn from a hash of the request.

It takes one to four steps, each with a tool of the list and symbols of the pair, then finishes; it knows no biology.
"""

from __future__ import annotations

import json
import re
from ast import literal_eval

from core.llm.scripted_text import Ask

_END = "[[ ## completed ## ]]"
_ASKED = re.compile(r"\nRespond with (a JSON object|the corresponding output fields)([^\n]*)\Z")
_MOST_STEPS = 4
_FIELD = re.compile(r"\[\[ ## (\w+) ## \]\]\n([^\n]*)")
_WANTED = re.compile(r"`(?:\[\[ ## )?(\w+)(?: ## \]\])?`")
_TOOL = re.compile(r"\(\d+\) (\w+), whose description is <desc>.*?</desc>\. It takes arguments (\{.*\})\.", re.DOTALL)
_QUESTION = re.compile(r"What is known of (\S+) and (\S+)\?")
_STEP = re.compile(r"\[\[ ## thought_\d+ ## \]\]")


def by_fields(ask: Ask) -> str | None:
    """Every field that a DSPy prompt wants, in its order and form; None for a prompt that asks for something else."""
    asked = _ASKED.search(ask.prompt.rstrip())
    if asked is None:
        return None
    wanted = [name for name in _WANTED.findall(asked[2]) if name != "completed"]
    said = _step(ask) if "next_tool_name" in wanted else {name: _field(name, ask) for name in wanted}
    if "JSON" in asked[1]:
        return json.dumps({name: _plain(said[name]) for name in wanted})
    return "\n\n".join([*(f"[[ ## {name} ## ]]\n{said[name]}" for name in wanted), _END])


def _plain(said: str) -> object:
    """Arguments of a tool as the object that they are."""
    return json.loads(said) if said.startswith("{") else said


def _step(ask: Ask) -> dict[str, str]:
    tools = {name: literal_eval(arguments) for name, arguments in _tools(ask.prompt)}
    steps = len(_STEP.findall(ask.prompt))
    if steps > _MOST_STEPS * ask.draw("steps") or steps >= _MOST_STEPS:
        return {"next_thought": "This is enough; no model thought so.", "next_tool_name": "finish", "next_tool_args": "{}"}
    names = [name for name in tools if name != "finish"]
    chosen = names[int(len(names) * ask.draw("tool"))]
    arguments = json.dumps({name: _argument(name, ask) for name in tools[chosen]})
    return {"next_thought": f"Step {steps + 1}: ask {chosen}.", "next_tool_name": chosen, "next_tool_args": arguments}


def _tools(prompt: str) -> list[tuple[str, str]]:
    return [found for line in prompt.splitlines() for found in _TOOL.findall(line)]


def _argument(name: str, ask: Ask) -> str:
    given = dict(_FIELD.findall(ask.prompt))
    asked = _QUESTION.search(given.get("question", ""))
    pert, gene = asked.groups() if asked else (given.get("perturbed_gene", "Abc1"), given.get("target_gene", "Xyz2"))
    if name == "question":
        return f"What is known of {pert} and {gene}?"
    return str({"pert": pert, "gene": gene}.get(name, pert if ask.draw("symbol") < 0.5 else gene))


def _field(name: str, ask: Ask) -> str:
    if name.startswith("p_"):
        return str(round(100 * ask.draw(name)))
    if name == "answer" and "A) up" in ask.prompt:
        return "ABC"[int(3 * ask.draw(name))]
    return f"A scripted {name.replace('_', ' ')}, which no model wrote."
