"""Which addresses can be used, which are of one server, and which are local."""

from __future__ import annotations

import pytest

from core.base.errors import InputError
from core.base.net.addresses import check_address, is_local, origin_of


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8000/v1",
        "https://api.example.org",
        "http://[::1]:1/v1",
        "http://host/a/b/",
    ],
)
def test_addresses_of_servers(url: str) -> None:
    check_address("endpoint", url, "http://example.org")


@pytest.mark.parametrize(
    "url",
    [
        *(
            "",
            "127.0.0.1:8000/v1",
            "ftp://127.0.0.1/v1",
            "http:///v1",
            "http://[",
            "http://127.0.0.1:99999/v1",
        ),
        *("http://127.0.0.1:0", "http://hö.example", "http://a b/", "http://a\n/"),
        *(
            "http://me:open-sesame@host/v1",
            "http://host/v1?key=open-sesame",
            "http://host/v1#open-sesame",
        ),
    ],
)
def test_what_is_no_address_or_holds_a_secret(url: str) -> None:
    with pytest.raises(
        InputError, match=r"endpoint: .*expected one such as http://example\.org"
    ) as caught:
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


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://api.example.org/v1", "https://api.example.org:443"),
        ("HTTPS://API.Example.ORG.:443/other", "https://api.example.org:443"),
        ("http://api.example.org", "http://api.example.org:80"),
        ("http://api.example.org:8000/v1", "http://api.example.org:8000"),
        ("http://xn--bcher-kva.example/v1", "http://xn--bcher-kva.example:80"),
        ("http://[0:0:0:0:0:0:0:1]:8000/v1", "http://[::1]:8000"),
        ("http://[::FFFF:127.0.0.1]:8000/v1", "http://127.0.0.1:8000"),
        ("http://[::ffff:a9fe:a9fe]/", "http://169.254.169.254:80"),
    ],
)
def test_the_server_of_an_address_is_spelled_in_one_way(url: str, origin: str) -> None:
    assert origin_of(url) == origin


@pytest.mark.parametrize(
    "url",
    [
        *(
            "http://good.org@evil.org/v1",
            "http://good.org\\@evil.org/v1",
            "http://good.org\\.evil.org",
            "http://good.org%2eevil.org",
        ),
        *(
            "http://2130706433/v1",
            "http://0x7f000001/v1",
            "http://0177.0.0.1/v1",
            "http://127.1/v1",
            "http://127.0.0.1./v1",
        ),
        *(
            "http://good..org/v1",
            "http://good.org../v1",
            "http://.good.org",
            "http://[fe80::1%25eth0]/v1",
            "http://b\u00fccher.de",
        ),
    ],
)
def test_an_address_that_can_be_read_in_two_ways_is_none(url: str) -> None:
    with pytest.raises(InputError):
        origin_of(url)
