"""The network of the transformer scorer: tokens of genes through a transformer, and the score of
each gene.

A token is the sum of two vectors, one for a gene and one for its bin of expression. A cell's
sequence starts with an extra token; its output is the cell's embedding. The effect of a
perturbation is the cell's outputs minus the mean of its controls': the shift of the cell and of
each gene. The cell's shift passes through a small head and is multiplied with the gene's vector and
shift; this product, plus a term from the gene's own shift, is the gene's score. Genes share all
weights, so a gene can be ranked even if it was never a target in training. The module torch is an
argument, because it is imported only to train or use a network.

Expression is binned within each cell, so that a token gives the strength of a gene among the cell's
genes, whatever the cell's depth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.base.errors import InputError
from core.base.file_io import read_file
from core.base.records import parse
from core.embeddings.checkpoints import (
    ARGUMENTS,
    CHECKPOINT,
    MAX_VOCABULARY_BYTES,
    SCGPT_KEY,
    VOCABULARY,
    read_tensors,
    read_vocabulary,
)
from core.features.targets.expression import Codes, Expression, MatchedControls

N_BINS: Final = 51  # including bin 0 for a gene that is not expressed, as in scGPT

CELLS_AT_ONCE: Final = 256  # plus their controls, which are encoded again for each block
SHARE_WITHOUT_PRODUCT: Final = 0.5  # share of the examples in training


@dataclass(frozen=True, slots=True)
class NetworkShape:
    """width: of tokens, a multiple of `heads`. hidden: units of the feed-forward layers. dropout:
    between them."""

    width: int = 32
    heads: int = 4
    hidden: int = 64
    layers: int = 2
    dropout: float = 0.1

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise InputError(
                f"transformer: width {self.width}, expected a multiple of {self.heads}, the number"
                " of heads"
            )


class Network:
    """A network with the features of its genes, on the GPU if there is one, otherwise on the
    CPU."""

    def __init__(
        self, torch: Any, shape: NetworkShape, features: NDArray[Any], tokens: int
    ) -> None:
        """Make new weights from torch's generator.

        features: of the genes, of shape (n_genes, n_features). tokens: number of genes that it sees
        at once.
        """
        nn, width = torch.nn, shape.width
        layer = nn.TransformerEncoderLayer(
            width, shape.heads, shape.hidden, shape.dropout, batch_first=True
        )
        # with it, processors compute the whole attention table, which takes three times as long
        layer.self_attn.dropout = 0.0
        parts = {
            "gene": nn.Linear(features.shape[1], width),
            "value": nn.Embedding(N_BINS, width),
            "cell": nn.Embedding(1, width),
            "encoder": nn.TransformerEncoder(layer, shape.layers, enable_nested_tensor=False),
            "head": nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width)),
            "key": nn.Linear(width, width),
            "shift": nn.Linear(width, width, bias=False),
            "own": nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, 1)),
        }
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.torch, self.shape, self.tokens = torch, shape, tokens
        self.module = nn.ModuleDict(parts).to(self.device)
        self.features = torch.as_tensor(np.array(features), device=self.device)

    def score(self, x: Expression, controls: MatchedControls) -> NDArray[np.float64]:
        """Return the score of every gene for every cell, of shape (n_cells, n_genes): log-odds of
        being a target."""
        self.module.eval()
        bins, control_bins = bin_expression(x), bin_expression(controls.cells)
        n_genes = x.shape[1]
        # Neighbouring columns may be similar, so every part is random, but the same each time.
        order = np.random.default_rng(0).permutation(n_genes)
        parts = np.array_split(order, -(-n_genes // self.tokens))
        scores = np.empty(x.shape)
        with self.torch.no_grad():
            for start in range(0, len(x), CELLS_AT_ONCE):
                block = slice(start, start + CELLS_AT_ONCE)
                used, of_cell = np.unique(controls.rows[block], return_inverse=True)
                rows = of_cell.reshape(controls.rows[block].shape)
                for genes in parts:
                    tensor = self.score_cells(
                        bins[block][:, genes], control_bins[used][:, genes], rows, genes
                    )
                    scores[block, genes] = tensor.cpu().numpy()
        return scores

    def score_cells(
        self, bins: NDArray[Any], control_bins: NDArray[Any], rows: Codes, genes: Codes
    ) -> Any:
        """Return a tensor of the scores of the genes at some positions, of shape (n_cells,
        n_genes).

        bins: of cells, of that shape. control_bins: of control cells, of shape (n_controls,
        n_genes). rows: the positions of each cell's controls among them, of shape (n_cells, k).
        """
        codes, of_cell, at = (
            self.torch.as_tensor(array.astype(np.int64), device=self.device)
            for array in (np.concatenate([bins, control_bins]), rows, genes)
        )
        vectors = self.module["gene"](self.features[at])
        cell, gene = self.encode(codes, vectors)
        n = len(bins)
        # The mean over a cell's controls as a product, which avoids an array of (n_cells, k,
        # n_genes, width).
        shares = self.torch.zeros((n, len(control_bins)), device=self.device)
        shares.scatter_add_(
            1, of_cell, self.torch.full(rows.shape, 1 / rows.shape[1], device=self.device)
        )
        mean_gene = (shares @ gene[n:].flatten(1)).unflatten(1, gene.shape[1:])
        return self.score_shifts(vectors, cell[:n] - shares @ cell[n:], gene[:n] - mean_gene)

    def encode(self, bins: Any, vectors: Any) -> tuple[Any, Any]:
        """Return the embeddings of cells, of shape (n_cells, width), and of their genes, of shape
        (n_cells, n_genes, width).

        bins: of shape (n_cells, n_genes). vectors: of the genes, of shape (n_genes, width).
        """
        start = self.module["cell"].weight.expand(len(bins), 1, -1)
        output = self.module["encoder"](
            self.torch.cat((start, vectors + self.module["value"](bins)), dim=1)
        )
        return output[:, 0], output[:, 1:]

    def score_shifts(self, vectors: Any, cell_shift: Any, gene_shift: Any) -> Any:
        """Return the scores of genes, of shape (n_cells, n_genes), from the shifts of cells,
        (n_cells, width), and of genes."""
        part = self.module
        offered = part["key"](vectors) + part["shift"](gene_shift)
        product = (part["head"](cell_shift)[:, None] * offered).sum(dim=2) / vectors.shape[1] ** 0.5
        if part.training:
            # Vectors of genes can memorise the trained targets; without the product, the model must
            # use a gene's own shift.
            product = product * (
                self.torch.rand((len(product), 1), device=self.device) >= SHARE_WITHOUT_PRODUCT
            )
        return product + part["own"](gene_shift).squeeze(2)

    def load_weights(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Set weights from arrays by name; other weights stay the same. Raise InputError for
        unknown weights."""
        try:
            given = {name: self.torch.from_numpy(np.array(array)) for name, array in arrays.items()}
            self.module.load_state_dict(self.module.state_dict() | given)
        except RuntimeError as error:
            raise InputError(
                f"transformer: weights that do not fit the network ({str(error).splitlines()[0]})"
            ) from error

    def weights(self) -> dict[str, Any]:
        """Return copies of the weights by name, as tensors on the CPU."""
        return {name: tensor.cpu().clone() for name, tensor in self.module.state_dict().items()}


