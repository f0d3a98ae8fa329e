"""Find the calls that a method makes: it predicts an invented row with scripted answers, without a server."""

from __future__ import annotations

import json
from collections.abc import Mapping

from core.audit.rubric import Rubric
from core.errors import InputError
from core.evidence.label_view import LabelView
from core.evidence.packs import Packs
from core.llm.answers import AnswerFault, read_answer
from core.llm.client import Client
from core.llm.endpoint import EXAMPLE, Endpoint
from core.llm.messages import Reply, Request
from core.llm.streaming import OnWords
from core.methods.base import (
    AsksAgain,
    Context,
    DerivedMethod,
    Method,
    ReadsTexts,
    RowFailed,
    RowMethod,
    RowText,
    TextsOfRun,
    read_options,
)
from core.methods.judge_rubric import reading_options
from core.methods.schema import Field, Schema
from core.types import Pair

_PAIR = Pair("probe", "Stat1", "Irf1", None, "test")
_PROMPT = "Does knockdown of Stat1 change Irf1? A) up B) down C) none. Reply with <answer>letter</answer>."
_RUBRIC = Rubric("probe", "Does it argue?", ("yes", "no"))
_SCHEMA = Schema(_RUBRIC, "points", "text", "You read a text.", "List its points.", (Field("point", "a sentence."),), ("point",))
_TEXTS = tuple(RowText(seq, "de", role, "It argues.") for seq, role in enumerate(("EFFECT", "NULL", "JUDGE")))


class _Recorder(Client):
    """A client that sends nothing: it keeps the requests, and answers by the script."""

    def __init__(self) -> None:
        super().__init__(Endpoint(EXAMPLE))
        self.requests: list[Request] = []

    async def complete(self, request: Request, _: OnWords | None = None) -> Reply:
        """Complete as `Client` does, without passing the words on."""
        from core.llm.scripted_server import completion, read_prompt, write_reply  # no run loads it

        self.requests.append(request)
        prompt = read_prompt(request.body, 0)
        raw = json.dumps(completion(request.body, prompt, write_reply(prompt), "").answer)
        answer = read_answer(raw)
        if isinstance(answer, AnswerFault):
            raise InputError(f"scripted answer: {answer.message}")
        logprobs = answer.logprobs if request.top_logprobs is not None else None
        return Reply(answer.content or "", "", answer.finish_reason, answer.usage, logprobs, request.text, raw)


async def find_requests(method: Method, options: Mapping[str, object]) -> list[Request]:
    """Return the calls that a method makes for a row, only the first of those that differ only in messages or seeds.

    Raise InputError for a method without a model, one that repeats an earlier run's calls, and invalid options.
    """
    if not method.needs_model or not isinstance(method, RowMethod) or isinstance(method, DerivedMethod | AsksAgain):
        raise InputError(f"method {method.name}: has no calls of its own, expected one that asks a model row by row")
    if isinstance(method, ReadsTexts):
        own = reading_options(_RUBRIC, "probe", schema=_SCHEMA.text)
        known = {option.name for option in method.options}
        options = {**{name: value for name, value in own.items() if name in known}, **options}
    async with _Recorder() as client:
        try:
            await method.predict_row(_PAIR, _context(method, options, client))
        except RowFailed as failure:
            if not client.requests:
                raise InputError(f"method {method.name}: {failure.cause}") from None
        found = {request.parameters: request for request in reversed(client.requests)}
    return list(reversed(found.values()))


def _context(method: Method, options: Mapping[str, object], client: Client) -> Context:
    view = LabelView(())
    return Context(
        (_PAIR,),
        read_options(method.options, options),
        lambda _: view,
        Packs(),
        client,
        "probe",
        prompts={_PAIR.pair_id: _PROMPT},
        texts=TextsOfRun({_PAIR.pair_id: _TEXTS}) if isinstance(method, ReadsTexts) else None,
    )
