"""transformer: a transformer over tokens of binned expression. It also ranks genes that were never targets in training.

Features of a gene describe how it varies with other genes, whether or not it has a training perturbation. A learned vector of a
gene that was never a target would only encode this fact.

The scorer can start from a scGPT checkpoint; only its last four layers are then trained.

scGPT adds the normalised embedding of a gene to the embedding of its bin, which two layers compute from the bin's number. If
there is a batch normalisation, it scales the sum. Bins are whole numbers, so a table of the 51 bins is the same function.
Source: Cui et al. 2024 and the names of the weights in its published checkpoints.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.embeddings.checkpoints import SCGPT_KEY, read_scgpt_model
from core.errors import InputError
from core.fields.option import Option
from core.packages import require_package
from core.target_ranking.controls import Control, as_matched
from core.target_ranking.expression import Expression, ExpressionSet
from core.target_ranking.models.base import REQUIREMENTS, FitSettings, RankingModel, Report, Scores, check_columns, options_of
from core.target_ranking.models.network import N_BINS, NetworkShape, load_weights, make_network, weights_of
from core.target_ranking.models.saved_model import SavedModel, read_model, write_model
from core.target_ranking.models.training_cells import notes_on_controls, take_perturbed, take_validation
from core.target_ranking.models.transformer_learner import LearnerOptions, Network, TransformerLearner
from core.target_ranking.training import TrainingPlan, train_epochs

N_TRAINED_LAYERS: Final = 4  # the last ones
CELL_TOKEN: Final = "<cls>"
_ARGUMENTS: Final = {"width": "embsize", "heads": "nheads", "hidden": "d_hid", "layers": "nlayers"}
_NORM_EPS: Final = 1e-5  # as in torch's layer normalisation
_BATCH_NORM_EPS: Final = 6.1e-5  # as in scGPT's batch normalisation
Floats32 = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class ScgptStart:
    """The start of a network. features: the genes' vectors, of shape (n_genes, width), 0 for genes missing from the checkpoint.
    weights: of the network, by name, those in the checkpoint.
    """

    shape: NetworkShape
    features: Floats32
    weights: dict[str, NDArray[Any]]
    notes: tuple[str, ...]


N_COMPONENTS: Final = 32
NAME: Final = "transformer"
_WEIGHT: Final = "weight."


@dataclass(frozen=True, slots=True, eq=False)
class FittedTransformer:
    """A trained network. See `FittedModel`."""

    genes: tuple[str, ...]
    network: Network
    shape: NetworkShape
    history: pd.DataFrame
    notes: tuple[str, ...] = ()
    name: str = NAME

    @property
    def rankable(self) -> NDArray[np.bool_]:
        return np.ones(len(self.genes), dtype=np.bool_)

    def score(self, x: Expression, control: Control) -> Scores:
        """Return the network's scores: log-odds of being a target."""
        check_columns(self, x)
        return self.network.score(x, as_matched(control, len(x)))

    def save(self, folder: Path) -> None:
        arrays = {f"{_WEIGHT}{name}": array for name, array in weights_of(self.network.module).items()}
        arrays["features"] = self.network.features.cpu().numpy()
        facts = {"shape": asdict(self.shape), "tokens": self.network.tokens}
        write_model(folder, SavedModel(NAME, self.genes, facts, arrays, self.history, self.notes))


