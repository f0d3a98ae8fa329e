"""Addresses of several model servers, in a text or a file, and what may not differ between servers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.errors import InputError
from core.llm.endpoint import asks_several
from core.llm.health import Health
from core.llm.server_addresses import describe_difference, normalise
from core.net.addresses import check_addresses, read_addresses

A, B, C = "http://a:8000/v1", "https://b/v1", "http://c:8001/v1"


def test_one_address_is_no_list() -> None:
    assert [asks_several(text) for text in ("", A, f"{A},{B}", "servers.txt", "/servers")] == [False, False, True, True, True]


def test_addresses_are_read_from_a_text() -> None:
    assert read_addresses(f" {A}/ , {B},") == (A, B)
    assert normalise(f"{A}, {B}") == f"{A},{B}"
    assert read_addresses("http://a/v1,http://a/V1") == ("http://a/v1", "http://a/V1")  # paths may differ by case


def test_a_file_has_an_address_a_line_and_remarks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "servers.txt").write_text(f"# ours\n{A}  # a GPU\n\n{B}\n")
    monkeypatch.chdir(tmp_path)
    assert normalise("servers.txt") == str(tmp_path / "servers.txt")
    assert read_addresses(str(tmp_path / "servers.txt")) == (A, B)
    (tmp_path / "servers.txt").write_text(f"{A},{B}\n{C}\n")  # what several `serve --replicas` append
    assert read_addresses(str(tmp_path / "servers.txt")) == (A, B, C)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nowhere", r"endpoint: 'nowhere' is neither a file nor an address, expected one such as http"),
        ("servers.txt", r"endpoint: 'servers\.txt' is neither a file nor an address"),
        ("~nosuchuser/servers.txt", r"'~nosuchuser/servers\.txt' is neither a file nor an address"),
        ("long" * 75, r"'(long){75}' is neither a file nor an address"),
        ("/" + "long" * 75, "cannot be read"),
        (f"{A},nowhere", r"endpoint: address 'nowhere', expected one such as http"),
        (f"{A},ftp://x", "endpoint: address 'ftp://x'"),
        (f"{A},{A}/", f"{A} comes twice"),
        (f"{A},HTTP://A:8000/v1", "HTTP://A:8000/v1 comes twice"),
        (",", "endpoint: holds no address"),
        (f"{A},http://name:secret@x/v1", r"holds a name, a password or a query \(not shown\)"),
        ("/no/such/file", "/no/such/file: cannot be read"),
    ],
)
def test_what_is_no_list_of_servers(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as error:
        normalise(text)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "holds no address"),
        (b"# none\n", "holds no address"),
        (b"\xff", "is no text"),
        (b"a secret line\n", "line 1: is no"),
    ],
)
def test_a_file_that_is_no_list_is_not_shown(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "servers.txt"
    file.write_bytes(content)
    check_addresses(str(file))  # settings of a run are read without it
    with pytest.raises(InputError, match=said) as error:
        normalise(str(file))
    assert "a secret" not in str(error.value)


FIT = Health(True, ("m", "other"), logprobs=True, max_model_len=4096)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, ""),
        ({"models": ("m",)}, ""),  # what else it serves does not matter
        ({"models": ("other",)}, f"serves other, expected m as {A} does"),
        ({"logprobs": False}, f"gives no log-probabilities, but {A} gives log-probabilities"),
        ({"max_model_len": 512}, f"has a longest context of 512 tokens, expected 4,096 tokens as at {A}"),
        ({"max_model_len": None}, f"has a longest context of unknown length, expected 4,096 tokens as at {A}"),
    ],
)
def test_what_may_not_differ(change: dict[str, Any], said: str) -> None:
    assert describe_difference(replace(FIT, **change), "m", FIT, A) == said


def test_the_first_server_differs_from_no_other() -> None:
    other = replace(FIT, models=("other",))
    assert describe_difference(other, "m", other, "") == "serves other, expected m"
