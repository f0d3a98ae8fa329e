"""`report`: what it shows is saved by name, and built as a file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from core.features.sharing.report import build
from core.runs.workspace import Workspace, open_workspace
from core.store import changes
from tests.commands import core, core_json

LABELLED, COLLAPSED = "simulated debate", "simulated collapsed debate"


@pytest.fixture
def place(demo_copy: Workspace) -> Path:
    return demo_copy.settings.workspace


@pytest.mark.soak
def test_a_report_is_saved_listed_built_and_deleted(place: Path, tmp_path: Path) -> None:
    chosen = (
        "--runs",
        f"{LABELLED},{COLLAPSED}",
        "--compare",
        f"{COLLAPSED},{LABELLED}",
        "--figures",
        "ladder,paired_changes",
    )
    made = core_json(place, "report", "new", "ours", *chosen)
    assert (made["name"], made["figures"], len(made["runs"]), len(made["compare"])) == (
        "ours",
        ["ladder", "paired_changes"],
        2,
        1,
    )
    assert core_json(place, "report", "new", "ours", *chosen) == made
    assert core_json(place, "report", "list") == {"reports": [made]}
    out = tmp_path / "report.html"
    built = core_json(place, "report", "build", "ours", "--out", str(out))
    assert built == {
        "path": str(out),
        "sha256": hashlib.sha256(out.read_bytes()).hexdigest(),
        "figures": 2,
        "rows": 0,
    }
    assert core_json(place, "report", "build", "ours", "--out", str(out)) == built  # the same bytes
    whole = out.read_text("utf-8")
    assert (
        f" · {datetime.now():%-d %B %Y} · dataset simulated" in whole
    )  # by whom and when it was saved
    slides = core_json(
        place, "report", "build", "ours", "--out", str(tmp_path / "slides.html"), "--slides"
    )
    assert slides["figures"] == 2
    other = core(place, "report", "build", "ours", "--out", str(out), "--slides")
    assert (other.status, "another file lies there" in other.err) == (1, True)
    assert (
        core(place, "report", "build", "ours", "--out", str(out), "--slides", "--replace").status
        == 0
    )
    taken = core(place, "report", "new", "ours", "--runs", LABELLED)
    assert (taken.status, "the name is taken" in taken.err) == (1, True)
    assert (
        core_json(place, "report", "new", "ours", "--runs", LABELLED, "--replace")["compare"] == []
    )
    core_json(place, "report delete ours")
    assert core_json(place, "report", "list") == {"reports": []}
    shown = core_json(place, "report", "figure", "paired_changes", *chosen[:4])
    assert [
        (one["subject"], len(one["table"]) > 0, one["sentence"].endswith("."))
        for one in shown["figures"]
    ] == [(f"{LABELLED} against {COLLAPSED}", True, True)]
    alone = core(place, "report", "figure", "nobody's", *chosen[:2])
    assert (alone.status, "expected one of labels," in alone.err) == (1, True)
    gone = core(place, "report", "build", "ours", "--out", str(out))
    assert (gone.status, "report 'ours': not in this workspace" in gone.err) == (1, True)


@pytest.mark.soak
def test_what_was_done_is_in_the_audit_log_and_a_reader_may_only_build(
    place: Path, tmp_path: Path
) -> None:
    workspace = open_workspace(replace(open_workspace().settings, workspace=place, author="Ada"))
    core_json(place, "report", "new", "ours", "--runs", LABELLED, "--figures", "labels")
    with workspace.store.read() as db:
        last = changes.latest(db).iloc[0]
    assert (last["action"], last["subject"]) == ("preset", "ours")
    assert json.loads(last["detail"])["page"] == "report"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PERTURBDESK_READ_ONLY", "1")
        assert core(place, "report", "new", "another", "--runs", LABELLED).status == 1
        assert (
            core_json(place, "report", "build", "ours", "--out", str(tmp_path / "r.html"))[
                "figures"
            ]
            == 1
        )


def test_a_name_that_ends_in_pdf_is_printed(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    core_json(place, "report", "new", "ours", "--runs", LABELLED, "--figures", "labels")
    target = tmp_path / "r.pdf"
    if build.find_browser() is not None:
        core_json(place, "report", "build", "ours", "--out", str(target))
        assert target.read_bytes().startswith(b"%PDF")
        target.unlink()
    monkeypatch.setattr(build, "find_browser", lambda: None)
    done = core(place, "report", "build", "ours", "--out", str(target))
    assert (done.status, "open the HTML and print it" in done.err) == (1, True)
    assert not target.exists()
