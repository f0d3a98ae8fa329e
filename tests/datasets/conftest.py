"""What the tests of this room build files with."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Callable, Iterable

import pytest

CsvMaker = Callable[..., bytes]
ZipMaker = Callable[[dict[str, bytes]], bytes]


@pytest.fixture(scope="session")
def make_csv() -> CsvMaker:
    """make_csv("a,b", ["1", "2"], …): a header and rows as CSV bytes, quoted where needed."""

    def make(header: str, *rows: Iterable[object]) -> bytes:
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(header.split(","))
        writer.writerows(rows)
        return text.getvalue().encode()

    return make


@pytest.fixture(scope="session")
def make_zip() -> ZipMaker:
    """make_zip({path: content}): a deflated zip."""

    def make(members: dict[str, bytes]) -> bytes:
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            for path, data in members.items():
                archive.writestr(path, data)
        return content.getvalue()

    return make
