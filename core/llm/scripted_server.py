"""A small simulated model behind the OpenAI protocol: for Ask without a model, benches and tests.

It listens on this machine only, serves a model named "scripted", and draws answers from a hash of
the request, in the format that its prompt asks for. They hold no biology: no model writes them.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import re
import socket
import threading
from ast import literal_eval
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

MODEL, MAX_MODEL_LEN = "scripted", 131_072
REASONING = "Scripted reasoning, which no model did. The answer follows from a hash of the request."
_SYMBOL = r"(?=[\w.-]*[A-Z0-9])(\w[\w.-]*\w)"  # mouse and human symbols have a capital or a digit
_KNOCKED = r"perturbation|perturbed gene|pert|knock(?:down|out) of|knocking (?:down|out)|perturbing"
_TARGETS = r"target gene|measured gene|target|gene|expression of|effect on|affects?|affecting"
_NAMED = [rf"(?i:\b(?:{words})[\s:=*`'\"(]{{1,6}}){_SYMBOL}" for words in (_KNOCKED, _TARGETS)]
_WORDS = {"In", "The", "This", "Is", "It", "DE", "LPS", "CRISPRi", "EFFECT", "NULL", "UP", "DOWN"}
_TOKEN = re.compile(r"\s?\w+|[^\w\s]+|\s+")
_TEXT = re.compile(r"<text-([0-9a-f]{8})>\n(.*?)\n</text-\1>", re.DOTALL)  # that a rubric is about
_SENTENCE = re.compile(r"[^.!?\n]{1,400}[.!?]?")
# Of an agent, whose prompts DSPy writes.
_REQUEST = re.compile(r"\nRespond with the corresponding output fields([^\n]*)\Z")
_TOOL = re.compile(r"\(\d+\) (\w+), whose description is .*?It takes arguments (\{.*\})\.")
_BEFORE_LETTER = ("<answer>", "Answer:", '"answer": "')
_FILLERS = ("The", "**", "I", "\n", "We", "This", "Since", "</", "-", "...", "Based", "It", "None")


@dataclass(frozen=True, slots=True)
class ScriptedPrompt:
    """What an answer depends on: the text of system and user; and all messages and seeds."""

    text: str
    identity: str

    @property
    def asked(self) -> str:
        """The text, or what stands behind the text that a rubric is about."""
        return _TEXT.split(self.text)[-1]

    @property
    def sentences(self) -> list[str]:
        """The sentences of the text that a rubric is about; none for any other prompt."""
        text = _TEXT.search(self.text)
        found = (sentence.strip() for sentence in _SENTENCE.findall(text[2] if text else ""))
        return [sentence for sentence in found if sentence]

    def draw(self, what: str) -> float:
        """Return a number in [0, 1) that depends only on the request and on `what`."""
        digest = hashlib.sha256(f"{self.identity}\n{what}".encode()).digest()
        return int.from_bytes(digest[:7]) / 2**56

    def choose(self, what: str, options: Sequence[str]) -> str:
        """Return one of the options, drawn for `what`."""
        return options[int(len(options) * self.draw(what))]


def read_prompt(body: Mapping[str, Any], seed: int) -> ScriptedPrompt:
    """Return the prompt of a request's body, for a server with this seed."""
    messages = [(message["role"], str(message["content"])) for message in body["messages"]]
    text = "\n".join(content for role, content in messages if role != "assistant")
    return ScriptedPrompt(text, json.dumps([seed, body.get("seed"), messages]))


def find_genes(prompt: str) -> tuple[str, str]:
    """Return the perturbed and the measured gene that a prompt seems to be about."""
    perts, genes = ([s for s in re.findall(p, prompt) if s not in _WORDS] for p in _NAMED)
    guesses = re.findall(r"\b(?=\w*\d)[A-Z0-9]\w{2,}\b", prompt)
    pert = [*perts, *guesses, "the perturbed gene"][0]
    return pert, next(s for s in (*genes, *guesses, "the measured gene") if s != pert)


def scripted_probabilities(prompt: ScriptedPrompt) -> dict[str, float]:
    """Return the probability of each letter on offer (A, B and C by default); they sum to 1."""
    patterns = (r"(?m)^\W{0,3}([A-Z])[).:]", "<answer>([A-Z])</answer>")
    offers = (sorted(set(re.findall(pattern, prompt.asked))) for pattern in patterns)
    letters = next((offer for offer in offers if len(offer) > 1), ["A", "B", "C"])
    weights = {letter: math.exp(5 * prompt.draw(f"odds {letter}")) for letter in letters}
    return {letter: weight / sum(weights.values()) for letter, weight in weights.items()}


