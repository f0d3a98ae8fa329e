"""A report, or its slides, of a selection."""

from __future__ import annotations

from core.features.sharing.report.build import BuiltReport, build_file, load_parts
from core.features.sharing.report.material import Finders
from core.features.sharing.report.material_loader import NOTHING
from core.features.sharing.report.selection import ReportSelection
from core.store import Store


def build_report(
    store: Store,
    name: str,
    selection: ReportSelection,
    find: Finders = NOTHING,
    *,
    slides: bool = False,
) -> BuiltReport:
    """The file of a selection that is called `name`."""
    return build_file(load_parts(store, name, selection, find), slides=slides)
