"""A file of 300 MB of traces through whatever reads or writes it, each command in at most 600 MB but for one; a long log."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import psutil
import pytest

from core.base.config import REPOSITORY
from soak.conftest import Record
from tests.large_files import NEEDLE, rows_of, write_pairs, write_submission

MEGABYTES, MOST_MB = 300, 600
MORE_MB = {"export eval": 900}  # what the list of samples in Inspect View shows of each
RUN, LOG_ROWS = "big", 20_000
PREDICTED = ["p_de", "p_up_given_de"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pairs, and the submission over them as a CSV and as a zip."""
    made = tmp_path_factory.mktemp("large")
    rows = rows_of(MEGABYTES)
    write_pairs(made / "train.csv", rows)
    for name in ("big.csv", "big.zip"):
        write_submission(made / name, rows)
    return made


def test_every_command_stays_within_its_memory(folder: Path, record: Record) -> None:
    peaks = {name: _peak_mb(folder, *arguments) for name, arguments in _commands(folder).items()}
    record(**{name: f"{peak:.0f} MB" for name, peak in peaks.items()})
    assert {name: peak for name, peak in peaks.items() if peak > MORE_MB.get(name, MOST_MB)} == {}


def test_an_inspect_log_of_20_000_rows_comes_back_whole(tmp_path: Path, record: Record) -> None:
    write_pairs(tmp_path / "train.csv", LOG_ROWS)
    write_submission(tmp_path / "run.csv", LOG_ROWS)
    steps = {
        "pairs": ("import", str(tmp_path / "train.csv")),
        "run": ("import", str(tmp_path / "run.csv"), "--name", RUN),
        "before": ("export", RUN, "--out", str(tmp_path / "before.csv")),
        "log": ("export", RUN, "--traces", "--format", "eval", "--out", str(tmp_path / "run.eval")),
        "delete": ("runs", "delete", RUN),
        "import": ("import", str(tmp_path / "run.eval"), "--name", RUN),
        "after": ("export", RUN, "--out", str(tmp_path / "after.csv")),
    }
    record(
        **{name: f"{_peak_mb(tmp_path, *arguments):.0f} MB" for name, arguments in steps.items()}
    )
    before, after = (
        pd.read_csv(tmp_path / name).set_index("pair_id").sort_index()
        for name in ("before.csv", "after.csv")
    )
    assert len(before) == LOG_ROWS
    pd.testing.assert_frame_equal(before[PREDICTED], after[PREDICTED])


def _commands(folder: Path) -> dict[str, tuple[str, ...]]:
    out = {
        name: str(folder / name)
        for name in (
            "b.zip",
            "site",
            "t.csv",
            "t.parquet",
            "t.jsonl",
            "t.eval",
            "r.html",
            "all.zip",
        )
    }
    traces = ("export", RUN, "--traces", "--format")
    return {
        "import pairs": ("import", str(folder / "train.csv")),
        "import a CSV": ("import", str(folder / "big.csv"), "--name", RUN),
        "undo": ("undo", "big.csv"),
        "import a zip": ("import", str(folder / "big.zip"), "--name", RUN),
        "bundle": ("export", RUN, "--format", "bundle", "--out", out["b.zip"]),
        "site": ("report", "site", RUN, "--out", out["site"]),
        "rubric of briefs": ("rubric", "run", "argues", RUN),
        "rubric of rows": ("rubric", "run", "role_collapse", RUN),
        "audit debate": ("audit", "debate", RUN),
        "search": ("search", NEEDLE),
        **{
            f"export {form}": (*traces, form, "--out", out[f"t.{form}"])
            for form in ("csv", "parquet", "jsonl", "eval")
        },
        "report new": ("report", "new", "all", "--runs", RUN),
        "report build": ("report", "build", "all", "--out", out["r.html"]),
        "backup": ("backup", "--out", out["all.zip"]),
        "delete": ("runs", "delete", RUN),
        "import a bundle": ("import", out["b.zip"]),
    }


def _peak_mb(folder: Path, *arguments: str) -> float:
    """The most memory that a command and its children had together, looked at fifty times a second, in MB."""
    command = [sys.executable, "-m", "core", "--workspace", str(folder / "workspace"), *arguments]
    peak = 0
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.DEVNULL) as process:
        watched = psutil.Process(process.pid)
        while process.poll() is None:
            peak = max(peak, sum(map(_resident_bytes, [watched, *_children_of(watched)])))
            time.sleep(0.02)
    assert process.returncode == 0, arguments
    return peak / 2**20


def _children_of(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _resident_bytes(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0
