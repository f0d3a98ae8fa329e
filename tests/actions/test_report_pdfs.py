"""The PDFs of a report: printed by a job from the HTML of the page, and found while they are of the same content."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.actions import job_control, report_pdfs
from core.actions.job_kinds.base import Job
from core.actions.workspace import Workspace
from core.errors import StateError
from core.report import printing
from core.report.printing import find_browser
from tests import commands
from tests.jobs.started import counted
from tests.jobs.worker import until

PAGES = {form: f"<!doctype html><title>{form}</title><p>Of mice".encode() for form in report_pdfs.FORMS}
OTHERS = {form: page + b"!" for form, page in PAGES.items()}


def job_of(workspace: Workspace) -> Job:
    job = report_pdfs.find_job(workspace, "paper")
    assert job is not None
    return job


@pytest.mark.browser
@pytest.mark.soak
def test_a_process_of_its_own_prints_both_and_other_content_takes_their_place(small_workspace: Workspace) -> None:
    if find_browser() is None:
        pytest.skip("needs Chromium on the path")
    assert report_pdfs.find_job(small_workspace, "paper") is None
    for pages in (PAGES, OTHERS):
        report_pdfs.start(small_workspace, "paper", "d", pages)
        until(lambda: not job_of(small_workspace).is_live)
        assert (job_of(small_workspace).state, job_of(small_workspace).cause) == ("done", "")
        found = report_pdfs.find_pdfs(small_workspace, "paper", report_pdfs.content_of(pages))
        assert [file.read_bytes()[:4] for file in found.values()] == [b"%PDF", b"%PDF"]
    assert report_pdfs.find_pdfs(small_workspace, "paper", report_pdfs.content_of(PAGES)) == {}
    assert len([*(small_workspace.settings.cache / "reports").glob("*/*")]) == 1
    listed = commands.core_json(small_workspace.settings.workspace, "jobs", "list", "--all")["jobs"]
    assert [(each["job"], each["state"]) for each in listed] == [("report/paper", "done")]


def test_what_was_printed_before_a_kill_is_not_printed_again(small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[bytes] = []
    monkeypatch.setattr(printing, "as_pdf", lambda page: printed.append(page) or b"%PDF" + page)
    with counted(monkeypatch, report_pdfs.KIND):
        job = report_pdfs.start(small_workspace, "paper", "d", PAGES)
    [folder] = (small_workspace.settings.cache / "reports").glob(f"*/{report_pdfs.content_of(PAGES)}")
    (folder / "report.pdf").write_bytes(b"%PDF there")
    job_control.work(small_workspace, job.kind, job.key)
    assert printed == [PAGES["slides"]]
    assert report_pdfs.find_pdfs(small_workspace, "paper", report_pdfs.content_of(PAGES))["report"].read_bytes() == b"%PDF there"


def test_while_it_prints_other_content_waits_and_the_same_is_left_alone(
    small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with counted(monkeypatch, report_pdfs.KIND) as processes:
        report_pdfs.start(small_workspace, "paper", "d", PAGES)
        report_pdfs.start(small_workspace, "paper", "d", PAGES)
        with pytest.raises(StateError, match=r"report/paper: is running with other data; stop it, or wait until it has ended"):
            report_pdfs.start(small_workspace, "paper", "d", OTHERS)
        assert len(processes) == 1


def test_a_cache_that_was_emptied_is_said_and_no_secret_is_printed(
    small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with counted(monkeypatch, report_pdfs.KIND):
        job = report_pdfs.start(small_workspace, "paper", "d", PAGES)
    [page] = (small_workspace.settings.cache / "reports").glob(f"*/{report_pdfs.content_of(PAGES)}/report.html")
    page.unlink()
    with pytest.raises(StateError, match="is gone, expected what the page Share wrote; make the PDFs there again"):
        job_control.work(small_workspace, job.kind, job.key)
    assert job_of(small_workspace).state == "failed"
    secret = replace(small_workspace, settings=replace(small_workspace.settings, api_key="sk-a-secret-of-somebody"))
    with pytest.raises(StateError, match="contains an API key"):
        report_pdfs.start(secret, "paper", "d", {**PAGES, "slides": b"sk-a-secret-of-somebody"})
