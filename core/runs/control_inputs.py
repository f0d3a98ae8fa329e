"""What baselines without biology are computed from, besides a run's rows: genes in control cells,
and permutation nulls of a kNN, which are slow and cached in cache/permuted by their content."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from core.base.errors import NotFound, StateError
from core.base.file_io import replace_file
from core.base.log import LOGGER
from core.base.system_errors import explain
from core.features import hooks
from core.runs.component_loader import WorkspaceComponents, default_dataset
from core.runs.workspace import Workspace
from core.stats.arrays import Floats
from core.store.runs import Run
from core.transfer.knn_settings import read_knn_settings
from core.transfer.permutation_null import (
    N_PERMUTATIONS,
    PermutationNull,
    content_key,
    permutation_null,
)
from core.transfer.protocols import KnnInputs

SEED = 0  # of the permutations

Progress = Callable[[float], object]  # is told the share that is done


def find_null(
    workspace: Workspace,
    knn: KnnInputs,
    labels: ArrayLike,
    k: int,
    n: int = N_PERMUTATIONS,
    progress: Progress | None = None,
) -> PermutationNull:
    """Return the null of a kNN from the cache; compute and cache it, unless the workspace is
    read-only."""
    key = content_key(knn, labels, k, n, SEED)
    kept = kept_null(workspace, key)
    if kept is not None:
        return kept
    null = permutation_null(knn, labels, k, n, SEED, progress)
    if not workspace.settings.read_only:
        try:
            content = BytesIO()
            np.save(content, null.values)
            _file(workspace, key).parent.mkdir(parents=True, exist_ok=True)
            replace_file(_file(workspace, key), content.getvalue())
        except OSError as error:  # it is computed again next time
            LOGGER.warning(
                "a null by permutation is not kept: %s", explain(error, _file(workspace, key))
            )
    return null


def kept_null(workspace: Workspace, key: str) -> PermutationNull | None:
    """Return the null of this content (see `content_key`) from the cache, else None."""
    try:
        return PermutationNull(np.load(_file(workspace, key)), SEED)
    except (OSError, ValueError, EOFError):  # none, or damaged: it is computed again
        return None


def _file(workspace: Workspace, key: str) -> Path:
    return workspace.settings.cache / "permuted" / f"{key}.npy"


def null_of_run(
    workspace: Workspace, run: Run, pair_ids: Sequence[str], *, compute: bool
) -> PermutationNull | None:
    """Return the null of the space behind a kNN's run on these rows, from the cache or, with
    `compute`, made for it.

    None for other methods and other protocols than folds, if it is not cached, and if a space of
    the run was deleted.
    """
    if run.method != "knn":
        return None
    settings = read_knn_settings(run.spec)
    if settings.protocol.kind != "folds":
        return None
    try:
        found = WorkspaceComponents(workspace, default_dataset(workspace, run.dataset)).predict_knn(
            settings, pair_ids
        )
    except (NotFound, StateError):
        return None
    if compute:
        return find_null(workspace, found.inputs, found.labels, settings.protocol.k)
    return kept_null(
        workspace,
        content_key(found.inputs, found.labels, settings.protocol.k, N_PERMUTATIONS, SEED),
    )


def kept_vectors(workspace: Workspace, run: Run, pair_ids: Sequence[str]) -> Floats | None:
    """Return the scores of a kNN's run with permuted vectors, of shape (n, 2), if they were
    computed before, else None."""
    null = null_of_run(workspace, run, pair_ids, compute=False)
    return None if null is None else null.values


def control_expression_of(workspace: Workspace, dataset: str) -> pd.DataFrame | None:
    """Return statistics of a dataset's (id) genes in control cells: gene, mean, variance, detected;
    None if it was not made from cells."""
    found = (read(workspace, dataset) for read in hooks("control_expression"))
    return next((genes for genes in found if genes is not None), None)
