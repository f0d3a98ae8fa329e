"""The benchmarks of large sizes measure what they say, here on a few rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import large_run, plain_store, store, tables


@pytest.mark.soak
def test_both_stores_hold_the_same_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_run, "TEXT_MB", 0.2)
    monkeypatch.setattr(plain_store, "PAGE", 5)
    ours, plain, rows = tmp_path / "workspace", tmp_path / "plain.duckdb", 60
    assert large_run.make_files(ours, rows) == pytest.approx(2.5e-3 * rows, rel=0.02)
    assert (
        store.import_pairs(ours)
        == store.import_run(ours)
        == plain_store.import_plainly(ours, plain)
        == rows
    )
    read, read_plainly = store.read_store(ours, rows), plain_store.read_plain(plain, rows)
    assert read["found"] == read_plainly["found"]
    assert set(read_plainly["times"]) < set(read["times"])
    assert store.score_store(ours)["aurocs"] == pytest.approx(
        plain_store.score_plain(plain)["aurocs"], abs=1e-12
    )


@pytest.mark.soak
def test_tables_are_imported_and_scored_beside_their_floors() -> None:
    measured = tables.run_large(400)
    assert measured["max_abs_diff"] < 1e-12
    assert all(measured[f"{what}_ratio"] > 0 for what in ("import_labels", "import_run", "score"))
