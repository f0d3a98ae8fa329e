from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.features.neighbours.result import numbers_of
from core.methods.fusion_components import DatasetPriors
from core.runs import component_loader
from core.runs.component_loader import WorkspaceComponents, default_dataset, find_null, kept_null
from core.runs.workspace import Workspace
from core.transfer.knn_settings import KnnSettings
from core.transfer.permutation_null import permutation_null
from core.transfer.protocols import EvaluationProtocol
from core.transfer.run_cells import cut_values
from tests import worlds

pytestmark = pytest.mark.soak

FOLDS = EvaluationProtocol("folds", 2)


@pytest.fixture
def found(workspace: Workspace) -> DatasetPriors:
    worlds.furnish(workspace)
    return WorkspaceComponents(workspace, default_dataset(workspace, None)).predict_knn(
        KnnSettings(("near",), FOLDS), None
    )


def files(workspace: Workspace) -> list[Path]:
    return sorted((workspace.settings.cache / "permuted").glob("*"))


def test_a_null_is_computed_once(
    workspace: Workspace, found: DatasetPriors, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = numbers_of(workspace, found, FOLDS, 7)
    np.testing.assert_array_equal(
        first.null.values, permutation_null(found.inputs, found.labels, 2, 7).values
    )
    np.testing.assert_allclose(
        first.cuts.all_rows.values, cut_values(found.inputs, found.labels, 2), atol=1e-12
    )
    [kept] = files(workspace)
    monkeypatch.setattr(
        component_loader, "permutation_null", None
    )  # whoever computes one now fails
    again = numbers_of(workspace, found, FOLDS, 7)
    np.testing.assert_array_equal(again.null.values, first.null.values)
    assert files(workspace) == [kept]
    with pytest.raises(TypeError):
        numbers_of(workspace, found, FOLDS, 8)


@pytest.mark.parametrize("content", [b"", b"{", b"\x93NUMPY", b"\x80\x04N."])
def test_a_damaged_file_is_written_anew(
    workspace: Workspace, found: DatasetPriors, content: bytes
) -> None:
    null = find_null(workspace, found.inputs, found.labels, 2, 3)
    [kept] = files(workspace)
    whole = kept.read_bytes()
    kept.write_bytes(content)
    assert kept_null(workspace, kept.stem) is None
    np.testing.assert_array_equal(
        find_null(workspace, found.inputs, found.labels, 2, 3).values, null.values
    )
    assert kept.read_bytes() == whole


def test_only_folds_have_cuts_and_a_null(workspace: Workspace, found: DatasetPriors) -> None:
    assert numbers_of(workspace, found, FOLDS, 0).null is None
    loo = EvaluationProtocol("loo")
    alone = WorkspaceComponents(workspace, default_dataset(workspace, None)).predict_knn(
        KnnSettings(("near",), loo), None
    )
    numbers = numbers_of(workspace, alone, loo)
    assert (numbers.cuts, numbers.null, numbers.test_against_null()) == (None, None, None)
    assert numbers.score is numbers.evaluation.score
    assert numbers.covered is numbers.evaluation.covered
