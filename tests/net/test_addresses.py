"""Which addresses can be used, and which are local; keys are hidden in texts, however they are spelled."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from core.errors import InputError
from core.net.addresses import check_address, is_local, scrub


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000/v1", "https://api.example.org", "http://[::1]:1/v1", "http://host/a/b/"])
def test_addresses_of_servers(url: str) -> None:
    check_address("endpoint", url, "http://example.org")


@pytest.mark.parametrize(
    "url",
    [
        *("", "127.0.0.1:8000/v1", "ftp://127.0.0.1/v1", "http:///v1", "http://[", "http://127.0.0.1:99999/v1"),
        *("http://127.0.0.1:0", "http://hö.example", "http://a b/", "http://a\n/"),
        *("http://me:open-sesame@host/v1", "http://host/v1?key=open-sesame", "http://host/v1#open-sesame"),
    ],
)
def test_what_is_no_address_or_holds_a_secret(url: str) -> None:
    with pytest.raises(InputError, match=r"endpoint: .*expected one such as http://example\.org") as caught:
        check_address("endpoint", url, "http://example.org")
    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://127.0.0.1:8000/v1", True),
        ("http://127.0.0.2", True),
        ("http://localhost:1/v1", True),
        ("http://[::1]:1/v1", True),
        ("https://api.openai.com/v1", False),
        ("http://10.0.0.1/v1", False),
    ],
)
def test_local_addresses(url: str, local: bool) -> None:
    assert is_local(url) is local


KEY = 'sk-a/b"c\\d'
IN_JSON = json.dumps(KEY)[1:-1]


@pytest.mark.parametrize("spelling", [KEY, IN_JSON, IN_JSON.replace("/", "\\/"), quote(KEY, safe="")])
def test_every_spelling_of_a_key_is_hidden(spelling: str) -> None:
    assert scrub(f"wrong key <{spelling}>.", KEY) == "wrong key <[key]>."


@pytest.mark.parametrize("key", ["", "EMPTY", "none"])
def test_placeholders_are_not_hidden(key: str) -> None:
    assert scrub("EMPTY, none", key) == "EMPTY, none"
