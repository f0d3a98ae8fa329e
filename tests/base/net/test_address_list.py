"""Several addresses in a text or in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.base.errors import InputError
from core.base.net.addresses import names_file, normalise, read_addresses
from core.llm.endpoint import asks_several
from core.runs.spec import ExecutionSettings

A, B, C = "http://a:8000/v1", "https://b/v1", "http://c:8001/v1"


def test_one_address_is_no_list() -> None:
    assert [asks_several(text) for text in ("", A, f"{A},{B}", "servers.txt", "/servers")] == [
        False,
        False,
        True,
        True,
        True,
    ]


def test_addresses_are_read_from_a_text() -> None:
    assert read_addresses(f" {A}/ , {B},") == (A, B)
    assert normalise(f"{A}, {B}") == f"{A},{B}"
    assert read_addresses("http://a/v1,http://a/V1") == (
        "http://a/v1",
        "http://a/V1",
    )  # paths may differ by case


def test_a_file_has_an_address_a_line_and_remarks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "servers.txt").write_text(f"# ours\n{A}  # a GPU\n\n{B}\n")
    monkeypatch.chdir(tmp_path)
    assert normalise("servers.txt") == str(tmp_path / "servers.txt")
    assert read_addresses(str(tmp_path / "servers.txt")) == (A, B)
    (tmp_path / "servers.txt").write_text(f"{A},{B}\n{C}\n")
    assert read_addresses(str(tmp_path / "servers.txt")) == (A, B, C)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "nowhere",
            r"endpoint: 'nowhere' is neither a file nor an address, expected one such as http",
        ),
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
    ExecutionSettings(str(file))  # settings of a run are read without it
    with pytest.raises(InputError, match=said) as error:
        normalise(str(file))
    assert "a secret" not in str(error.value)


def test_each_server_stands_once_however_it_is_spelled() -> None:
    assert read_addresses("http://a/v1, http://a/other,https://a/v1") == (
        "http://a/v1",
        "http://a/other",
        "https://a/v1",
    )
    for again in ("HTTP://A:80/v1", "http://a./v1"):
        with pytest.raises(InputError, match="comes twice"):
            read_addresses(f"http://a/v1,{again}")


def test_a_path_is_no_address() -> None:
    assert names_file("/shared/servers.txt")
    assert not names_file("http://a/v1")