class Transformer:
    """The transformer scorer (torch)."""

    name = NAME
    packages = ("torch",)  # beyond the app's
    about = "A transformer over tokens of binned expression (torch); it also ranks genes that were never targets in training."
    options: tuple[Option, ...] = (
        Option("epochs", "int", 8, "The most times that each training cell is seen.", least=1, most=10_000),
        Option("patience", "int", 3, "Training stops after this many epochs without a better validation MRR.", least=1),
        Option("batch", "int", 48, "Cells of a step.", least=1, most=4096),
        Option("tokens", "int", 128, "Number of genes that the network sees at once.", least=8, most=8192),
        Option("learning_rate", "float", 2e-3, "Of the optimizer.", least=1e-7, most=1),
        Option("width", "int", 32, "Width of a token, a multiple of the heads.", least=1, most=4096),
        Option("layers", "int", 2, "Number of layers of the transformer.", least=1, most=64),
        Option("heads", "int", 4, "Heads of a layer.", least=1, most=64),
        Option("dropout", "float", 0.1, "Share of a layer's outputs to drop in training.", least=0, most=0.9),
        Option("scgpt", "text", "", "The folder of a scGPT checkpoint to start from, which sets width, layers and heads."),
    )

    def fit(self, train: ExpressionSet, validation: ExpressionSet, settings: FitSettings, report: Report) -> FittedTransformer:
        """See `RankingModel`."""
        torch = require_package("torch", "the transformer scorer", REQUIREMENTS)
        options = options_of(self, settings)
        rng = np.random.default_rng(settings.seed)
        cells = take_perturbed(train, train, rng, "training")
        held_out = take_validation(validation, train, rng)
        report(0.0, "gene features")
        plan = TrainingPlan(
            options["epochs"], options["patience"], _identity(train, validation, options | {"seed": settings.seed})
        )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            network, shape, notes = _start(torch, train, options, settings.seed)
            own = LearnerOptions(options["batch"], options["tokens"], options["learning_rate"])
            learner = TransformerLearner(network, cells, held_out, own)
            history = train_epochs(learner, plan, rng, settings.checkpoint, report)
        return FittedTransformer(train.genes, network, shape, history, (*notes, *notes_on_controls(cells)))

    def load(self, folder: Path) -> FittedTransformer:
        """See `RankingModel`."""
        torch = require_package("torch", "the transformer scorer", REQUIREMENTS)
        saved = read_model(folder, NAME)
        shape = NetworkShape(**saved.facts["shape"])
        with torch.random.fork_rng(devices=[]):
            network = _place(torch, shape, saved.arrays["features"], saved.facts["tokens"])
        weights = {name.removeprefix(_WEIGHT): array for name, array in saved.arrays.items() if name.startswith(_WEIGHT)}
        load_weights(torch, network.module, weights)
        return FittedTransformer(saved.genes, network, shape, saved.history, saved.notes)


def _start(torch: Any, train: ExpressionSet, options: dict[str, Any], seed: int) -> tuple[Network, NetworkShape, tuple[str, ...]]:
    """Return the network before training, and notes on its start: a scGPT checkpoint, or new weights."""
    if options["scgpt"]:
        start = read_start(Path(options["scgpt"]), train.genes, options["dropout"])
        network = _place(torch, start.shape, start.features, options["tokens"])
        load_weights(torch, network.module, start.weights)
        freeze(network.module, start.shape.layers)
        return network, start.shape, start.notes
    shape = NetworkShape(options["width"], options["heads"], 2 * options["width"], options["layers"], options["dropout"])
    return _place(torch, shape, make_gene_features(train, seed), options["tokens"]), shape, ()


