from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.llm.client import Client
from core.llm.endpoint import Endpoint
from core.llm.kept_answer import TokenCount, TokenCounter
from tests.fakes.scripted import Script, request_counts, serving
from tests.llm import canned
from tests.llm.canned import Canned

# A stand-in for the optional package: it knows one model, and its tokens are words.
TIKTOKEN = """
def encoding_name_for_model(name):
    if name != "gpt-oss-120b":
        raise KeyError(name)
    return "o200k_harmony"

def get_encoding(name):
    return Words()

class Words:
    def encode_ordinary(self, text):
        return text.split()
"""


@pytest.fixture(autouse=True)
def _without_tiktoken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)


def count(url: str, *texts: str, model: str = "scripted") -> list[TokenCount]:
    async def ask() -> list[TokenCount]:
        async with Client(Endpoint(url)) as client:
            counter = TokenCounter(client, model)
            return [await counter.count(text) for text in texts]

    return asyncio.run(ask())


def test_the_server_counts() -> None:
    with serving() as url:
        # "Hello" "," " Cbfb" "!" of the scripted tokenizer
        assert count(url, "Hello, Cbfb!", "") == [TokenCount(4, "server"), TokenCount(0, "server")]
        assert request_counts(url) == {"/tokenize": 2}


def test_what_the_server_is_asked() -> None:
    with canned.serving(lambda _: Canned({"count": 7, "max_model_len": 10, "tokens": [1]})) as (
        url,
        asked,
    ):
        assert count(url, "ü", model="m") == [TokenCount(7, "server")]
    assert [(a.path, a.body) for a in asked] == [
        ("/tokenize", {"model": "m", "prompt": "ü", "add_special_tokens": False})
    ]


def test_else_the_bytes_are_a_bound_and_the_server_is_not_asked_again() -> None:
    with serving(Script(tokenizer=False)) as url:
        assert count(url, "für", "x") == [TokenCount(4, "bytes"), TokenCount(1, "bytes")]
        assert request_counts(url) == {"/tokenize": 1}


@pytest.mark.parametrize(
    "answer",
    [Canned("<html>"), Canned({}), Canned([]), Canned({}, 503), Canned("[" * 100_000)]
    + [Canned({"count": odd}) for odd in ("7", -1, True, 2.5, 10**400)],
)
def test_an_answer_without_a_count_is_none(answer: Canned) -> None:
    with canned.serving(lambda _: answer) as (url, _):
        assert count(url, "für") == [TokenCount(4, "bytes")]


def test_nobody_there() -> None:
    with serving() as url:
        pass
    assert count(url, "für") == [TokenCount(4, "bytes")]


@pytest.fixture
def tiktoken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The stand-in as a package that can be imported; the folder of its tables, which is empty."""
    (tmp_path / "tiktoken.py").write_text(TIKTOKEN)
    monkeypatch.delitem(sys.modules, "tiktoken")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "tables"))
    (tmp_path / "tables").mkdir()
    yield tmp_path / "tables"
    monkeypatch.delitem(sys.modules, "tiktoken", raising=False)


@pytest.mark.usefixtures("tiktoken")
def test_a_table_that_is_not_here_is_not_downloaded() -> None:
    with serving(Script(tokenizer=False)) as url:
        assert count(url, "Hello there", model="openai/gpt-oss-120b") == [TokenCount(11, "bytes")]


def test_tiktoken_counts_for_a_model_that_it_knows(tiktoken: Path) -> None:
    # The SHA-1 of https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken, as tiktoken names the file
    (tiktoken / "fb374d419588a4632f3f557e76b4b70aebbca790").touch()
    with serving(Script(tokenizer=False)) as url:
        assert count(url, "Hello there", model="openai/gpt-oss-120b") == [TokenCount(2, "tiktoken")]
        assert count(url, "Hello there", model="Qwen/Qwen3-4B") == [TokenCount(11, "bytes")]
