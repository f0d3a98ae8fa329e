"""One SHA-256 of a text, of bytes, of an open file, and of a file."""

from __future__ import annotations

import io
from pathlib import Path

from core.base.hashes import sha256_of, sha256_of_file, sha256_of_open

ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # of "abc": FIPS 180-2, appendix B.1


def test_the_same_content_has_the_same_hash(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"abc")
    read = io.BytesIO(b"abc")
    read.seek(2)
    assert (
        sha256_of("abc") == sha256_of(b"abc") == sha256_of_file(file) == sha256_of_open(read) == ABC
    )
    assert sha256_of("é") == sha256_of(b"\xc3\xa9")  # a text is read as UTF-8