def _place(torch: Any, shape: NetworkShape, features: NDArray[np.float32], tokens: int) -> Network:
    """Return a network with new weights, on the GPU if there is one, otherwise on the CPU."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    module = make_network(torch, shape, features.shape[1]).to(device)
    return Network(torch, module, torch.as_tensor(np.array(features), device=device), tokens)


def _identity(train: ExpressionSet, validation: ExpressionSet, options: dict[str, Any]) -> str:
    """Return the SHA-256 of the options and of the training and validation cells."""
    digest = hashlib.sha256(json.dumps(options, sort_keys=True).encode())
    for cells in (train, validation):
        digest.update("\n".join([*cells.genes, *cells.conditions.tolist(), *cells.batches.tolist()]).encode())
        digest.update(np.ascontiguousarray(cells.x).data)
    return digest.hexdigest()


MODEL: RankingModel = Transformer()


def make_gene_features(train: ExpressionSet, seed: int) -> NDArray[np.float32]:
    """Return features of shape (n_genes, n_features): loadings on the first principal components of the training cells (with
    standardised genes), the mean expression, and the share of cells that express the gene. Each column is standardised.
    """
    from sklearn.decomposition import PCA  # imported here because few processes train a model

    spread = train.x.std(axis=0)
    standardised = np.divide(train.x - train.x.mean(axis=0), spread, out=np.zeros_like(train.x), where=spread > 0)
    pca = PCA(min(N_COMPONENTS, *standardised.shape), svd_solver="randomized", random_state=seed).fit(standardised)
    features = np.column_stack([pca.components_.T, train.x.mean(axis=0), (train.x > 0).mean(axis=0)])
    scale = features.std(axis=0)
    scaled = np.divide(features - features.mean(axis=0), scale, out=np.zeros_like(features), where=scale > 0)
    return np.asarray(scaled, dtype=np.float32)


def read_start(folder: Path, genes: tuple[str, ...], dropout: float) -> ScgptStart:
    """Return the start from a scGPT checkpoint for some genes.

    Raise the errors of `read_scgpt_model`, and InputError if the checkpoint has none of the genes, or lacks a weight or an
    argument.
    """
    model = read_scgpt_model(folder)
    wrong = [key for key in _ARGUMENTS.values() if type(model.arguments.get(key)) is not int]
    if wrong:
        raise InputError(f"{folder.name}: its arguments lack {', '.join(wrong)}, expected whole numbers")
    sizes: dict[str, int] = {name: model.arguments[key] for name, key in _ARGUMENTS.items()}
    shape = NetworkShape(**sizes, dropout=dropout)
    try:
        scale, offset = _batch_normalisation(model.tensors, shape.width)
        values = _value_vectors(model.tensors)
        # The normalised embedding of each gene (0 without one), and flags of the genes with one
        rows = np.array([model.rows.get(gene, -1) for gene in genes])
        vectors = _normalise(model.tensors[SCGPT_KEY][np.maximum(rows, 0)], model.tensors, "encoder.enc_norm")
        features, found = np.where(rows[:, None] >= 0, vectors, 0).astype(np.float32), rows >= 0
        cell = _normalise(model.tensors[SCGPT_KEY][model.rows[CELL_TOKEN]][None], model.tensors, "encoder.enc_norm")
    except (LookupError, ValueError) as error:
        raise InputError(f"{folder.name}: is not a complete scGPT checkpoint ({type(error).__name__}: {error})") from error
    weights = {
        "gene.weight": np.eye(shape.width, dtype=np.float32),
        "gene.bias": np.zeros(shape.width, dtype=np.float32),
        "value.weight": (values * scale + offset).astype(np.float32),
        "cell.weight": ((cell + values[:1]) * scale + offset).astype(np.float32),
        **_layers(model.tensors),
    }
    return ScgptStart(shape, (features * scale).astype(np.float32), weights, _notes(folder, found, shape))


def freeze(module: Any, n_layers: int) -> None:
    """Exclude the tokens and all layers except the last four from training."""
    frozen = [module["gene"], module["value"], module["cell"], *module["encoder"].layers[: max(n_layers - N_TRAINED_LAYERS, 0)]]
    for part in frozen:
        for weight in part.parameters():
            weight.requires_grad = False


def _notes(folder: Path, found: NDArray[np.bool_], shape: NetworkShape) -> tuple[str, ...]:
    if not found.any():
        raise InputError(f"{folder.name}: has none of the {len(found):,} genes, expected the symbols of the cells")
    n_trained = min(N_TRAINED_LAYERS, shape.layers)
    start = f"Started from the scGPT checkpoint {folder.name}; the last {n_trained} of {shape.layers} layers were trained."
    lacking = f"{int((~found).sum()):,} of {len(found):,} genes are not in the checkpoint and have no vector of their own."
    return (start,) if found.all() else (start, lacking)


def _value_vectors(tensors: Mapping[str, NDArray[Any]]) -> Floats32:
    """Return the vector of each bin, of shape (N_BINS, width): linear, ReLU, linear and layer normalisation of the bin's
    number.
    """
    name = "value_encoder"
    hidden = np.arange(N_BINS, dtype=np.float32)[:, None] @ tensors[f"{name}.linear1.weight"].T + tensors[f"{name}.linear1.bias"]
    output = np.maximum(hidden, 0) @ tensors[f"{name}.linear2.weight"].T + tensors[f"{name}.linear2.bias"]
    return _normalise(output, tensors, f"{name}.norm")


def _normalise(rows: NDArray[Any], tensors: Mapping[str, NDArray[Any]], name: str) -> Floats32:
    """Return the layer normalisation of rows with the weights of this name."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    scaled = centred / np.sqrt(rows.var(axis=1, keepdims=True) + _NORM_EPS)
    return np.asarray(scaled * tensors[f"{name}.weight"] + tensors[f"{name}.bias"], dtype=np.float32)


def _batch_normalisation(tensors: Mapping[str, NDArray[Any]], width: int) -> tuple[Floats32, Floats32]:
    """Return the scale and the shift of a token's values, each of shape (width,); 1 and 0 if the checkpoint has none."""
    if "bn.weight" not in tensors:
        return np.ones(width, dtype=np.float32), np.zeros(width, dtype=np.float32)
    scale = tensors["bn.weight"] / np.sqrt(tensors["bn.running_var"] + _BATCH_NORM_EPS)
    offset = tensors["bn.bias"] - tensors["bn.running_mean"] * scale
    return scale.astype(np.float32), offset.astype(np.float32)


def _layers(tensors: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the weights of the layers. Checkpoints of flash attention name the three projections Wqkv."""
    prefix = "transformer_encoder."
    names = {name: name.replace(prefix, "encoder.").replace("Wqkv.", "in_proj_") for name in tensors if name.startswith(prefix)}
    return {new: tensors[name] for name, new in names.items()}
