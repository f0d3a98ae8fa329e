"""Downloads follow redirects to their own server alone; the transfer itself is in tests/features/importing/test_fetch.py."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from core.base.errors import Unreachable
from core.features.importing.fetch import Download, download, open_download_client
from tests.fakes.http_server import ReceivedRequest, ServerResponse, serve_in_thread


def test_a_redirect_to_another_server_is_not_followed(tmp_path: Path) -> None:
    asked: list[str] = []
    targets = {
        "/here": "/file",
        "/away": "",
        "/alias": "http://0x7f000001:1/file",
        "/local": "http://169.254.169.254/latest",
    }

    async def answer(request: ReceivedRequest, _: asyncio.StreamReader) -> ServerResponse:
        asked.append(request.path)
        target = targets.get(request.path)
        return (
            ServerResponse(200, b"content")
            if target is None
            else ServerResponse(302, b"", (("Location", target),))
        )

    with serve_in_thread(answer, "one") as one, serve_in_thread(answer, "other") as other:
        targets["/away"] = f"{other}/file"

        def fetch(path: str) -> bytes:
            part = tmp_path / "file.part"
            part.unlink(missing_ok=True)
            with open_download_client(one, 5.0) as client:
                download(client, Download(f"{one}{path}", part, None, lambda *_: None))
            return part.read_bytes()

        assert fetch("/here") == b"content"
        for path in ("/away", "/alias", "/local"):
            with pytest.raises(
                Unreachable, match=r"a redirect to .*, another server, which is not followed"
            ):
                fetch(path)
    assert asked == ["/here", "/file", "/away", "/alias", "/local"]
