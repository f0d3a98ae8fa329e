"""Keys are hidden in texts, however they are spelled."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from core.net.secrets import scrub

KEY = 'sk-a/b"c\\d'
IN_JSON = json.dumps(KEY)[1:-1]


@pytest.mark.parametrize("spelling", [KEY, IN_JSON, IN_JSON.replace("/", "\\/"), quote(KEY, safe="")])
def test_every_spelling_of_a_key_is_hidden(spelling: str) -> None:
    assert scrub(f"wrong key <{spelling}>.", KEY) == "wrong key <[key]>."


@pytest.mark.parametrize("key", ["", "EMPTY", "none"])
def test_placeholders_are_not_hidden(key: str) -> None:
    assert scrub("EMPTY, none", key) == "EMPTY, none"
