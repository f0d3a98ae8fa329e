"""What a report reads besides the store, of a workspace."""

from __future__ import annotations

from functools import partial

from core.actions import fusion_files
from core.actions.cells import control_expression_of
from core.actions.comparison_log import looked_by_dataset
from core.actions.knn_numbers import kept_vectors
from core.actions.workspace import Workspace
from core.features.published.reproduce import reproduce_numbers
from core.report.material import Finders


def finders_of(workspace: Workspace) -> Finders:
    """Return the further inputs of every report of a workspace."""
    return Finders(
        partial(kept_vectors, workspace),
        partial(reproduce_numbers, workspace),
        partial(fusion_files.find_explorer, workspace),
        partial(control_expression_of, workspace),
        partial(looked_by_dataset, workspace),
    )
