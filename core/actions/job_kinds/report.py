"""Jobs of the kind report: a browser prints a report and its slides as PDF."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.actions import report_pdfs
from core.actions.job_kinds.base import JobKind
from core.actions.workspace import Workspace
from core.jobs.work import Reporter

_IN_LINK = {"dataset": "dataset", "title": "name"}


class ReportKind(JobKind):
    """Reports that the page Share prints, one a name."""

    name, title, page, tab = report_pdfs.KIND, "report as PDF", "share", "Report"

    def view_of(self, about: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the link that has the report's name, by which the page finds the job."""
        wanted = about.get("wanted", {})
        return {"tab": self.tab, **{key: str(wanted[name]) for key, name in _IN_LINK.items() if name in wanted}}

    def work(self, workspace: Workspace, wanted: Mapping[str, Any], reporter: Reporter, /) -> None:
        """Print what is missing."""
        report_pdfs.print_pdfs(workspace, wanted["name"], wanted["content"], reporter)


KIND = ReportKind()
