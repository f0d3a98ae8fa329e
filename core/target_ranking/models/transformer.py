"""transformer: a transformer over tokens of binned expression, which also ranks genes that were never targets in training."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.fields.option import Option
from core.packages import require_package
from core.target_ranking.controls import Control, as_matched
from core.target_ranking.expression import Expression, ExpressionSet
from core.target_ranking.models.base import REQUIREMENTS, FitSettings, RankingModel, Report, Scores, check_columns, options_of
from core.target_ranking.models.gene_features import make_gene_features
from core.target_ranking.models.network import NetworkShape, load_weights, make_network, weights_of
from core.target_ranking.models.saved_model import SavedModel, read_model, write_model
from core.target_ranking.models.scgpt_start import freeze, read_start
from core.target_ranking.models.training_cells import notes_on_controls, take_perturbed, take_validation
from core.target_ranking.models.transformer_learner import LearnerOptions, Network, TransformerLearner
from core.target_ranking.training import TrainingPlan, train_epochs

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
        """The network's scores: log-odds of being a target."""
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
        Option("epochs", "int", 8, "How often each training cell is seen, at most.", least=1, most=10_000),
        Option("patience", "int", 3, "Epochs without a better validation MRR after which training stops.", least=1),
        Option("batch", "int", 48, "Cells of a step.", least=1, most=4096),
        Option("tokens", "int", 128, "Genes that the network sees at once.", least=8, most=8192),
        Option("learning_rate", "float", 2e-3, "Of the optimizer.", least=1e-7, most=1),
        Option("width", "int", 32, "Numbers of a token, a multiple of the heads.", least=1, most=4096),
        Option("layers", "int", 2, "Layers of the transformer.", least=1, most=64),
        Option("heads", "int", 4, "Heads of a layer.", least=1, most=64),
        Option("dropout", "float", 0.1, "Share of a layer's outputs that is left out in training.", least=0, most=0.9),
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
    """The network before training, and notes on what it starts from: a scGPT checkpoint, or new weights."""
    if options["scgpt"]:
        start = read_start(Path(options["scgpt"]), train.genes, options["dropout"])
        network = _place(torch, start.shape, start.features, options["tokens"])
        load_weights(torch, network.module, start.weights)
        freeze(network.module, start.shape.layers)
        return network, start.shape, start.notes
    shape = NetworkShape(options["width"], options["heads"], 2 * options["width"], options["layers"], options["dropout"])
    return _place(torch, shape, make_gene_features(train, seed), options["tokens"]), shape, ()


def _place(torch: Any, shape: NetworkShape, features: NDArray[np.float32], tokens: int) -> Network:
    """A network with new weights on the GPU if there is one, otherwise on processors."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    module = make_network(torch, shape, features.shape[1]).to(device)
    return Network(torch, module, torch.as_tensor(np.array(features), device=device), tokens)


def _identity(train: ExpressionSet, validation: ExpressionSet, options: dict[str, Any]) -> str:
    """The SHA-256 of the options and of the cells that a network is trained and validated on."""
    digest = hashlib.sha256(json.dumps(options, sort_keys=True).encode())
    for cells in (train, validation):
        digest.update("\n".join([*cells.genes, *cells.conditions.tolist(), *cells.batches.tolist()]).encode())
        digest.update(np.ascontiguousarray(cells.x).data)
    return digest.hexdigest()


MODEL: RankingModel = Transformer()
