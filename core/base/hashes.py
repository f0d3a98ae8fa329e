"""SHA-256 in hexadecimal digits: of a text or bytes, of an open file, and of a file."""

from __future__ import annotations

import hashlib
from io import BufferedIOBase
from pathlib import Path
from typing import IO

KEY_DIGITS = 10  # of an identity, such as a run's


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
