from __future__ import annotations

import json
import math
from typing import Any
from urllib.parse import quote

import pytest

from core.errors import InputError
from core.llm.endpoint import Endpoint

URL = "http://127.0.0.1:8000/v1"
KEY = 'sk-a/b"c\\d'


def test_the_key_is_not_in_the_repr() -> None:
    assert "sk-" not in repr(Endpoint(URL, api_key=KEY))


def test_scrub_takes_the_key_out_however_it_is_spelled() -> None:
    endpoint = Endpoint(URL, api_key=KEY)
    in_json = json.dumps(KEY)[1:-1]
    for spelled in (KEY, in_json, in_json.replace("/", "\\/"), quote(KEY, safe="")):
        assert endpoint.scrub(f"wrong key <{spelled}>.") == "wrong key <[key]>."


@pytest.mark.parametrize("key", ["", "EMPTY", "none"])
def test_placeholders_are_no_secrets(key: str) -> None:
    assert Endpoint(URL, api_key=key).scrub("EMPTY, none") == "EMPTY, none"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:8000/v1",
        "ftp://127.0.0.1/v1",
        "http:///v1",
        "http://[",
        "http://127.0.0.1:99999/v1",
        "http://me:open-sesame@127.0.0.1/v1",
        "http://127.0.0.1/v1?key=open-sesame",
        "http://127.0.0.1/v1#open-sesame",
    ],
)
def test_addresses_that_are_none_or_hold_a_secret(url: str) -> None:
    with pytest.raises(InputError) as caught:
        Endpoint(url)
    assert "endpoint: " in str(caught.value)
    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize("key", ["sk-sesame\n", "sk sesame", "sk-sésame", "sk-sesame\x00"])
def test_keys_that_no_header_can_carry_are_not_shown(key: str) -> None:
    with pytest.raises(InputError, match="endpoint: the key holds") as caught:
        Endpoint(URL, api_key=key)
    assert "same" not in str(caught.value)


@pytest.mark.parametrize(
    "limits", [{"timeout_s": 0}, {"timeout_s": math.inf}, {"connect_timeout_s": -1}, {"retries": -1}, {"backoff_s": math.nan}]
)
def test_limits_that_are_none(limits: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"endpoint: {next(iter(limits))} is"):
        Endpoint(URL, **limits)
