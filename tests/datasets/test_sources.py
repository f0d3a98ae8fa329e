"""The pinned files: complete, unambiguous, and under the names people know."""

from __future__ import annotations

import re

from core.datasets import SOURCES

RUNS = {
    "track_b_sharp": 0.569,
    "track_b_knn_fusion": 0.606,
    "track_b_scgpt_fusion": 0.619,
    "track_b_scgpt_fusion_wdir07": 0.624,
    "track_a_logprobs_train2499": None,
}


def test_published_runs_have_their_names_and_public_scores() -> None:
    assert {file.name: file.public_score for file in SOURCES["published"]} == RUNS
    assert all(file.file == f"{file.name}.zip" for file in SOURCES["published"])


def test_perturbqa_has_two_tasks_for_five_lines() -> None:
    lines = ("k562", "rpe1", "hepg2", "jurkat", "k562_set")
    assert {file.file for file in SOURCES["perturbqa"]} == {f"{x}-{t}.csv" for x in lines for t in ("de", "dir")}


def test_every_file_is_pinned_to_a_revision_and_lands_on_its_own() -> None:
    for group, files in SOURCES.items():
        assert len({file.file for file in files}) == len(files)
        for file in files:
            assert re.fullmatch(r"[\w-]+/[\w-]+/[0-9a-f]{40}(/[\w.-]+)+", file.path)
            if group != "perturbqa":
                assert re.fullmatch(r"[0-9a-f]{64}", file.sha256 or "")
                assert file.bytes
