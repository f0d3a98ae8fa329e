"""What the operating system refused, in words."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import pytest

from core.base.errors import DiskFull, SystemFailure
from core.base.system_errors import existing_folder, explain, explain_text


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (
            errno.EROFS,
            "the file system is read-only; choose another place, or mount it for writing",
        ),
        (errno.EACCES, "permission denied; ask its owner, or choose another place"),
        (errno.EPERM, "permission denied; ask its owner, or choose another place"),
        (errno.ENOENT, "no such file or folder; check the path"),
        (
            errno.ENOTDIR,
            "a file lies where a folder is expected; move it away, or choose another place",
        ),
        (
            errno.EISDIR,
            "a folder lies where a file is expected; move it away, or choose another place",
        ),
        (
            errno.ELOOP,
            "a link that leads back to itself; remove the link, or name what it should lead to",
        ),
        (
            errno.ENAMETOOLONG,
            "the name is longer than the file system allows; choose a shorter one",
        ),
        (
            errno.EMFILE,
            "too many files are open; end other programs, or raise the limit (ulimit -n)",
        ),
        (errno.EBUSY, f"{os.strerror(errno.EBUSY)}; check the place and try again"),
    ],
)
def test_each_error_has_its_words(number: int, words: str) -> None:
    error = OSError(number, os.strerror(number), "/some/where")
    for found in (explain(error), explain(OSError(number, os.strerror(number)), "/some/where")):
        assert (type(found), str(found)) == (SystemFailure, f"/some/where: {words}")


def test_real_ones(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").write_bytes(b"")
    for what, words in (
        ("loop", "leads back to itself"),
        ("gone", "no such file"),
        ("file/x", "a file lies where a folder"),
        (".", "a folder lies where a file"),
        ("n" * 300, "longer than the file system allows"),
    ):
        with pytest.raises(OSError) as caught:  # noqa: PT011
            (tmp_path / what).read_bytes()
        assert re.match(
            re.escape(f"{tmp_path / what}: ") + f".*{words}", str(explain(caught.value))
        )


def test_memory() -> None:
    assert (
        str(explain(MemoryError())) == "out of memory; end other programs, or work on less at once"
    )


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_says_how_much_is_free_and_where(number: int, tmp_path: Path) -> None:
    found = explain(OSError(number, os.strerror(number)), tmp_path / "not" / "there")
    assert isinstance(found, DiskFull)
    expected = rf"{tmp_path}/not/there: no space left on the disk \([\d,.]+ MB are free in {tmp_path}\); free some space and try again"
    assert re.fullmatch(expected, str(found))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('IO Error: Could not write file "x": No space left on device', DiskFull),
        ("database or disk is full", DiskFull),
        ("attempt to write a readonly database", SystemFailure),
        ("unable to open database file", SystemFailure),
        ("Catalog Error: Table does not exist", None),
    ],
)
def test_what_libraries_say(text: str, kind: type | None, tmp_path: Path) -> None:
    found = explain_text(text, tmp_path / "x")
    assert (None if found is None else type(found)) == kind
    assert found is None or str(found).startswith(f"{tmp_path / 'x'}: ")


def test_the_nearest_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert [existing_folder(tmp_path / part) for part in ("", "a/b", "file")] == [tmp_path] * 3
    assert existing_folder(Path("nowhere")) == Path(".")
