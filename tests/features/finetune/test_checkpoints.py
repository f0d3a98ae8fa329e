"""Which checkpoint is whole."""

from __future__ import annotations

from pathlib import Path

from core.features.finetune.job_folder import last_whole, mark_whole


def test_the_last_whole_one_counts_and_a_torn_one_goes(tmp_path: Path) -> None:
    assert last_whole(tmp_path / "nowhere") is None
    for step in (9, 10, 100):
        (tmp_path / f"checkpoint-{step}").mkdir()
        (tmp_path / f"checkpoint-{step}" / "adapter_model.safetensors").write_text("x")
    assert last_whole(tmp_path) is None  # all were being written when their process was killed
    assert not list(tmp_path.iterdir())
    for step in (9, 10, 100):
        (tmp_path / f"checkpoint-{step}").mkdir()
    for step in (9, 10):  # by number, not by name
        mark_whole(tmp_path / f"checkpoint-{step}")
    assert last_whole(tmp_path) == tmp_path / "checkpoint-10"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["checkpoint-10", "checkpoint-9"]
