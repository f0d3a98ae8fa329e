"""How large a file may become: against its own size, and in memory."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from core.base import file_limits
from core.base.errors import InputError, UnsafeFile
from core.base.file_limits import (
    MAX_RATIO,
    UNSUSPICIOUS_BYTES,
    limit_memory,
    memory_for_reading,
    refuse_bomb,
)


def test_what_unpacks_to_much_more_than_it_is_is_refused() -> None:
    refuse_bomb("x", 1, UNSUSPICIOUS_BYTES)
    refuse_bomb("x", UNSUSPICIOUS_BYTES, MAX_RATIO * UNSUSPICIOUS_BYTES)
    with pytest.raises(
        UnsafeFile, match=f"x: 1 bytes that unpack to {UNSUSPICIOUS_BYTES + 1:,}, expected at most"
    ):
        refuse_bomb("x", 1, UNSUSPICIOUS_BYTES + 1)
    with pytest.raises(UnsafeFile, match="expected at most 10"):
        refuse_bomb("x", UNSUSPICIOUS_BYTES, 11, 10)
    with pytest.raises(UnsafeFile, match="expected at most 200"):
        refuse_bomb("x", 1, 201, unsuspicious=0)


def test_memory_is_half_of_what_is_free_or_of_the_own_limit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:     2000 kB\n")
    monkeypatch.setattr(file_limits, "_MEMORY", tmp_path / "meminfo")
    monkeypatch.setattr(
        resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    )
    assert memory_for_reading() == 1_024_000
    monkeypatch.setattr(
        resource, "getrlimit", lambda kind: (1_000 if kind == resource.RLIMIT_DATA else -1, -1)
    )
    assert memory_for_reading() == 500
    monkeypatch.setattr(file_limits, "_MEMORY", tmp_path / "gone")
    monkeypatch.setattr(
        resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    )
    assert memory_for_reading() is None


def test_a_reader_gets_so_much_memory_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = resource.getrlimit(resource.RLIMIT_DATA)
    monkeypatch.setattr(file_limits, "memory_for_reading", lambda: 100_000_000)
    with pytest.raises(InputError, match=r"x: needs more memory .* \(100 MB\)"), limit_memory("x"):
        bytearray(200_000_000)
    assert resource.getrlimit(resource.RLIMIT_DATA) == usual
    with limit_memory("x"):
        bytearray(50_000_000)
        with pytest.raises(InputError, match="y: needs"), limit_memory("y"):  # the first's limit
            bytearray(200_000_000)
        assert resource.getrlimit(resource.RLIMIT_DATA) != usual
    assert resource.getrlimit(resource.RLIMIT_DATA) == usual
    bytearray(200_000_000)
