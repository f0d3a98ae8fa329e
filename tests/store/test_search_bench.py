from __future__ import annotations

from pathlib import Path

import pytest

from bench import search


@pytest.mark.soak
def test_the_benchmark_finds_the_same_texts_in_both_ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MB", 0.5)
    characters, _ = search.make_workspace(tmp_path)
    assert 0.5e6 <= characters < 0.55e6
    (ours, counts), (reference, expected) = search.search_store(tmp_path), search.scan_in_memory()
    assert counts == expected
    assert counts["rare"] == search.RUNS * len(search.ROLES)  # the first row of every run
    assert set(ours) == set(reference) == set(counts)