def write_reply(prompt: ScriptedPrompt) -> str:
    """Return an answer in the format that the prompt shows last: prose if it shows none."""
    request, asked = _REQUEST.search(prompt.text.rstrip()), prompt.asked.lower()
    if request is not None:
        wanted = re.findall(r"`\[\[ ## (\w+) ## \]\]`", request[1])
        values = _write_step(prompt) if "next_tool_name" in wanted else {}
        for name in wanted:
            text = f"A scripted {name.replace('_', ' ')}, which no model wrote."
            if name.startswith("p_"):
                text = str(round(100 * prompt.draw(name)))
            elif name == "answer" and "A) up" in prompt.text:
                text = prompt.choose(name, "ABC")
            values.setdefault(name, "" if name == "completed" else text)
        return "\n\n".join(f"[[ ## {name} ## ]]\n{values[name]}" for name in wanted)
    last = max(("<prob>", "<answer>", "answer:"), key=asked.rfind)
    if last not in asked:
        # A summary of the gene that a line names alone, else a brief about both genes
        if summarised := re.search(r"^Gene: (\S+)$", prompt.text, re.MULTILINE):
            return f"This is a scripted summary of {summarised[1]}; no model wrote it."
        pert, gene = find_genes(prompt.text)
        return (
            f"This is a scripted brief on {pert} and {gene}; no model wrote it. "
            f"The dossier was read for links between {pert} and {gene}, and for their neighbours. "
            f"Where {pert} acts, its partners and programmes bear on how {gene} responds. "
            "On these grounds the assigned side is upheld."
        )
    if last == "<prob>":
        return f"<prob>{round(100 * prompt.draw('prob'))}</prob>"
    words = sorted(set(re.findall("<answer>([a-z][a-z ]+)</answer>", prompt.asked)))
    answer = prompt.choose("word", words) if len(words) > 1 else _draw_letter(prompt)
    if last == "answer:":
        return f"Answer: {answer}"
    passage = prompt.choose("passage", prompt.sentences or [""])
    return f"<answer>{answer}</answer>" + f"\n<passage>{passage}</passage>" * ("<passage>" in asked)


def _draw_letter(prompt: ScriptedPrompt) -> str:
    letters = scripted_probabilities(prompt)
    place = bisect_right(list(accumulate(letters.values())), prompt.draw("sample"))
    return [*letters, max(letters)][place]


def _write_step(prompt: ScriptedPrompt) -> dict[str, str]:
    """Return an agent's next step: one to four tools with symbols of the pair, then finish."""
    tools, steps = dict(_TOOL.findall(prompt.text)), prompt.text.count("[[ ## thought_")
    tools.pop("finish", None)
    if not tools or steps > 4 * prompt.draw("steps") or steps >= 4:
        thought = "This is enough; no model thought so."
        return {"next_thought": thought, "next_tool_name": "finish", "next_tool_args": "{}"}
    tool = prompt.choose("tool", list(tools))
    asked = re.search(r"What is known of (\S+) and (\S+)\?", prompt.text)
    pert, gene = asked.groups() if asked else find_genes(prompt.text)
    values = {"question": f"What is known of {pert} and {gene}?", "pert": pert, "gene": gene}
    other = prompt.choose("symbol", (pert, gene))
    arguments = json.dumps({name: values.get(name, other) for name in literal_eval(tools[tool])})
    thought = f"Step {steps + 1}: ask {tool}."
    return {"next_thought": thought, "next_tool_name": tool, "next_tool_args": arguments}


@dataclass(frozen=True, slots=True)
class Script:
    """How a simulated model answers; equal scripts and requests give equal answers.

    delay_s: before an answer; token_s: between two tokens of a stream. answer: writes the content.
    """

    seed: int = 0
    delay_s: float = 0.0
    token_s: float = 0.0
    answer: Callable[[ScriptedPrompt], str] = write_reply


class Completion(NamedTuple):
    """The JSON of a completion, and the tokens of its reasoning and of its content."""

    answer: dict[str, Any]
    reasoning: Sequence[str]
    content: Sequence[str]


def completion(
    body: Mapping[str, Any],
    prompt: ScriptedPrompt,
    text: str,
    reason: str,
) -> Completion:
    """Return the completion of a text; the request's limit counts its reasoning first."""
    if "response_format" in body:
        fields = body["response_format"]["json_schema"]["schema"]["properties"]
        values: dict[str, Any] = {}
        for name, field in fields.items():
            if "enum" in field:
                letter = _draw_letter(prompt)
                values[name] = (
                    letter if letter in field["enum"] else prompt.choose(name, field["enum"])
                )
            else:
                is_number = field["type"] == "integer"
                values[name] = (
                    round(100 * prompt.draw(name))
                    if is_number
                    else "A scripted reason, which no model gave."
                )
        text = json.dumps(values)
    for stop in body.get("stop") or ():
        text = text.partition(stop)[0]
    reasoning, content = _TOKEN.findall(reason), _TOKEN.findall(text)
    limit = body.get("max_completion_tokens") or MAX_MODEL_LEN
    finish_reason = "length" if len(reasoning) + len(content) > limit else "stop"
    reasoning, content = reasoning[:limit], content[: max(limit - len(reasoning), 0)]
    message = {"role": "assistant", "content": "".join(content) or None}
    message |= {"reasoning": "".join(reasoning)} if reasoning else {}
    entries = _logprobs(content, prompt, body.get("top_logprobs") or 0)
    logprobs = {"content": entries} if body.get("logprobs") else None
    choice = {"index": 0, "message": message, "finish_reason": finish_reason, "logprobs": logprobs}
    n_prompt, n_text, n_reasoning = count_tokens(prompt.text), len(content), len(reasoning)
    usage = {"prompt_tokens": n_prompt, "completion_tokens": n_reasoning + n_text}
    usage["total_tokens"] = sum(usage.values())
    details = {"completion_tokens_details": {"reasoning_tokens": n_reasoning}}
    head = {"id": "scripted", "object": "chat.completion", "model": MODEL}
    return Completion({**head, "choices": [choice], "usage": usage | details}, reasoning, content)


