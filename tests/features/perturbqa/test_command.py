"""The command `baselines` on small cell lines with knowledge packs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core.runs.workspace import Workspace
from tests.commands import core, core_json

FREE = ["retrieval vote", "retrieval vote, own gene", "physical edge", "text kNN", "network kNN"]


@pytest.fixture(scope="module")
def place(cell_lines: Workspace) -> Path:
    return cell_lines.settings.workspace


@pytest.fixture(scope="module")
def found(place: Path) -> dict[str, Any]:
    return core_json(place, "baselines --dataset k562")


@pytest.mark.soak
def test_nulls_are_a_half_and_baselines_that_read_knowledge_follow(found: dict[str, Any]) -> None:
    by_name = {each["name"]: each for each in found["baselines"]}
    assert list(by_name)[-6:] == [*FREE, "graph attention network"]
    for name in ("constant", "gene's training mean"):
        assert [by_name[name][question]["macro"] for question in ("de", "dir")] == [0.5, 0.5]
    assert (
        by_name["text kNN"]["de"]["macro"] > 0.6
    )  # perturbations of the same parity change the same genes
    assert by_name["text kNN"]["on_covered"]["rows"] == 50
    assert by_name["physical edge"]["dir"] is None
    assert by_name["graph attention network"]["de"] is None
    assert "--attention" in by_name["graph attention network"]["lacks"]


def test_coverage_and_published_numbers_stand_beside(found: dict[str, Any]) -> None:
    assert found["rows"] == 60
    [network, descriptions] = found["coverage"]
    assert network["perts"] == descriptions["perts"] == {"covered": 5, "of": 6}
    assert {each["method"]: each["de"] for each in found["published"]}["GAT"] == 0.53


def test_sizes_that_are_none_are_refused(place: Path) -> None:
    done = core(place, "baselines --dataset k562 --attention big")
    assert done.status == 1
    assert "expected full, or sizes such as 1x64,2x128" in done.err


def test_the_training_split_has_those_without_knowledge_alone(place: Path) -> None:
    found = core_json(place, "baselines --dataset k562 --split train")
    assert not {each["name"] for each in found["baselines"]} & set(FREE)
