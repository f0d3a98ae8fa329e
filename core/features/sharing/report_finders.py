"""What a report reads besides the store, of a workspace."""

from __future__ import annotations

from functools import partial

from core.features.experiments.comparison_log import looked_by_dataset
from core.features.fuse import fusion_files
from core.features.published.reproduce import reproduce_numbers
from core.features.sharing.report.material import Finders
from core.runs.control_inputs import control_expression_of, kept_vectors
from core.runs.workspace import Workspace


def finders_of(workspace: Workspace) -> Finders:
    """Return the further inputs of every report of a workspace."""
    return Finders(
        partial(kept_vectors, workspace),
        partial(reproduce_numbers, workspace),
        partial(fusion_files.find_explorer, workspace),
        partial(control_expression_of, workspace),
        partial(looked_by_dataset, workspace),
    )
