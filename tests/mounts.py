"""Small and read-only file systems for tests, where this user may mount any."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, n_bytes: int) -> Iterator[Path]:
    """A file system of that size at a new folder; skips the test where none can be mounted."""
    folder.mkdir()
    _mount_or_skip("-t", "tmpfs", "-o", f"size={n_bytes}", "tmpfs", str(folder))
    try:
        yield folder
    finally:
        _unmount(folder)


@contextmanager
def read_only(folder: Path) -> Iterator[Path]:
    """The folder, which nobody can change meanwhile; skips the test where it cannot be mounted so."""
    _mount_or_skip("--bind", str(folder), str(folder))
    try:
        _mount_or_skip("-o", "remount,bind,ro", str(folder))
        yield folder
    finally:
        _unmount(folder)


def fill(disk: Path, but: int = 0) -> Path:
    """Writes a file that leaves `but` bytes of a file system free; returns it."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as out:
        try:
            while True:
                out.write(b"x" * 4096)
        except OSError:
            pass
    if but:
        with filler.open("r+b") as out:
            out.truncate(filler.stat().st_size - but)
    return filler


def _mount_or_skip(*arguments: str) -> None:
    try:
        done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("needs the program mount")
    if done.returncode:
        pytest.skip(f"needs the right to mount a file system ({done.stderr.strip()})")


def _unmount(folder: Path) -> None:
    subprocess.run(["umount", "--lazy", str(folder)], check=True)
