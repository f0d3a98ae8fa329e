"""Several addresses in a text; those in a file are in tests/llm/test_server_addresses.py, where people name one."""

from __future__ import annotations

import pytest

from core.errors import InputError
from core.net.addresses import names_file, read_addresses


def test_each_server_stands_once_however_it_is_spelled() -> None:
    assert read_addresses("http://a/v1, http://a/other,https://a/v1") == ("http://a/v1", "http://a/other", "https://a/v1")
    for again in ("HTTP://A:80/v1", "http://a./v1"):
        with pytest.raises(InputError, match="comes twice"):
            read_addresses(f"http://a/v1,{again}")


def test_a_path_is_no_address() -> None:
    assert names_file("/shared/servers.txt")
    assert not names_file("http://a/v1")
