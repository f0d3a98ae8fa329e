"""The answer of a stream is made in linear time and within limits, however the stream is cut and whatever it holds."""

from __future__ import annotations

import json
import time
import tracemalloc

import pytest

from core.base.net.transport import FarTooLong, TooLong
from core.llm.completion import MAX_CHARACTERS, read_answer
from core.llm.streamed_answer import MAX_LINE_BYTES, StreamedAnswer
from core.llm.streaming import join_stream
from tests.hostile_server import chunk

MB = 1 << 20
DONE = b"data: [DONE]\n\n"
TOKEN = b'data: {"choices":[{"delta":{"content":"a"},"logprobs":{"content":[{"token":"a","logprob":-0.1}]}}]}\n'


def content_of(answer: StreamedAnswer) -> str | None:
    found = read_answer(answer.whole())
    assert not isinstance(found, str), found
    return found.content


@pytest.mark.soak
def test_four_times_the_chunks_take_four_times_as_long_and_not_sixteen_times() -> None:
    def seconds(n):
        text, best = (TOKEN * n + DONE).decode(), float("inf")
        for _ in range(2):
            began_at = time.process_time()
            joined = join_stream(text)
            best = min(best, time.process_time() - began_at)
        assert len(json.loads(joined)["choices"][0]["logprobs"]["content"]) == n
        return best

    assert seconds(16_000) < 9 * seconds(4_000)


@pytest.mark.soak
def test_what_is_kept_grows_with_the_answer_and_not_with_its_envelope() -> None:
    answer = StreamedAnswer(8 * MB)
    envelope = b'data: {"id":"%s","choices":[{"index":0,"delta":{"content":"a"}}]}\n\n' % (
        b"x" * 10_000
    )
    tracemalloc.start()
    for _ in range(1_000):  # 10 MB
        answer.take(envelope)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    answer.take(DONE)
    assert content_of(answer) == "a" * 1_000
    assert peak < MB


@pytest.mark.parametrize("opening", [b'data: {"choices":[{"delta":{"content":"', b": "])
def test_a_line_without_an_end_is_refused(opening: bytes) -> None:
    answer = StreamedAnswer(8 * MB)
    answer.take(opening)
    with pytest.raises(FarTooLong, match="in one line"):
        for _ in range(1 + MAX_LINE_BYTES // 65_536):
            answer.take(b"x" * 65_536)


@pytest.mark.parametrize(
    "part",
    [
        chunk({"reasoning": "thought " * 100}),
        chunk({"content": ""}, logprobs={"content": [{"token": "a", "logprob": -1.0}] * 20}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": "x" * 500}}]}),
    ],
    ids=["text", "log-probabilities", "other fields"],
)
def test_an_answer_is_cut_at_its_limit(part: bytes) -> None:
    answer = StreamedAnswer(100_000)
    with pytest.raises(TooLong, match="100,000 bytes"):
        for _ in range(1_000):
            answer.take(part)


def test_more_text_than_any_model_writes_is_cut_whatever_is_allowed() -> None:
    answer = StreamedAnswer(100 * MB)
    with pytest.raises(FarTooLong, match="1,000,000 characters"):
        for _ in range(1 + MAX_CHARACTERS // 1_000):
            answer.take(chunk({"content": "x" * 1_000}))


def test_what_follows_the_end_is_not_needed() -> None:
    answer = StreamedAnswer(MB)
    assert not answer.take(chunk({"content": "A"}))
    assert answer.take(DONE + b"data: no JSON\n\n")
    assert content_of(answer) == "A"


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_a_stream_is_read_alike_whatever_ends_its_lines_and_wherever_it_is_cut(end: bytes) -> None:
    stream = (
        b": a remark\n\n"
        + chunk({"content": "up"})
        + b": \n"
        + chunk({"content": "!"}, "stop")
        + DONE
    ).replace(b"\n", end)
    for size in (1, 3, 7, len(stream)):
        answer = StreamedAnswer(MB)
        ended = [answer.take(stream[i : i + size]) for i in range(0, len(stream), size)]
        assert any(ended)
        assert content_of(answer) == "up!"


@pytest.mark.parametrize(
    ("stream", "why"),
    [
        (b'data: {"choices": 5}\n\n', "no JSON object"),
        (b'data: {"choices": {"a": 1}}\n\n', "no JSON object"),
        (b'data: {"choices":[{"delta":{"content":"\xff"}}]}\n\n', "not UTF-8"),
        (b"".join(chunk({"content": "A"}, index=i) for i in range(2)), "more than one choice"),
        (b"".join(chunk({f"n{i}": 1}) for i in range(101)), "more than 100 fields"),
        (b"data: " + b"[" * 100_000 + b"\n\n", "nested too deeply"),
    ],
)
def test_a_chunk_of_another_shape_ends_the_stream(stream: bytes, why: str) -> None:
    answer = StreamedAnswer(8 * MB)
    assert answer.take(stream)
    with pytest.raises(ValueError, match=why):
        answer.whole()