def bin_expression(x: Expression, n_bins: int = N_BINS) -> NDArray[np.int16]:
    """Return the bin of each gene in its cell, of shape (n_cells, n_genes): 0 if it is not
    expressed, otherwise 1 to `n_bins` - 1 by its mid-rank among the cell's expressed genes, in bins
    of equal size except for ties.
    """
    from scipy.stats import rankdata

    expressed = x > 0
    n_expressed = expressed.sum(axis=1, keepdims=True)
    ranks = rankdata(np.where(expressed, x, 0), axis=1) - (x.shape[1] - n_expressed)
    share = np.divide(ranks - 0.5, n_expressed, out=np.zeros_like(ranks), where=n_expressed > 0)
    bins = 1 + np.floor(share * (n_bins - 1))
    return np.where(expressed, bins, 0).astype(np.int16)


N_TRAINED_LAYERS: Final = 4  # the last ones
CELL_TOKEN: Final = "<cls>"
_ARGUMENTS: Final = {"width": "embsize", "heads": "nheads", "hidden": "d_hid", "layers": "nlayers"}
_NORM_EPS: Final = 1e-5  # as in torch's layer normalisation
_BATCH_NORM_EPS: Final = 6.1e-5  # as in scGPT's batch normalisation
Floats32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class ScgptStart:
    """The start of a network. features: the genes' vectors, of shape (n_genes, width), 0 for genes
    missing from the checkpoint. weights: of the network, by name, those in the checkpoint.
    """

    shape: NetworkShape
    features: Floats32
    weights: dict[str, NDArray[Any]]
    notes: tuple[str, ...]


