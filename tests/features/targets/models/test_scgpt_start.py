"""A start from a scGPT checkpoint: the tokens and layers are scGPT's, and all but the last four layers stay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.base.errors import InputError
from core.features.cells.simulator import ScreenSettings
from core.features.targets.models.base import FitSettings, fit_model, load_model
from core.features.targets.models.network import Network, read_start
from tests.features.targets import screens
from tests.features.targets.cases import profile

pytestmark = pytest.mark.torch
WIDTH, LAYERS, GENES = 8, 5, ("G1", "G2", "G3", "G4")
ARGUMENTS = {"embsize": WIDTH, "nheads": 2, "d_hid": 12, "nlayers": LAYERS, "n_bins": 51}


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip(
        "torch", reason="torch is not installed: pip install -r requirements-models.txt"
    )


class Reference:
    """scGPT as its code defines it, by the names of its checkpoint; evaluated without dropout."""

    def __init__(self, torch: Any, genes: tuple[str, ...], *, batch_normalised: bool) -> None:
        torch.manual_seed(0)
        nn = torch.nn
        self.torch, self.rows = (
            torch,
            {name: row for row, name in enumerate(("<pad>", "<cls>", *genes))},
        )
        layer = nn.TransformerEncoderLayer(WIDTH, 2, 12, 0.0, batch_first=True)
        parts = {
            "encoder": nn.ModuleDict(
                {"embedding": nn.Embedding(len(self.rows), WIDTH), "enc_norm": nn.LayerNorm(WIDTH)}
            ),
            "value_encoder": nn.ModuleDict(
                {
                    "linear1": nn.Linear(1, WIDTH),
                    "linear2": nn.Linear(WIDTH, WIDTH),
                    "norm": nn.LayerNorm(WIDTH),
                }
            ),
            "transformer_encoder": nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False),
        }
        if batch_normalised:
            parts["bn"] = nn.BatchNorm1d(WIDTH, eps=6.1e-5)
        self.module = nn.ModuleDict(parts).eval()
        for name, weight in self.module.state_dict().items():  # no layer is left at ones and zeros
            if weight.is_floating_point():
                weight.add_(
                    0.3 * torch.rand(weight.shape)
                    if "var" in name
                    else 0.3 * torch.randn(weight.shape)
                )

    def output(self, bins: Any, genes: tuple[str, ...]) -> Any:
        """The outputs for <cls>, whose value is 0, and for the genes, of shape (n_cells, 1 + n_genes, WIDTH)."""
        torch, part = self.torch, self.module
        rows = torch.tensor([self.rows["<cls>"], *(self.rows[gene] for gene in genes)])
        symbols = part["encoder"]["enc_norm"](part["encoder"]["embedding"](rows))
        values = torch.cat((torch.zeros(len(bins), 1), bins.float()), dim=1)[:, :, None]
        values = part["value_encoder"]["linear2"](
            torch.relu(part["value_encoder"]["linear1"](values))
        )
        tokens = symbols + part["value_encoder"]["norm"](values)
        if "bn" in part:
            tokens = part["bn"](tokens.permute(0, 2, 1)).permute(0, 2, 1)
        return part["transformer_encoder"](tokens)

    def save(self, folder: Path, *, flash: bool = False) -> Path:
        folder.mkdir()
        state = {
            name.replace("in_proj_", "Wqkv.") if flash else name: weight
            for name, weight in self.module.state_dict().items()
        }
        self.torch.save(state, folder / "best_model.pt")
        (folder / "vocab.json").write_text(json.dumps(self.rows))
        (folder / "args.json").write_text(json.dumps(ARGUMENTS))
        return folder


@pytest.mark.parametrize(("batch_normalised", "flash"), [(False, True), (True, False)])
def test_embeddings_equal_scgpts(
    torch: Any, tmp_path: Path, batch_normalised: bool, flash: bool
) -> None:
    reference = Reference(torch, GENES, batch_normalised=batch_normalised)
    start = read_start(reference.save(tmp_path / "scgpt", flash=flash), GENES, 0.0)
    network = Network(torch, start.shape, start.features, len(GENES))
    network.module.eval()
    network.load_weights(start.weights)
    bins = torch.tensor([[0, 1, 50, 7], [3, 0, 0, 20]])
    with torch.no_grad():
        cell, gene = network.encode(bins, network.module["gene"](network.features))
        expected = reference.output(bins, GENES)
    np.testing.assert_allclose(cell.numpy(), expected[:, 0].numpy(), atol=2e-5)
    np.testing.assert_allclose(gene.numpy(), expected[:, 1:].numpy(), atol=2e-5)


def test_genes_without_a_vector_are_noted_and_other_files_refused(
    torch: Any, tmp_path: Path
) -> None:
    folder = Reference(torch, GENES, batch_normalised=False).save(tmp_path / "scgpt")
    start = read_start(folder, ("G1", "other"), 0.0)
    assert (
        start.notes[1] == "1 of 2 genes are not in the checkpoint and have no vector of their own."
    )
    assert not start.features[1].any()
    with pytest.raises(InputError, match="none of the 1 genes"):
        read_start(folder, ("other",), 0.0)
    (folder / "args.json").write_text(json.dumps(ARGUMENTS | {"nheads": "2"}))
    with pytest.raises(InputError, match="its arguments lack nheads"):
        read_start(folder, GENES, 0.0)
    (folder / "args.json").write_text(json.dumps(ARGUMENTS))
    torch.save({"encoder.embedding.weight": torch.ones(6, WIDTH)}, folder / "best_model.pt")
    with pytest.raises(InputError, match="not a complete scGPT checkpoint"):
        read_start(folder, GENES, 0.0)


def test_all_but_the_last_four_layers_stay(torch: Any, tmp_path: Path) -> None:
    cells = screens.make_screen(ScreenSettings(120, 30, 6, share_failed_guides=0.0), 0)
    folder = Reference(torch, cells.genes, batch_normalised=False).save(tmp_path / "scgpt")
    before = read_start(folder, cells.genes, 0.1).weights
    settings = FitSettings({"scgpt": str(folder), "epochs": 1, "tokens": 30})
    model = fit_model("transformer", cells, cells, settings)
    assert (
        model.notes[0]
        == "Started from the scGPT checkpoint scgpt; the last 4 of 5 layers were trained."
    )
    model.save(tmp_path / "model")
    control = profile(cells.x[0], 5)
    assert (
        load_model(tmp_path / "model").score(cells.x[:5], control)
        == model.score(cells.x[:5], control)
    ).all()
    after = model.arrays
    stayed = {
        name for name, array in before.items() if np.array_equal(after[f"weight.{name}"], array)
    }
    assert {
        name.split(".")[2] for name in before if name.startswith("encoder.") and name not in stayed
    } == {"1", "2", "3", "4"}
    assert {name for name in before if name.startswith("encoder.layers.0.")} <= stayed
    assert {"gene.weight", "gene.bias", "value.weight", "cell.weight"} <= stayed
