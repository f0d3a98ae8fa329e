"""Download the public files: resumable, checked by hash, and renamed into place only when complete."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from core.datasets.sources import SOURCES, PublicFile
from core.errors import InputError, Unreachable, WrongContent

if TYPE_CHECKING:
    from httpx2 import Client, Response

GITHUB = "https://raw.githubusercontent.com"
RECORD = "sha256.json"  # hashes at the first download of files without a pinned hash
MAX_BYTES = 1 << 30

Progress = Callable[[str, int, int], None]

_INSTEAD = "fetch it elsewhere, copy it here by hand and `import` it"


@dataclass(frozen=True, slots=True)
class _Transfer:
    """One file that is being downloaded."""

    url: str
    file: PublicFile
    part: Path
    progress: Progress


def fetch(
    group: str,
    folder: Path,
    *,
    base: str = GITHUB,
    progress: Progress | None = None,
    timeout_s: float = 30.0,
) -> list[Path]:
    """Download the files of a group of SOURCES to `folder`, except those that are complete already.

    `progress` gets a file's name, the bytes so far and all bytes (0 if unknown). A transfer that stops leaves
    NAME.part, from which the next call goes on. Raises Unreachable (a server or network failed), WrongContent (other
    bytes than pinned, or than at the first fetch) or InputError (no such group, a folder that cannot be written).
    """
    if group not in SOURCES:
        raise InputError(f"no public files called {group!r}, expected one of {', '.join(SOURCES)}")
    import httpx2

    report = progress or (lambda _name, _done, _total: None)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with httpx2.Client(
            timeout=timeout_s, follow_redirects=True, headers={"Accept-Encoding": "identity"}
        ) as client:  # identity, so that bytes on the wire are bytes of the file and a range means what it says
            return [_fetch_file(client, file, folder, f"{base.rstrip('/')}/{file.path}", report) for file in SOURCES[group]]
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error})") from error


def _fetch_file(client: Client, file: PublicFile, folder: Path, url: str, progress: Progress) -> Path:
    import httpx2

    target = folder / file.file
    recorded = _read_record(folder)
    expected = file.sha256 or recorded.get(file.file)
    if expected and target.is_file() and _sha256(target) == expected:
        size = target.stat().st_size
        progress(file.file, size, size)
        return target
    part = target.with_name(f"{target.name}.part")
    try:
        _download(client, _Transfer(url, file, part, progress))
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise Unreachable(f"{url}: {str(error) or type(error).__name__}; try again, or {_INSTEAD}") from error
    found = _sha256(part)
    if expected and found != expected:
        part.unlink()
        raise WrongContent(f"{url}: SHA-256 {found}, expected {expected}; nothing was kept")
    if not file.sha256:
        _write_record(folder, recorded | {file.file: found})
    part.replace(target)
    return target


def _download(client: Client, transfer: _Transfer) -> None:
    """Download to the .part file: the missing rest if the server supports ranges, else all of it."""
    import httpx2

    expected, part = transfer.file.bytes, transfer.part
    start = part.stat().st_size if part.exists() else 0
    if start and start == expected:
        return
    with client.stream("GET", transfer.url, headers={"Range": f"bytes={start}-"} if start else {}) as response:
        if start and not _may_append(response, start):
            part.unlink()
            if response.status_code != httpx2.codes.OK:
                response.close()
                _download(client, transfer)
                return
            start = 0
        if not response.is_success:
            raise Unreachable(f"{transfer.url}: HTTP {response.status_code}, expected 200; {_INSTEAD}")
        length = response.headers.get("Content-Length", "")
        total = start + int(length) if length.isdecimal() else 0
        done = _save(response, transfer, start, expected or total)
    if expected is not None and done < expected and not total:
        raise Unreachable(f"{transfer.url}: stopped after {done:,} of {expected:,} bytes; try again to go on from there")


def _may_append(response: Response, start: int) -> bool:
    """Whether the answer to a range request is the rest of the file, or a failure after which the .part file is still good."""
    import httpx2

    if response.status_code == httpx2.codes.PARTIAL_CONTENT:
        return re.match(rf"bytes {start}-", response.headers.get("Content-Range", "")) is not None
    return response.status_code not in (httpx2.codes.OK, httpx2.codes.RANGE_NOT_SATISFIABLE)


def _save(response: Response, transfer: _Transfer, start: int, total: int) -> int:
    """Append the body to the .part file, and return its size."""
    done = start
    most = MAX_BYTES if transfer.file.bytes is None else transfer.file.bytes
    with transfer.part.open("ab") as out:
        for chunk in response.iter_bytes():
            out.write(chunk)
            done += len(chunk)
            if done > most:
                transfer.part.unlink()
                raise WrongContent(f"{transfer.url}: more than {most:,} bytes, expected no more; nothing was kept")
            transfer.progress(transfer.file.file, done, total)
    return done


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _read_record(folder: Path) -> dict[str, str]:
    path = folder / RECORD
    if not path.exists():
        return {}
    try:
        record = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error}); delete it and fetch again") from error
    if not isinstance(record, dict):
        raise InputError(f"{path}: expected an object of file names and SHA-256; delete it and fetch again")
    return {str(name): str(value) for name, value in record.items()}


def _write_record(folder: Path, record: dict[str, str]) -> None:
    path = folder / f"{RECORD}.part"
    path.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", "utf-8")
    path.replace(folder / RECORD)
