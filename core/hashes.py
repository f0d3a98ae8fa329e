"""SHA-256 in hexadecimal digits: of a text or bytes, of an open file, of a file, and of what is copied."""

from __future__ import annotations

import hashlib
from io import BufferedIOBase
from pathlib import Path
from typing import IO

KEY_DIGITS = 10  # of an identity, such as a run's
_CHUNK_BYTES = 1 << 20


def sha256_of(content: str | bytes) -> str:
    """Return the SHA-256 of bytes, or of a text in UTF-8."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def sha256_of_open(file: IO[bytes] | BufferedIOBase) -> str:
    """Return the SHA-256 of an open file, from its beginning."""
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


def sha256_of_file(path: Path) -> str:
    """Return the SHA-256 of a file of any size. Raise OSError."""
    with path.open("rb") as file:
        return sha256_of_open(file)


def copy_hashed(source: IO[bytes], target: IO[bytes], most_bytes: int | None = None) -> tuple[str, int]:
    """Copy an open file from where it stands, at most so many bytes; return the SHA-256 of what was copied, and its bytes."""
    digest, n = hashlib.sha256(), 0
    while chunk := source.read(_CHUNK_BYTES if most_bytes is None else min(_CHUNK_BYTES, most_bytes - n)):
        digest.update(chunk)
        target.write(chunk)
        n += len(chunk)
    return digest.hexdigest(), n
