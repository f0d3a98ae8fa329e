"""A stream makes the answer that the same request gives without one, however it is cut, and nothing else."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from core.base.net.server_access import ServerAccess
from core.llm.completion import AnswerFault, read_answer
from core.llm.errors import Malformed, ModelError
from core.llm.messages import Message, Reply, Request
from core.llm.streamed_answer import StreamedAnswer
from core.llm.streaming import join_stream
from tests.fakes import scripted as scripted_server
from tests.fakes.scripted import Faults, Script, request_counts, serving
from tests.llm.canned import ASK, KEY, Canned, completion, cut, outcomes
from tests.llm.canned import serving as canned
from tests.llm.test_client import LOGPROBS, WITH_LOGPROBS

TEXTS = some.text(max_size=40) | some.sampled_from(
    ["data: [DONE]\n\n", "\u2028 \x85", "😀", "\n\ndata: {}"]
)
NUMBERS = some.floats() | some.none() | some.integers()
TOKENS = some.lists(some.tuples(TEXTS, NUMBERS), max_size=6)
FIELDS = some.sampled_from(["reasoning", "reasoning_content"])
USAGES = some.none() | some.fixed_dictionaries(
    {"prompt_tokens": NUMBERS, "completion_tokens": some.integers(0, 9)}
)
ASKED = Request("scripted", (Message("user", "x"),))
PROMPT = "A) up\nB) down\nC) none\nWhat does knockdown of {} do to Mmp14? Reply with <answer>letter</answer>."


def answer_of(
    tokens: list[tuple[str, Any]], reasoning: list[str], field: str, usage: Any, logprobs: bool
) -> dict[str, Any]:
    entries = (
        {"content": [{"token": token, "logprob": p, "top_logprobs": []} for token, p in tokens]}
        if logprobs
        else None
    )
    message = {
        "role": "assistant",
        "content": "".join(token for token, _ in tokens) if tokens else None,
        field: "".join(reasoning),
    }
    choice = {
        "index": 0,
        "message": message,
        "finish_reason": "stop",
        "logprobs": entries if tokens else None,
    }
    return {
        "id": "x",
        "object": "chat.completion",
        "model": "m",
        "choices": [choice],
        "usage": usage,
    }


@pytest.mark.soak
@given(TOKENS, some.lists(TEXTS, max_size=3), FIELDS, USAGES, some.booleans(), some.integers(0, 99))
def test_a_stream_is_joined_to_the_answer_that_it_was_cut_from(
    tokens: list[tuple[str, Any]],
    reasoning: list[str],
    field: str,
    usage: Any,
    logprobs: bool,
    seed: int,
) -> None:
    whole = answer_of(tokens, reasoning, field, usage, logprobs)
    stream = b"".join(
        scripted_server.stream_parts(whole, reasoning, [token for token, _ in tokens])
    )
    joined, expected = read_answer(join_stream(stream.decode())), read_answer(json.dumps(whole))
    assert repr(joined) == repr(expected)  # NaN is like NaN there
    heard = []
    answer = StreamedAnswer(1 << 20, lambda *new: heard.append(new))
    assert [answer.take(part) for part in cut(stream, seed)].index(True) >= 0
    assert answer.whole() == join_stream(stream.decode())
    assert "".join(content for content, _ in heard) == "".join(token for token, _ in tokens)
    assert "".join(thought for _, thought in heard) == "".join(reasoning)


@given(
    some.text(max_size=200)
    | some.binary(max_size=200).map(lambda raw: raw.decode("utf-8", "replace")),
    some.booleans(),
)
def test_no_text_breaks_the_reader(text: str, as_data: bool) -> None:
    text = f"data: {text}" if as_data else text
    with contextlib.suppress(ValueError):
        assert read_answer(join_stream(text)) is not None


@pytest.mark.parametrize(
    "text", ["", "{}", '{"choices": []}', "<html>data: x", '{"a": "data: "}', "null"]
)
def test_a_text_that_is_no_stream_stays_as_it_is(text: str) -> None:
    assert join_stream(text) == text


def test_halves_of_a_character_that_stand_in_two_chunks_are_one() -> None:
    halves = "".join(
        f'data: {{"choices": [{{"delta": {{"content": "\\ud83{half}"}}}}]}}\n\n'
        for half in ("d", "d")
    )
    broken = halves.replace("\\ud83d", "\\ude00", 2).replace("\\ude00", "\\ud83d", 1)
    found = read_answer(join_stream(f"{broken}data: [DONE]\n\n"))
    assert not isinstance(found, str)
    assert found.content == "😀"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            'data: {"choices": [{"delta": {"content": "It is"}}]}\n\n',
            "broke off after 5 characters",
        ),
        ('data: {"choices": [{"delta": {"conte', "no JSON"),
        ("data: 3\n\n", "of type int"),
        ('data: {"choices": ["x"]}\n\n', "no JSON object"),
    ],
)
def test_a_stream_that_is_broken_says_how(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        join_stream(text)


@pytest.mark.parametrize("deep", ["", "[" * 900 + "]" * 900])
def test_a_secret_in_pieces_stands_in_nothing_that_is_kept_of_a_broken_stream(deep: str) -> None:
    chunks = [
        {"choices": [{"delta": {"content": piece}}]}
        for piece in ("It is sk-open-", "sesame", "/9 B ")
    ]
    text = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    text += f'data: {{"choices": [{{"delta": {{"x": {deep}}}}}]}}\n\n' if deep else ""
    with canned(lambda _: Canned(text)) as (url, _):
        [found] = outcomes(url, [ASK], [], access=ServerAccess.of(url, KEY), retries=0)
    assert isinstance(found, Malformed)
    assert "sesame" not in found.raw
    assert deep or "It is [key] B" in found.raw


def test_an_error_in_a_stream_is_an_error() -> None:
    begun = 'data: {"choices": [{"delta": {"content": "It"}}]}\n\n'
    found = read_answer(
        join_stream(f'{begun}data: {{"error": {{"message": "out of memory"}}}}\n\n')
    )
    assert isinstance(found, AnswerFault)
    assert found.message == "no choices but an error: out of memory"


def facts(found: Reply | ModelError) -> object:
    if isinstance(found, Reply):
        usage = found.usage
        spent = (
            usage.attempts,
            usage.prompt_tokens,
            usage.completion_tokens,
            usage.reasoning_tokens,
            usage.uncounted,
        )
        return (
            found.request,
            json.loads(found.raw),
            found.content,
            found.reasoning,
            found.finish_reason,
            found.logprobs,
            spent,
        )
    return (type(found), found.usage.attempts)


FAULTS = tuple(
    name for name in Faults.names() if name not in ("hang", "drip", "huge", "bomb", "wrong_length")
)


def test_faults_are_repeated_as_without_a_stream() -> None:
    requests = [
        Request("scripted", (Message("user", PROMPT.format(f"Gene{i}")),), top_logprobs=3)
        for i in range(40)
    ]
    script = Script(faults=Faults.each(0.6 / len(FAULTS), *FAULTS), retry_after_s=0.001)
    limits = {"retries": 3, "longest_wait_s": 1.0, "longest_backoff_s": 0.01}
    with serving(script) as url:
        whole = outcomes(url, requests, None, **limits)
        asked = request_counts(url)
    with serving(script) as url:
        streamed = outcomes(url, requests, [], **limits)
        counts = request_counts(url)
    assert {name: counts.get(name) for name in FAULTS} == {name: asked.get(name) for name in FAULTS}
    assert [repr(facts(each)) for each in streamed] == [repr(facts(each)) for each in whole]


def test_a_stream_that_breaks_off_is_asked_for_again_and_its_words_are_told_apart() -> None:
    whole = {"model": "m", **completion("up it is", logprobs=None)}
    parts = list(scripted_server.stream_parts(whole, [], ["up ", "it ", "is"]))
    bodies = [b"".join(parts[:3]).decode(), b"".join(parts).decode()]
    heard = []
    with canned(lambda asked: Canned(bodies[min(asked.number, 1)])) as (url, asked):
        [found] = outcomes(url, [ASK], heard)
    assert isinstance(found, Reply)
    assert (found.content, found.attempts, len(asked)) == ("up it is", 2, 2)
    assert [(words.content, words.attempt) for words in heard] == [
        ("up ", 1),
        ("it ", 1),
        ("up ", 2),
        ("it ", 2),
        ("is", 2),
    ]
    with canned(lambda _: Canned(bodies[0])) as (url, asked):
        [failed] = outcomes(url, [ASK], [], retries=2)
    assert isinstance(failed, Malformed)
    assert "a stream that broke off after 6 characters" in str(failed)
    assert len(asked) == 3


def streamed(deltas: list[Any]) -> str:
    """The body of a stream of these deltas' content."""
    chunks = [{"choices": [{"delta": {"content": delta}}]} for delta in deltas]
    chunks.append(
        {
            "choices": [{"delta": {}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 2},
        }
    )
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"


@pytest.mark.parametrize(
    "deltas",
    [
        ["<think>A", "? p < 1</thi", "nk>", "It is B"],
        ["A? p < 1", "</think>", " It is B"],
        [
            "<|channel|>analysis<|mess",
            "age|>A? p < 1<|end|><|start|>assistant",
            "<|channel|>final<|message|>It is",
            " B",
        ],
        [  # Mistral's parts: thinking as a list, the answer as texts or as parts
            [{"type": "thinking", "thinking": [{"type": "text", "text": "A? "}]}],
            [{"type": "thinking", "thinking": [{"type": "text", "text": "p < 1"}]}],
            [{"type": "text", "text": "It"}],
            " is",
            [{"type": "text", "text": " B"}],
        ],
    ],
)
def test_what_is_heard_is_what_is_read_however_a_server_streams_its_thinking(
    deltas: list[Any],
) -> None:
    heard = []
    with canned(lambda _: Canned(streamed(deltas))) as (url, _):
        [found] = outcomes(url, [ASK], heard)
    assert isinstance(found, Reply)
    assert (found.content, found.reasoning) == ("It is B", "A? p < 1")
    last = max((i for i, words in enumerate(heard) if words.is_anew), default=0)
    assert "".join(words.content for words in heard[last:]) == found.content
    assert "".join(words.reasoning for words in heard[last:]) == found.reasoning


def test_a_server_that_does_not_stream_is_asked_without_and_not_again() -> None:
    heard = []
    with serving(Script(streams=False)) as url:
        first, second = outcomes(
            url, [Request("scripted", (Message("user", text),)) for text in ("a", "b")], heard
        )
    assert isinstance(first, Reply)
    assert isinstance(second, Reply)
    assert heard == []
    assert "stream" not in first.request
    with canned(lambda _: Canned(completion("A", logprobs=LOGPROBS))) as (
        url,
        asked,
    ):  # takes no notice of the wish
        [found] = outcomes(url, [WITH_LOGPROBS], heard)
    assert isinstance(found, Reply)
    assert (found.content, heard, asked[0].body["stream"]) == ("A", [], True)


def test_a_stream_may_not_be_longer_than_an_answer() -> None:
    with serving(Script(answer=lambda _: "word " * 500)) as url:
        [whole], [streamed] = (
            outcomes(url, [ASKED], heard, max_answer_mb=0.002) for heard in (None, [])
        )
    assert isinstance(whole, Malformed)
    assert isinstance(streamed, Malformed)
    assert "an answer of more than 2,000 bytes" in str(streamed)
