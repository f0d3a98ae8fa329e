"""What-if where there is nothing to fuse a run with."""

from __future__ import annotations

from core.store.datasets import Dataset
from core.ui.shared import neighbour_controls
from core.ui.shared.shell import PageContext


def show(context: PageContext, dataset: Dataset) -> None:
    """Say what is missing."""
    neighbour_controls.show_no_space()
