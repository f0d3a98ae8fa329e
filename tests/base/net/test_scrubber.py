"""Secrets are taken out of texts, however they are spelled there."""

from __future__ import annotations

import html
import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from itertools import pairwise
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.net.scrubber import Scrubber
from tests.strength import examples

KEY = 'sk-a/b"c\\d'
SECRET = "sk-0123456789abcdef"
IN_JSON = json.dumps(KEY)[1:-1]


def twice(text: str) -> str:
    return quote(quote(text, safe=""), safe="")


ODD = {c: f"\\u{ord(c):04x}" for c in '/"\\\\'}
SPELLINGS = {
    "JSON by number": "".join(ODD.get(c, c) for c in KEY),
    "HTML by number": "".join(f"&#{ord(c)};" if c in ODD else c for c in KEY),
    "as it is": KEY,
    "JSON": IN_JSON,
    "JSON with slashes": IN_JSON.replace("/", "\\/"),
    "JSON in JSON": json.dumps(IN_JSON)[1:-1],
    "URL": quote(KEY, safe=""),
    "URL in small letters": quote(KEY, safe="").lower(),
    "URL of a form": quote_plus(KEY),
    "URL twice": twice(KEY),
    "URL twice in small letters": twice(KEY).lower(),
    "URL of some": quote(KEY, safe="/"),
    "HTML": html.escape(KEY),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_spelling_of_a_key_is_hidden(spelling: str) -> None:
    assert Scrubber([KEY])(f"wrong key <{SPELLINGS[spelling]}>.") == "wrong key <[key]>."


KEYS = st.text(st.sampled_from("aB3-_+/=&%\"'\\ ü漢"), min_size=8, max_size=24)


@examples(20)  # each is a pattern of its own
@given(
    KEYS,
    st.sampled_from([quote, quote_plus, twice, html.escape, lambda key: json.dumps(key)[1:-1]]),
)
def test_no_encoding_lets_a_key_through(key: str, encode: Callable[[str], str]) -> None:
    assert Scrubber([key])(f"<{encode(key)}>") == "<[key]>"


@examples(20)
@given(
    st.text(st.sampled_from("aB3-_/ü"), min_size=8, max_size=24),
    st.binary(max_size=9),
    st.binary(max_size=9),
)
def test_nor_does_base64_wherever_the_key_begins(key: str, before: bytes, after: bytes) -> None:
    for encode in (b64encode, urlsafe_b64encode):
        text = encode(before + key.encode() + after).decode()
        assert "[key]" in Scrubber([key])(text)
        left = Scrubber([key])(text).split("[key]")
        assert all(len(part) <= 4 * (max(len(before), len(after)) // 3 + 2) for part in left)


@pytest.mark.parametrize("shown", ["Bearer {}", "user:{}", "{}:"])
def test_headers_with_a_key(shown: str) -> None:
    text = b64encode(shown.format(SECRET).encode()).decode()
    assert "[key]" in Scrubber([SECRET])(text)


@pytest.mark.soak
@given(st.text(max_size=40))
def test_what_holds_no_key_stays(text: str) -> None:
    assert Scrubber(["sk-0123456789-not-there"])(text) == text


@pytest.mark.parametrize("key", ["", "EMPTY", "none"])
def test_placeholders_are_not_hidden(key: str) -> None:
    assert Scrubber([key])("EMPTY, none") == "EMPTY, none"


SEVERAL = Scrubber([SECRET, "COOKIESECRETCOOKIESECRETCOOKIE00", "CLIENTSECRETVALUE99", "short", ""])


@pytest.mark.parametrize("spelling", ["{!r}", "bytes {0!r}", "{0}\n{0}"])
def test_a_repr_holds_none(spelling: str) -> None:
    assert SECRET not in Scrubber([SECRET])(spelling.format(f"a\n{SECRET}"))
    assert KEY not in Scrubber([KEY])(repr({"key": KEY.encode()}))


@pytest.mark.parametrize("at", range(1, len(SECRET)))
@pytest.mark.parametrize("broken", ["\n", "\r\n    ", "\\n", "\\\n", " │\n│ ", " "])
def test_nor_does_a_secret_that_is_broken_over_two_lines(at: int, broken: str) -> None:
    assert SEVERAL(f"said {SECRET[:at]}{broken}{SECRET[at:]} here") == "said [key] here"


@given(st.text(st.sampled_from('sk-0123C OKIE\n"\\%&'), max_size=60), st.integers(0, 60))
def test_every_one_of_several_is_found_anywhere(text: str, at: int) -> None:
    for secret in (SECRET, "CLIENTSECRETVALUE99"):
        found = SEVERAL(f"{text[:at]}<{secret}>{text[at:]}")
        assert secret not in found
        assert "<[key]>" in found


@pytest.mark.parametrize(
    "named",
    ["Authorization: Bearer {}", "api_key={}", '{{"api_key": "{}"}}', "token: '{}'", "password {}"],
)
def test_a_short_secret_is_hidden_behind_its_name_and_nowhere_else(named: str) -> None:
    assert "short" not in SEVERAL(named.format("short"))
    assert (
        SEVERAL("a short word, shortly; bearer: shorter")
        == "a short word, shortly; bearer: shorter"
    )


def test_the_end_of_a_text_that_may_begin_a_secret_waits() -> None:
    assert SEVERAL.split("a word sk-01") == ("a word ", "sk-01")
    assert SEVERAL.split(f"{SECRET} and C") == ("[key] and ", "C")
    assert SEVERAL.split("all of it. ") == ("all of it. ", "")
    assert Scrubber([]).split("a word") == ("a word", "")


@pytest.mark.parametrize("length", [1, 3, 7])
@pytest.mark.parametrize("spelled", [SECRET, quote(SECRET, safe="")])
def test_no_secret_is_shown_that_comes_in_pieces(length: int, spelled: str) -> None:
    text, shown, rest = f"x {spelled} y {spelled} z", "", ""
    for i in range(0, len(text), length):
        more, rest = SEVERAL.split(rest + text[i : i + length])
        shown += more
    assert shown + SEVERAL(rest) == "x [key] y [key] z"


@given(
    st.lists(st.integers(0, 60)),
    st.sampled_from([f"x {SECRET} y", "An api key = open1 y"]),
)
def test_wherever_a_text_is_cut_no_secret_is_shown(cuts: list[int], text: str) -> None:
    scrub, shown, rest = Scrubber([SECRET, "open1"]), "", ""
    for start, end in pairwise([0, *sorted(cuts), len(text) + 60]):
        more, rest = scrub.split(rest + text[start:end])
        shown += more
    assert shown + scrub(rest) == scrub(text)
    assert "[key]" in scrub(text)


def test_its_repr_shows_none() -> None:
    assert SECRET not in repr(SEVERAL)
