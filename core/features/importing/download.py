"""Download a large file: resume interrupted transfers, and refuse files that are longer than
expected."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from core.base.errors import InputError, Unreachable, WrongContent
from core.base.net.addresses import is_local, origin_of

if TYPE_CHECKING:
    from httpx2 import Client, Request, Response

MAX_BYTES = 1 << 30
PATIENCE_S, LEAST_BYTES_PER_S = 60.0, 1_000  # a transfer that is slower after so long is given up

OnBytes = Callable[[int, int], None]  # gets the bytes so far and all bytes (0 if unknown)


@dataclass(frozen=True, slots=True)
class Download:
    """A file to download. part: where its bytes lie until it is whole. bytes: its size, None if
    unknown."""

    url: str
    part: Path
    bytes: int | None
    on_bytes: OnBytes


def open_download_client(address: str, timeout_s: float) -> Client:
    """Return a client for downloads from a server.

    Redirects are followed to that server alone; no proxy stands between this machine and itself.
    """
    import httpx2

    def refuse_another_server(request: Request) -> None:
        url = request.url
        if not _is_of(address, str(url.copy_with(query=None, fragment=None))):
            raise Unreachable(
                f"{address}: a redirect to {url.scheme}://{url.host}, another server, which is not"
                " followed"
            )

    # identity, so that bytes on the wire are bytes of the file and a range means what it says
    headers = {"Accept-Encoding": "identity"}
    return httpx2.Client(
        timeout=timeout_s,
        follow_redirects=True,
        headers=headers,
        trust_env=not is_local(address),
        event_hooks={"request": [refuse_another_server]},
    )


def _is_of(address: str, target: str) -> bool:
    """Return whether an address is one of a server; invalid addresses belong to no server."""
    try:
        return origin_of(target) == origin_of(address)
    except InputError:
        return False


def download(client: Client, file: Download) -> None:
    """Download a file to its .part file: the missing rest if the server supports ranges, else all
    of it.

    Raise Unreachable if the server does not answer, answers with an error, or stops early: the
    .part file stays then. Raise WrongContent if more bytes come than expected.
    """
    import httpx2

    try:
        _download(client, file)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise Unreachable(f"{file.url}: {str(error) or type(error).__name__}") from error


def _download(client: Client, file: Download) -> None:
    start = file.part.stat().st_size if file.part.exists() else 0
    if start and start == file.bytes:
        return
    with client.stream(
        "GET", file.url, headers={"Range": f"bytes={start}-"} if start else {}
    ) as response:
        if start and not _may_append(response, start):
            file.part.unlink()
            if response.status_code != 200:
                response.close()
                _download(client, file)
                return
            start = 0
        if not response.is_success:
            raise Unreachable(f"{file.url}: HTTP {response.status_code}, expected 200")
        length = response.headers.get("Content-Length", "")
        total = start + int(length) if length.isdecimal() else 0
        done = _save(response, file, start, file.bytes or total)
    if file.bytes is not None and done < file.bytes and not total:
        raise Unreachable(f"{file.url}: stopped after {done:,} of {file.bytes:,} bytes")


def _may_append(response: Response, start: int) -> bool:
    """Return whether the answer to a range request is the rest of the file, or a failure that
    leaves the .part file valid."""
    if response.status_code == 206:
        return re.match(rf"bytes {start}-", response.headers.get("Content-Range", "")) is not None
    return response.status_code not in (200, 416)


def _save(response: Response, file: Download, start: int, total: int) -> int:
    """Append the body to the .part file, and return its size."""
    done, began_at = start, time.monotonic()
    most = MAX_BYTES if file.bytes is None else file.bytes
    with file.part.open("ab") as out:
        for chunk in response.iter_bytes():
            out.write(chunk)
            done += len(chunk)
            if done > most:
                file.part.unlink()
                raise WrongContent(
                    f"{file.url}: more than {most:,} bytes, expected no more; nothing was kept"
                )
            file.on_bytes(done, total)
            took_s = time.monotonic() - began_at
            if took_s > PATIENCE_S and done - start < took_s * LEAST_BYTES_PER_S:
                raise Unreachable(
                    f"{file.url}: {done - start:,} bytes in {took_s:,.0f} s, expected more; they"
                    " are kept"
                )
    return done
