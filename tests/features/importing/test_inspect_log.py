"""A run as a log of Inspect AI, and back, in this process."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest

from core.features.importing.export import write_log
from core.runs.workspace import Workspace
from core.store import runs, traces
from tests.commands import core, core_json


@pytest.mark.soak
def test_a_run_comes_back_as_it_was(small_workspace: Workspace, tmp_path: Path) -> None:
    folder, out = small_workspace.settings.workspace, tmp_path / "again.eval"
    assert core_json(folder, "export", "debate", "--format", "eval", "--out", str(out)) == {
        "path": str(out),
        "rows": 4,
    }
    [imported] = core_json(folder, "import", str(out))["imported"]
    assert (imported["kind"], imported["name"], imported["rows"], imported["rejected"]) == (
        "inspect_log",
        "again",
        4,
        0,
    )
    with small_workspace.store.read() as db:
        first, second = (runs.find(db, name) for name in ("debate", "again"))
        assert traces.rows(db, first.id) == traces.rows(db, second.id)
        assert traces.frame(db, first.id).equals(
            traces.frame(db, second.id)
        )  # with the audit's findings
    same = ("method", "track", "model", "total", "done", "fallbacks", "collapsed", "tokens")
    assert [getattr(first, name) for name in same] == [getattr(second, name) for name in same]
    assert _log_of(small_workspace, "debate").getvalue() == out.read_bytes()


def test_what_a_viewer_shows_is_in_its_place(small_workspace: Workspace) -> None:
    archive = zipfile.ZipFile(_log_of(small_workspace, "debate"))
    sample = json.loads(archive.read("samples/Pa_Gb_epoch_1.json"))
    assert sample["target"] == "none"
    assert (
        sample["messages"][0]["content"]
        == "Does knocking down Pa change the expression of Gb, and up or down?"
    )
    assert "**UP: brief** (dir)\n\nC) Knockdown of Pa does not affect Gb." in [
        each["content"] for each in sample["messages"]
    ]
    assert sample["scores"]["prediction"]["value"] == {
        "prediction_up": 0.3,
        "prediction_down": 0.1,
        "p_de": 0.4,
        "p_up_given_de": 0.75,
    }
    assert (
        sample["scores"]["outcome"]["value"] == "C"
    )  # none at 0.6 is the most probable, and the label
    header = json.loads(archive.read("header.json"))
    assert (header["status"], header["eval"]["model"], header["eval"]["dataset"]["samples"]) == (
        "success",
        "some/model",
        4,
    )


@pytest.mark.soak
def test_a_row_that_failed_is_an_error_and_comes_back_as_none(
    small_workspace: Workspace, tmp_path: Path
) -> None:
    with small_workspace.change("test", "failure") as (db, _):
        db.execute(
            "UPDATE prediction SET error = 'ServerError: http://10.0.0.7/v1 was away', p_de = NULL, prediction_up = NULL, "
            "prediction_down = NULL, p_source = NULL, p_up_given_de = NULL, flags = [] WHERE pair_id = 'Pc_Gc'"
        )
    out = tmp_path / "again.eval"
    folder = small_workspace.settings.workspace
    assert core_json(folder, "export", "debate", "--format", "eval", "--out", str(out))["rows"] == 4
    assert b"10.0.0.7" not in zipfile.ZipFile(out).read("samples/Pc_Gc_epoch_1.json")
    done = core(folder, "import", str(out))
    assert done.status == 0
    assert "'Pc_Gc' failed ('ServerError: a server was away'), expected a prediction" in done.err


def test_a_log_needs_a_file(small_workspace: Workspace) -> None:
    done = core(small_workspace, "export debate --format eval")
    assert (done.status, "needs --out FILE" in done.err) == (1, True)


def _log_of(workspace: Workspace, run: str) -> io.BytesIO:
    out = io.BytesIO()
    write_log(out, workspace, run)
    return out
