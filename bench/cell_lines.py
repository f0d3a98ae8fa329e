"""Pages on a cell line of PerturbQA beside the same pages on the challenge, in one workspace with more than a million rows.

All lines at hand are imported, and copies of the largest under other names until there are a million rows. Without these files
there is nothing to measure.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from bench.pages import (
    PHRASES,
    REAL_DATA,
    first_contents,
    make_workspace,
    measure_hello,
    memory_mb,
    started_browser,
)
from core.base.errors import NotFound
from core.features.importing.actions import import_paths
from core.features.neighbours.spaces import embed
from core.runs import launch
from core.runs.component_loader import knn_request
from core.runs.request import RunRequest
from core.runs.run_control import settle, start, work_on
from core.runs.spec import ExecutionSettings
from core.runs.workspace import Workspace
from core.store import datasets, predictions, runs
from core.store.predictions import RowFilter
from core.transfer.knn_settings import KnnSettings
from core.transfer.protocols import EvaluationProtocol
from tests.ui.serving import serving

LEAST_ROWS = 1_000_000
LARGEST = "k562"
KNOWLEDGE = ("mouse_to_human_ortholog.json", "string_edges.json")
# Of a run that is no debate, and of the challenge alone.
LEFT_OUT = ("rows audit", "rows, the first brief", "arguments", "package")
RUN, LABELLED = "track_b_sharp", "track_a_logprobs_train2499"  # of the challenge


def run() -> dict[str, Any]:
    """First contents of every page on both datasets; the ratio is that of their sums, 1 where the cell line is as quick."""
    if not (REAL_DATA / "perturbqa").is_dir():
        raise NotFound(
            f"bench cell_lines: {REAL_DATA / 'perturbqa'} is not there, expected PerturbQA's files"
        )
    with tempfile.TemporaryDirectory() as folder:
        workspace, _ = make_workspace(Path(folder) / "workspace")
        imported_s, rows = fill(workspace, Path(folder) / "copies")
        with workspace.store.read() as db:
            challenge, labelled, line = (
                runs.find(db, name).id for name in (RUN, LABELLED, "rules")
            )
            firsts = {
                each: predictions.find_pair_ids(db, each, RowFilter())[0]
                for each in (challenge, line)
            }
            shown = {
                each: {**predictions.row(db, each, first), "phrase": PHRASES["real"]}
                for each, first in firsts.items()
            }
        with started_browser() as browser, serving(workspace.settings.workspace) as server:
            of_challenge = first_contents(
                browser, server, (challenge, labelled), shown[challenge], LEFT_OUT
            )
            of_line = first_contents(browser, server, (line, line), shown[line], LEFT_OUT)
            peak_mb = memory_mb(server)
        with started_browser() as browser:
            reference = measure_hello(browser, Path(folder))
    ours, floor = sum(of_line.values()), sum(of_challenge.values())
    return {
        "name": "cell_lines",
        "ours_s": ours / 1000,
        "reference_s": floor / 1000,
        "ratio": floor / ours,
        "max_abs_diff": 0,
        "rows": rows,
        "import_s": imported_s,
        "first_content_ms": of_line,
        "first_content_ms_challenge": of_challenge,
        "first_content_times_challenge": {
            title: ms / of_challenge[title] for title, ms in of_line.items()
        },
        "first_content_ms_reference": reference["first_content_ms"],
        "peak_mb_ours": peak_mb,
        "peak_mb_reference": reference["peak_mb"],
    }


def fill(workspace: Workspace, copies: Path) -> tuple[float, int]:
    """Imports the lines and the copies and makes a run of the largest; returns the seconds of the imports, and all rows."""
    source, began = REAL_DATA / "perturbqa", time.perf_counter()
    import_paths(workspace, [source, *(REAL_DATA / "knowledge" / name for name in KNOWLEDGE)])
    copies.mkdir()
    number = 0
    while (rows := count_rows(workspace)) < LEAST_ROWS:
        number += 1
        for kind in ("de", "dir"):
            target = copies / f"copy{number}-{kind}.csv"
            header, *lines = (source / f"{LARGEST}-{kind}.csv").read_text("utf-8").splitlines()
            target.write_text(
                "\n".join([header, *lines[number:], *lines[:number]]), "utf-8"
            )  # a file of before is known
            import_paths(workspace, [target])
    imported_s = time.perf_counter() - began
    embed(workspace, "network", "network", {"columns": 128, "seed": 0})
    spec = launch.resolve(workspace, RunRequest("evidence_rules", LARGEST, {}, "split=test"))
    settle(workspace, start(workspace, spec, "rules", ExecutionSettings(), begin=work_on).id)
    with workspace.store.read() as db:
        line = datasets.find(db, LARGEST)
    launch.start(
        workspace,
        knn_request(line, KnnSettings(("network",), EvaluationProtocol("test")), "network"),
    )
    return imported_s, rows


def count_rows(workspace: Workspace) -> int:
    """The rows of all datasets."""
    with workspace.store.read() as db:
        return int(datasets.counts(db)["rows"].sum())
