"""The network of the transformer scorer: tokens of genes through a transformer, and the score of each gene.

A token is the sum of two vectors, one for a gene and one for its bin of expression. A cell's sequence starts with an extra
token; its output is the cell's embedding. The effect of a perturbation is the cell's outputs minus the mean of its controls':
the shift of the cell and of each gene. The cell's shift passes through a small head and is multiplied with the gene's vector
and shift; this product, plus a term from the gene's own shift, is the gene's score. Genes share all weights, so a gene can be
ranked even if it was never a target in training. The module torch is an argument of every function, because it is imported only
to train or use a network.

Expression is binned within each cell, so that a token gives the strength of a gene among the cell's genes, whatever the cell's
depth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError
from core.target_ranking.expression import Expression

N_BINS: Final = 51  # including bin 0 for a gene that is not expressed, as in scGPT


SHARE_WITHOUT_PRODUCT: Final = 0.5  # share of the examples in training


@dataclass(frozen=True, slots=True)
class NetworkShape:
    """width: of tokens, a multiple of `heads`. hidden: units of the feed-forward layers. dropout: between them."""

    width: int = 32
    heads: int = 4
    hidden: int = 64
    layers: int = 2
    dropout: float = 0.1

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise InputError(f"transformer: width {self.width}, expected a multiple of {self.heads}, the number of heads")


def make_network(torch: Any, shape: NetworkShape, n_features: int) -> Any:
    """Return a network with weights from torch's generator; genes have `n_features` features."""
    nn = torch.nn
    width = shape.width
    layer = nn.TransformerEncoderLayer(width, shape.heads, shape.hidden, shape.dropout, batch_first=True)
    layer.self_attn.dropout = 0.0  # with dropout, processors compute the whole attention table, which takes three times as long
    parts = {
        "gene": nn.Linear(n_features, width),
        "value": nn.Embedding(N_BINS, width),
        "cell": nn.Embedding(1, width),
        "encoder": nn.TransformerEncoder(layer, shape.layers, enable_nested_tensor=False),
        "head": nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width)),
        "key": nn.Linear(width, width),
        "shift": nn.Linear(width, width, bias=False),
        "own": nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, 1)),
    }
    return nn.ModuleDict(parts)


def encode(torch: Any, network: Any, bins: Any, vectors: Any) -> tuple[Any, Any]:
    """Return the embeddings of cells, of shape (n_cells, width), and of their genes, of shape (n_cells, n_genes, width).

    bins: of shape (n_cells, n_genes). vectors: of the genes, of shape (n_genes, width).
    """
    tokens = vectors + network["value"](bins)
    start = network["cell"].weight.expand(len(bins), 1, -1)
    output = network["encoder"](torch.cat((start, tokens), dim=1))
    return output[:, 0], output[:, 1:]


def score_genes(torch: Any, network: Any, vectors: Any, cell_shift: Any, gene_shift: Any) -> Any:
    """Return the scores of genes, of shape (n_cells, n_genes), from the shifts of cells, (n_cells, width), and of genes."""
    asked = network["head"](cell_shift)[:, None]
    offered = network["key"](vectors) + network["shift"](gene_shift)
    product = (asked * offered).sum(dim=2) / vectors.shape[1] ** 0.5
    if network.training:
        # Vectors of genes can memorise the trained targets; without the product, the model must use a gene's own shift.
        product = product * (torch.rand((len(product), 1), device=product.device) >= SHARE_WITHOUT_PRODUCT)
    return product + network["own"](gene_shift).squeeze(2)


def score_cells(torch: Any, network: Any, vectors: Any, bins: Any, controls: tuple[Any, Any]) -> Any:
    """Return the scores of genes for cells with their controls, of shape (n_cells, n_genes).

    bins: of shape (n_cells, n_genes). controls: the bins of control cells, of shape (n_controls, n_genes), and the positions of
    each cell's controls among them, of shape (n_cells, k).
    """
    control_bins, rows = controls
    cell, gene = encode(torch, network, torch.cat((bins, control_bins)), vectors)
    n = len(bins)
    # The mean over a cell's controls as a product, which avoids an array of (n_cells, k, n_genes, width).
    shares = torch.zeros((n, len(control_bins)), device=bins.device)
    shares.scatter_add_(1, rows, torch.full(rows.shape, 1 / rows.shape[1], device=bins.device))
    mean_gene = (shares @ gene[n:].flatten(1)).unflatten(1, gene.shape[1:])
    return score_genes(torch, network, vectors, cell[:n] - shares @ cell[n:], gene[:n] - mean_gene)


def load_weights(torch: Any, network: Any, arrays: dict[str, NDArray[Any]]) -> None:
    """Set weights of a network from arrays by name; other weights stay the same. Raise InputError for unknown weights."""
    try:
        given = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
        network.load_state_dict(network.state_dict() | given)
    except RuntimeError as error:
        raise InputError(f"transformer: weights that do not fit the network ({str(error).splitlines()[0]})") from error


def weights_of(network: Any) -> dict[str, NDArray[Any]]:
    """Return a network's weights as arrays by name."""
    return {name: np.array(tensor.detach().cpu().numpy()) for name, tensor in network.state_dict().items()}


def bin_expression(x: Expression, n_bins: int = N_BINS) -> NDArray[np.int16]:
    """Return the bin of each gene in its cell, of shape (n_cells, n_genes): 0 if it is not expressed, otherwise 1 to `n_bins` -
    1 by its mid-rank among the cell's expressed genes, in bins of equal size except for ties.
    """
    from scipy.stats import rankdata

    expressed = x > 0
    n_expressed = expressed.sum(axis=1, keepdims=True)
    ranks = rankdata(np.where(expressed, x, 0), axis=1) - (x.shape[1] - n_expressed)
    share = np.divide(ranks - 0.5, n_expressed, out=np.zeros_like(ranks), where=n_expressed > 0)
    bins = 1 + np.floor(share * (n_bins - 1))
    return np.where(expressed, bins, 0).astype(np.int16)