def read_start(folder: Path, genes: tuple[str, ...], dropout: float) -> ScgptStart:
    """Return the start from a scGPT checkpoint for some genes.

    Raise the errors of `read_tensors`, and InputError if the checkpoint has none of the genes, or
    lacks a weight or an argument.
    """
    arguments = parse(
        dict[str, Any], read_file(folder / ARGUMENTS, MAX_VOCABULARY_BYTES), ARGUMENTS
    )
    place, tensors = dict(read_vocabulary(folder / VOCABULARY)), read_tensors(folder / CHECKPOINT)
    wrong = [key for key in _ARGUMENTS.values() if type(arguments.get(key)) is not int]
    if wrong:
        raise InputError(
            f"{folder.name}: its arguments lack {', '.join(wrong)}, expected whole numbers"
        )
    sizes: dict[str, int] = {name: arguments[key] for name, key in _ARGUMENTS.items()}
    shape = NetworkShape(**sizes, dropout=dropout)
    try:
        scale, offset = _batch_normalisation(tensors, shape.width)
        # The vector of each bin: linear, ReLU, linear and layer normalisation of the bin's number
        numbers = np.arange(N_BINS, dtype=np.float32)[:, None]
        hidden = np.maximum(
            numbers @ tensors["value_encoder.linear1.weight"].T
            + tensors["value_encoder.linear1.bias"],
            0,
        )
        output = (
            hidden @ tensors["value_encoder.linear2.weight"].T
            + tensors["value_encoder.linear2.bias"]
        )
        values = _normalise(output, tensors, "value_encoder.norm")
        rows = np.array([place[CELL_TOKEN], *(place.get(gene, -1) for gene in genes)])
        vectors = _normalise(tensors[SCGPT_KEY][np.maximum(rows, 0)], tensors, "encoder.enc_norm")
    except (LookupError, ValueError) as error:
        raise InputError(
            f"{folder.name}: is not a complete scGPT checkpoint ({type(error).__name__}: {error})"
        ) from error
    found = rows[1:] >= 0
    features = np.where(found[:, None], vectors[1:], 0) * scale
    # Checkpoints of flash attention name the three projections Wqkv.
    prefix = "transformer_encoder."
    names = {
        name: name.replace(prefix, "encoder.").replace("Wqkv.", "in_proj_")
        for name in tensors
        if name.startswith(prefix)
    }
    weights = {
        "gene.weight": np.eye(shape.width, dtype=np.float32),
        "gene.bias": np.zeros(shape.width, dtype=np.float32),
        "value.weight": (values * scale + offset).astype(np.float32),
        "cell.weight": ((vectors[:1] + values[:1]) * scale + offset).astype(np.float32),
        **{new: tensors[name] for name, new in names.items()},
    }
    if not found.any():
        raise InputError(
            f"{folder.name}: has none of the {len(found):,} genes, expected the symbols of the"
            " cells"
        )
    n_trained = min(N_TRAINED_LAYERS, shape.layers)
    start = (
        f"Started from the scGPT checkpoint {folder.name}; the last {n_trained} of {shape.layers}"
        " layers were trained."
    )
    lacking = (
        f"{int((~found).sum()):,} of {len(found):,} genes are not in the checkpoint and have no"
        " vector of their own."
    )
    return ScgptStart(
        shape, features.astype(np.float32), weights, (start,) if found.all() else (start, lacking)
    )


def freeze(network: Network) -> None:
    """Exclude the tokens and all layers except the last four from training."""
    module = network.module
    for part in (
        module["gene"],
        module["value"],
        module["cell"],
        *module["encoder"].layers[:-N_TRAINED_LAYERS],
    ):
        part.requires_grad_(False)


def _normalise(rows: NDArray[Any], tensors: Mapping[str, NDArray[Any]], name: str) -> Floats32:
    """Return the layer normalisation of rows with the weights of this name."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    scaled = centred / np.sqrt(rows.var(axis=1, keepdims=True) + _NORM_EPS)
    return np.asarray(
        scaled * tensors[f"{name}.weight"] + tensors[f"{name}.bias"], dtype=np.float32
    )


def _batch_normalisation(
    tensors: Mapping[str, NDArray[Any]], width: int
) -> tuple[Floats32, Floats32]:
    """Return the scale and the shift of a token's values, each of shape (width,); 1 and 0 if the
    checkpoint has none."""
    if "bn.weight" not in tensors:
        return np.ones(width, dtype=np.float32), np.zeros(width, dtype=np.float32)
    scale = tensors["bn.weight"] / np.sqrt(tensors["bn.running_var"] + _BATCH_NORM_EPS)
    offset = tensors["bn.bias"] - tensors["bn.running_mean"] * scale
    return scale.astype(np.float32), offset.astype(np.float32)
