"""The network's arithmetic: controls averaged, genes in parts, and a training that was killed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.cells.simulator import ScreenSettings
from core.errors import InputError
from core.target_ranking.models.base import FitSettings, ranking_model_named
from core.target_ranking.models.network import NetworkShape, encode, load_weights, make_network, score_cells, score_genes
from tests.target_ranking import screens

pytestmark = pytest.mark.torch
CELLS = screens.make_screen(ScreenSettings(150, 40, 6, share_failed_guides=0.0), 0)
OPTIONS = {"epochs": 3, "patience": 3, "tokens": 24, "width": 8, "layers": 1, "batch": 32}


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="torch is not installed: pip install -r requirements-models.txt")


def test_shifts_are_from_the_mean_of_each_cells_own_controls(torch: Any) -> None:
    torch.manual_seed(0)
    network = make_network(torch, NetworkShape(8, 2, 16, 1), 3).eval()
    vectors = network["gene"](torch.randn(5, 3))
    bins, controls = torch.randint(51, (2, 5)), torch.randint(51, (4, 5))
    rows = torch.tensor([[0, 1, 2], [3, 3, 0]])
    with torch.no_grad():
        found = score_cells(torch, network, vectors, bins, (controls, rows))
        for at in range(2):  # one cell at a time, its controls one by one
            cell, gene = encode(torch, network, bins[at : at + 1], vectors)
            own = [encode(torch, network, controls[row : row + 1], vectors) for row in rows[at].tolist()]
            mean_cell, mean_gene = (torch.stack([each[i] for each in own]).mean(dim=0) for i in (0, 1))
            expected = score_genes(torch, network, vectors, cell - mean_cell, gene - mean_gene)
            np.testing.assert_allclose(found[at].numpy(), expected[0].numpy(), atol=1e-5)


def test_weights_of_another_shape_are_refused(torch: Any) -> None:
    with pytest.raises(InputError, match="multiple of 4"):
        NetworkShape(width=30)
    network = make_network(torch, NetworkShape(8, 2, 16, 1), 3)
    with pytest.raises(InputError, match="do not fit"):
        load_weights(torch, network, {"gene.weight": np.zeros((9, 3), np.float32)})


def test_a_killed_training_goes_on_and_ends_the_same(torch: Any, tmp_path: Path) -> None:  # noqa: ARG001
    model = ranking_model_named("transformer")
    whole = model.fit(CELLS, CELLS, FitSettings(OPTIONS), lambda _share, _what: None)

    def stop(share: float, _what: str) -> None:
        if share > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.fit(CELLS, CELLS, FitSettings(OPTIONS, checkpoint=tmp_path), stop)
    told: list[str] = []
    resumed = model.fit(CELLS, CELLS, FitSettings(OPTIONS, checkpoint=tmp_path), lambda _share, what: told.append(what))
    assert [what[:7] for what in told] == ["gene fe", "epoch 3"]
    assert resumed.history.equals(whole.history)
    control = CELLS.x[CELLS.is_control].mean(axis=0)
    assert (resumed.score(CELLS.x[:20], control) == whole.score(CELLS.x[:20], control)).all()
