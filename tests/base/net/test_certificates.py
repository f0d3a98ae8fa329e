"""Servers whose certificate is not trusted: said by name, not asked again, and told nothing."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from core.base.net import transport
from core.base.net.retry import Fault
from core.base.net.server_access import ServerAccess
from core.base.net.transport import HttpResponse, exchange, open_http_client, send_request
from core.llm.endpoint import Endpoint, ModelTransport
from tests.fakes.http_server import json_response, serve_in_thread

x509 = pytest.importorskip("cryptography.x509")
DAY = datetime.timedelta(days=1)
KEY = "a-key-that-nobody-else-gets"


class Authority:
    """Signs certificates for servers. folder: of their files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = self._write("authority", None, (), 1)

    def _write(self, name: str, signer: str | None, hosts: Sequence[Any], days: int) -> Path:
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        key = ec.generate_private_key(ec.SECP256R1())
        called = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        end = datetime.datetime.now(datetime.UTC) + days * DAY
        signed_by, issuer = key, called
        if signer == "authority":
            signed_by, issuer = self.key, self.name
        certificate = (
            x509.CertificateBuilder()
            .subject_name(called)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(end - 3 * DAY)
            .not_valid_after(end)
            .add_extension(x509.BasicConstraints(signer is None, None), True)
        )
        if hosts:
            certificate = certificate.add_extension(x509.SubjectAlternativeName(hosts), False)
        else:
            self.key, self.name = key, called
        pem = serialization.Encoding.PEM
        plain = serialization.NoEncryption()
        file = self.folder / f"{name}.pem"
        file.write_bytes(
            certificate.sign(signed_by, hashes.SHA256()).public_bytes(pem)
            + key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
        )
        return file

    def certificate(self, name: str) -> ssl.SSLContext:
        """What a server shows: one that is good, signed by itself, for another host, or expired."""
        here = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        other = x509.DNSName("other.example.org")
        signer = "itself" if name == "self-signed" else "authority"
        file = self._write(
            name, signer, [other if name == "other" else here], -1 if name == "expired" else 1
        )
        shown = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        shown.load_cert_chain(file)
        return shown


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(autouse=True)
def _trusted(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    trusted = ssl.create_default_context(cafile=str(authority.file))
    monkeypatch.setattr(transport, "_trusted_certificates", lambda **_: trusted)


async def ask(address: str, who: str) -> HttpResponse | str | Fault:
    """The outcome of a request with a key, as models are asked, or as public sources are."""
    access = ServerAccess.of(address, KEY)
    if who == "model":
        models = ModelTransport(Endpoint(f"{address}/v1", access=access), 1)
        try:
            return await models.send("GET", "/models")
        finally:
            await models.close()
    async with open_http_client(address, access) as client:

        async def send(_: asyncio.Timeout) -> HttpResponse:
            return await send_request(client, "GET", f"{address}/x")

        return await exchange(send, 20.0)


@pytest.mark.parametrize("who", ["model", "source"])
@pytest.mark.parametrize(
    ("shown", "words"),
    [("self-signed", "self-signed"), ("other", "not valid for"), ("expired", "expired")],
)
def test_one_that_is_not_trusted_is_said_and_told_nothing(
    authority: Authority, shown: str, words: str, who: str
) -> None:
    asked = []

    async def answer(request, _):
        asked.append(request)
        return json_response(200, {"data": []})

    with serve_in_thread(answer, "tls", tls=authority.certificate(shown)) as address:
        fault = asyncio.run(ask(address, who))
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.retryable) == ("unanswered", False)
    assert "certificate is not trusted" in fault.message
    assert words in fault.message
    assert asked == []


@pytest.mark.parametrize("who", ["model", "source"])
def test_one_that_is_trusted_is_asked(authority: Authority, who: str) -> None:
    async def answer(_, __):
        return json_response(200, {"data": []})

    with serve_in_thread(answer, "tls", tls=authority.certificate("good")) as address:
        assert not isinstance(asyncio.run(ask(address, who)), Fault)
