"""The numbers of a kNN in a workspace."""

from __future__ import annotations

from core.methods.fusion_components import DatasetPriors
from core.runs.component_loader import Progress, find_null
from core.runs.workspace import Workspace
from core.transfer.cuts import predict_cuts, score_cuts
from core.transfer.permutation_null import N_PERMUTATIONS, KnnNumbers
from core.transfer.protocols import EvaluationProtocol


def numbers_of(
    workspace: Workspace,
    found: DatasetPriors,
    protocol: EvaluationProtocol,
    permutations: int = N_PERMUTATIONS,
    progress: Progress | None = None,
) -> KnnNumbers:
    """Return the numbers of a prediction; under folds the mean of ten cuts, and its null unless
    `permutations` is 0."""
    evaluation = found.evaluation()
    if protocol.kind != "folds":
        return KnnNumbers(protocol, evaluation)
    cuts = score_cuts(
        found.labels, found.inputs.queries, predict_cuts(found.inputs, protocol.k), protocol.k
    )
    null = (
        find_null(workspace, found.inputs, found.labels, protocol.k, permutations, progress)
        if permutations
        else None
    )
    return KnnNumbers(protocol, evaluation, cuts, null)
