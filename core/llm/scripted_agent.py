"""The texts of the scripted server as an agent: the fields that a DSPy prompt asks for, drawn from a hash of the request.

The agent takes one to four steps, each with a tool of the list and symbols of the pair, then finishes.
"""

from __future__ import annotations

import json
import re
from ast import literal_eval

from core.llm.scripted_text import ScriptedPrompt

_END = "[[ ## completed ## ]]"
_REQUEST = re.compile(r"\nRespond with (a JSON object|the corresponding output fields)([^\n]*)\Z")
_MAX_STEPS = 4
_FIELD = re.compile(r"\[\[ ## (\w+) ## \]\]\n([^\n]*)")
_WANTED = re.compile(r"`(?:\[\[ ## )?(\w+)(?: ## \]\])?`")
_TOOL = re.compile(r"\(\d+\) (\w+), whose description is <desc>.*?</desc>\. It takes arguments (\{.*\})\.", re.DOTALL)
_QUESTION = re.compile(r"What is known of (\S+) and (\S+)\?")
_STEP = re.compile(r"\[\[ ## thought_\d+ ## \]\]")


def write_fields(prompt: ScriptedPrompt) -> str | None:
    """Every field that a DSPy prompt asks for, in its order and format; None for any other prompt."""
    request = _REQUEST.search(prompt.text.rstrip())
    if request is None:
        return None
    wanted = [name for name in _WANTED.findall(request[2]) if name != "completed"]
    values = _write_step(prompt) if "next_tool_name" in wanted else {name: _write_field(name, prompt) for name in wanted}
    if "JSON" in request[1]:
        return json.dumps({name: _json_value(values[name]) for name in wanted})
    return "\n\n".join([*(f"[[ ## {name} ## ]]\n{values[name]}" for name in wanted), _END])


def _json_value(text: str) -> object:
    """The arguments of a tool as an object; any other text unchanged."""
    return json.loads(text) if text.startswith("{") else text


def _write_step(prompt: ScriptedPrompt) -> dict[str, str]:
    tools = {name: literal_eval(arguments) for name, arguments in _tools(prompt.text)}
    steps = len(_STEP.findall(prompt.text))
    if steps > _MAX_STEPS * prompt.draw("steps") or steps >= _MAX_STEPS:
        return {"next_thought": "This is enough; no model thought so.", "next_tool_name": "finish", "next_tool_args": "{}"}
    names = [name for name in tools if name != "finish"]
    chosen = names[int(len(names) * prompt.draw("tool"))]
    arguments = json.dumps({name: _argument(name, prompt) for name in tools[chosen]})
    return {"next_thought": f"Step {steps + 1}: ask {chosen}.", "next_tool_name": chosen, "next_tool_args": arguments}


def _tools(prompt: str) -> list[tuple[str, str]]:
    return [tool for line in prompt.splitlines() for tool in _TOOL.findall(line)]


def _argument(name: str, prompt: ScriptedPrompt) -> str:
    fields = dict(_FIELD.findall(prompt.text))
    question = _QUESTION.search(fields.get("question", ""))
    pert, gene = question.groups() if question else (fields.get("perturbed_gene", "Abc1"), fields.get("target_gene", "Xyz2"))
    if name == "question":
        return f"What is known of {pert} and {gene}?"
    return str({"pert": pert, "gene": gene}.get(name, pert if prompt.draw("symbol") < 0.5 else gene))


def _write_field(name: str, prompt: ScriptedPrompt) -> str:
    if name.startswith("p_"):
        return str(round(100 * prompt.draw(name)))
    if name == "answer" and "A) up" in prompt.text:
        return "ABC"[int(3 * prompt.draw(name))]
    return f"A scripted {name.replace('_', ' ')}, which no model wrote."
