"""A start of the transformer scorer from a scGPT checkpoint, of which only the last four layers are
trained.

scGPT adds the normalised embedding of a gene to the embedding of its bin, which two layers compute
from the bin's number. If there is a batch normalisation, it scales the sum. Bins are whole numbers,
so a table of the 51 bins is the same function. Source: Cui et al. 2024 and the names of the weights
in its published checkpoints.
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
from core.features.targets.models.network import N_BINS, Network, NetworkShape

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
