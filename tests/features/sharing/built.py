"""A report, or its slides, of a selection."""

from __future__ import annotations

from core.features.sharing.report.build import BuiltReport, build_file, load_parts
from core.features.sharing.report.selection import ReportSelection
from core.runs.workspace import Workspace


def build_report(
    workspace: Workspace, name: str, selection: ReportSelection, *, slides: bool = False
) -> BuiltReport:
    """The file of a selection that is called `name`."""
    return build_file(load_parts(workspace, name, selection), slides=slides)
