"""A key is a function of the address; a shared server asks the model servers that are listed, and no others."""

from __future__ import annotations

import pickle
import socket
from pathlib import Path

import pytest

from core.base.errors import AddressRefused, InputError
from core.base.net.addresses import is_local
from core.base.net.server_access import ServerAccess

KEY, OWN = "sk-of-the-lab-0123", "sk-of-gpu1-456789"
LAB = "https://llm.lab.org/v1"
ACCESS = ServerAccess(
    listed=(LAB, "http://10.0.0.7:8000/v1"), key=KEY, own_keys={"https://gpu1.lab.org/v1": OWN}
)
SHARED = ServerAccess(
    listed=(LAB, "http://127.0.0.1:8000/v1"), key=KEY, only_listed=True, clusters=("head:6379",)
)


@pytest.mark.parametrize(
    ("address", "key"),
    [
        (LAB, KEY),
        ("HTTPS://LLM.Lab.ORG.:443/another/path", KEY),
        ("http://10.0.0.7:8000/v1", KEY),
        ("http://[::ffff:10.0.0.7]:8000/v1", KEY),
        ("https://gpu1.lab.org/v1", OWN),
        ("http://llm.lab.org/v1", ""),  # not encrypted
        ("https://llm.lab.org:8443/v1", ""),
        ("https://llm.lab.org.evil.org/v1", ""),
        ("https://evil.org/llm.lab.org/v1", ""),
        ("https://xn--llm-lab-org.org/v1", ""),
        ("http://10.0.0.7/v1", ""),
        ("http://10.0.0.71:8000/v1", ""),
        ("https://gpu1.lab.org:444/v1", ""),
    ],
)
def test_the_key_of_an_address(address: str, key: str) -> None:
    assert ACCESS.key_for(address) == key
    assert ServerAccess.of(address, "sk-its-own-one").key_for(address) == "sk-its-own-one"


@pytest.mark.parametrize(
    "address",
    [
        "https://llm.lab.org@evil.org/v1",
        "https://evil.org\\@llm.lab.org/v1",
        "http://0x0a000007:8000/",
    ],
)
def test_what_may_be_read_as_another_address_has_none(address: str) -> None:
    with pytest.raises(InputError):
        ACCESS.key_for(address)


def test_a_server_of_the_list_may_have_no_key() -> None:
    access = ServerAccess(listed=(LAB,), key=KEY, own_keys={LAB: ""})
    assert access.key_for(LAB) == ""


def test_a_listed_file_is_read_at_each_question(tmp_path: Path) -> None:
    file = tmp_path / "servers.txt"
    access = ServerAccess(listed=(str(file),), key=KEY, only_listed=True)
    assert access.key_for(LAB) == ""
    assert not access.may_ask(LAB)
    file.write_text(f"{LAB}\n")
    assert access.key_for(LAB) == KEY
    assert access.may_ask(LAB)
    file.write_text("no address at all\n")
    assert access.key_for(LAB) == ""


@pytest.mark.parametrize(
    "address",
    [
        *(
            "http://127.0.0.1:9703/v1",
            "http://localhost:8000/v1",
            "http://[::1]:8000/v1",
            "https://api.provider.com/v1",
        ),
        *(
            "http://169.254.169.254/latest/meta-data",
            "http://[::ffff:169.254.169.254]/v1",
            "http://[fe80::1]/v1",
        ),
        *(
            "http://10.0.0.1/v1",
            "http://192.168.1.1/v1",
            "http://metadata.google.internal/v1",
            "http://llm.lab.org/v1",
        ),
    ],
)
def test_a_shared_server_asks_no_server_that_is_not_listed(address: str) -> None:
    with pytest.raises(AddressRefused, match="can add it to PERTURBDESK_ENDPOINTS"):
        SHARED.refuse_unlisted(address)
    ACCESS.refuse_unlisted(address)  # on a machine of one's own any may be asked, without a key


def test_a_shared_server_joins_no_cluster_that_is_not_listed() -> None:
    SHARED.refuse_cluster("")
    SHARED.refuse_cluster("head:6379")
    for address in ("auto", "evil:6379"):
        with pytest.raises(AddressRefused, match="PERTURBDESK_RAY_ADDRESSES"):
            SHARED.refuse_cluster(address)
        ACCESS.refuse_cluster(address)


def test_a_missing_key_is_told_where_it_is_missed() -> None:
    assert "PERTURBDESK_API_KEYS" in ACCESS.describe_missing_key("https://api.provider.com/v1", 401)
    assert ACCESS.describe_missing_key("https://api.provider.com/v1", 500) == ""
    assert ACCESS.describe_missing_key(LAB, 401) == ""  # a wrong key


def test_another_process_gets_the_keys_of_its_servers_alone(tmp_path: Path) -> None:
    sent = pickle.dumps(ACCESS.limit_to(f"{LAB},https://api.provider.com/v1"))
    assert KEY.encode() in sent
    assert OWN.encode() not in sent
    there = pickle.loads(sent)
    assert [
        there.key_for(address)
        for address in (LAB, "https://gpu1.lab.org/v1", "http://10.0.0.7:8000/v1")
    ] == [KEY, "", ""]
    assert there.scrub(f"said {KEY}") == "said [key]"
    assert KEY.encode() not in pickle.dumps(ACCESS.limit_to(""))
    narrow = SHARED.limit_to(f"{LAB},https://evil.org/v1")
    assert not narrow.may_ask("https://evil.org/v1")
    assert narrow.may_ask(LAB)
    file = tmp_path / "servers.txt"
    assert (
        ACCESS.limit_to(str(file)).key_for("https://gpu1.lab.org/v1") == OWN
    )  # which may stand in it later


def test_its_repr_shows_no_key() -> None:
    assert "sk-" not in repr(ACCESS)


def test_no_name_is_looked_up_for_a_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a name resolves to may be another machine a moment later: names count as they are written."""

    def look_up(*_, **__):
        raise AssertionError("a name was looked up")

    for name in ("getaddrinfo", "gethostbyname", "gethostbyaddr"):
        monkeypatch.setattr(socket, name, look_up)
    rebound = "https://localhost.evil.org/v1"
    assert (SHARED.may_ask(LAB), SHARED.key_for(LAB)) == (True, KEY)
    assert (SHARED.may_ask(rebound), SHARED.key_for(rebound)) == (False, "")
    assert (is_local(rebound), is_local("http://localhost:8000/v1")) == (False, True)