def count_tokens(text: str) -> int:
    """Return the number of tokens of a text."""
    return len(_TOKEN.findall(text))


def _logprobs(tokens: Sequence[str], prompt: ScriptedPrompt, top: int) -> list[dict[str, Any]]:
    """Return an entry per token; the answer's token has the probabilities of all letters."""
    shares, entries, before = scripted_probabilities(prompt), [], ""
    for token in tokens:
        letter, options = token.strip(), {token: 0.98}
        if letter in shares and before.endswith(_BEFORE_LETTER):
            options = {token.replace(letter, name): 0.98 * p for name, p in shares.items()}
        rest = {word: 0.02 / 2 ** (i + 1) for i, word in enumerate(_FILLERS) if word not in options}
        ranked = sorted({**options, **rest}.items(), key=lambda option: -option[1])[:top]
        listed = [{"token": word, "logprob": math.log(p)} for word, p in ranked]
        logprob = math.log(options[token])
        entries.append({"token": token, "logprob": logprob, "top_logprobs": listed})
        before = (before + token)[-max(map(len, _BEFORE_LETTER)) :]
    return entries


def stream_parts(
    answer: Mapping[str, Any],
    reasoning: Sequence[str],
    content: Sequence[str],
) -> Iterator[bytes]:
    """Yield the events of an answer whose texts have these tokens, one each, and its usage last."""
    head, usage = {**answer, "object": "chat.completion.chunk", "usage": None}, answer["usage"]
    parts: list[dict[str, Any]] = []
    for choice in answer["choices"]:
        message, entries = choice["message"], (choice["logprobs"] or {}).get("content")
        field = next((name for name in message if name.startswith("reasoning")), "")
        parts.append({"delta": {"role": message["role"]}})
        parts += [{"delta": {field: token}} for token in reasoning]
        for i, token in enumerate(content):
            logprobs = {"content": [entries[i]]} if entries else None
            parts.append({"delta": {"content": token}, "logprobs": logprobs})
        parts.append({"delta": {}, "finish_reason": choice["finish_reason"]})
    events = [{"choices": [{"index": 0, **part}]} for part in parts]
    for event in (*events, {"choices": [], "usage": usage}):
        yield b"data: " + json.dumps({**head, **event}).encode() + b"\n\n"
    yield b"data: [DONE]\n\n"


@contextmanager
def serving(script: Script | None = None) -> Iterator[str]:
    """Run a simulated model in a thread until the block ends; yield its address, ending in /v1."""
    import uvicorn  # nothing but Ask without a model loads a server
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response, StreamingResponse

    played = script or Script()

    async def models(_: Request) -> Response:
        model = {"id": MODEL, "object": "model", "max_model_len": MAX_MODEL_LEN}
        return JSONResponse({"object": "list", "data": [model]})

    async def tokenize(request: Request) -> Response:
        return JSONResponse({"count": count_tokens((await request.json())["prompt"])})

    async def chat(request: Request) -> Response:
        body = await request.json()
        prompt = read_prompt(body, played.seed)
        made = completion(body, prompt, played.answer(prompt), REASONING)
        await asyncio.sleep(played.delay_s)
        if not body.get("stream"):
            return JSONResponse(made.answer)
        parts = paced(stream_parts(*made), played.token_s)
        return StreamingResponse(parts, media_type="text/event-stream")

    app = Starlette()
    app.add_route("/v1/models", models)
    app.add_route("/tokenize", tokenize, methods=["POST"])
    app.add_route("/v1/chat/completions", chat, methods=["POST"])
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off", access_log=False))
    thread = threading.Thread(target=server.run, args=([listener],), name=MODEL, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        server.should_exit = server.force_exit = True
        thread.join()


async def paced(parts: Iterable[bytes], pause_s: float) -> AsyncIterator[bytes]:
    """Yield the parts with a pause before each but the first."""
    for i, part in enumerate(parts):
        await asyncio.sleep(pause_s if i else 0)
        yield part
