"""Baselines of the published cell lines as the command computes them, and graph attention networks of all published sizes."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core.base.config import REPOSITORY
from core.features.importing.actions import import_paths
from soak.conftest import Record
from tests.conftest import SHARED_DATA
from tests.worlds import workspace_in

pytestmark = pytest.mark.skipif(
    not SHARED_DATA.is_dir(), reason=f"needs the published files in {SHARED_DATA}"
)
MOST_MB, MOST_PROCESSOR_S = 4_000, 60


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cell lines and the knowledge packs."""
    folder = tmp_path_factory.mktemp("lines")
    import_paths(
        workspace_in(folder),
        [SHARED_DATA / "perturbqa", SHARED_DATA / "knowledge"],
    )
    return folder


def run_baselines(place: Path, *arguments: str) -> tuple[dict[str, Any], float]:
    """What the command prints, by name of the baseline, and the seconds of processors that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [
        sys.executable,
        "-m",
        "core",
        "--workspace",
        str(place),
        "baselines",
        *arguments,
        "--json",
    ]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {each["name"]: each for each in json.loads(done.stdout)["baselines"]}, processor_s


@pytest.mark.parametrize("line", ["k562", "hepg2"])
def test_baselines_of_a_line(place: Path, line: str, record: Record) -> None:
    found, processor_s = run_baselines(place, "--dataset", line)
    record(
        processor_s=f"{processor_s:.1f}",
        **{name: each["de"] and round(each["de"]["macro"], 3) for name, each in found.items()},
    )
    assert [found[name]["de"]["macro"] for name in ("constant", "gene's training mean")] == [
        0.5,
        0.5,
    ]
    vote = found[
        "retrieval vote, own gene"
    ]  # above chance on both questions, as the published retrieval is
    assert min(vote[axis]["intervals"]["macro"]["low"] for axis in ("de", "dir")) > 0.5
    assert processor_s < MOST_PROCESSOR_S
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024 < MOST_MB


def test_rows_of_hepg2_from_the_training_rows_of_k562(place: Path, record: Record) -> None:
    found, _ = run_baselines(place, "--dataset", "hepg2", "--train-on", "k562")
    record(**{name: each["de"] and round(each["de"]["macro"], 3) for name, each in found.items()})
    assert found["gene's training mean"]["de"]["macro"] == 0.5


def test_graph_attention_networks_of_all_published_sizes(place: Path, record: Record) -> None:
    """Twelve networks: minutes each on a GPU, hours on processors."""
    pytest.importorskip(
        "torch", reason="torch is not installed: pip install -r requirements-models.txt"
    )
    found, _ = run_baselines(place, "--dataset", "k562", "--attention", "full")
    network = found["graph attention network"]
    record(de=network["de"]["macro"], dir=network["dir"]["macro"], note=network["note"])
    assert network["lacks"] is None
    assert network["note"].count("x") >= 12
