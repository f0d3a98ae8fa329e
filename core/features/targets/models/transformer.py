"""transformer: a transformer over tokens of binned expression. It also ranks genes that were never
targets in training.

Features of a gene describe how it varies with other genes, whether or not it has a training
perturbation. A learned vector of a gene that was never a target would only encode this fact.

The loss is 0.7 · mean softplus(negative − positive) over the pairs of a cell, + 0.1 · mean binary
cross-entropy of the sigmoid over its positives and the same negatives. In the second term, the
weight of a positive is the number of negatives per positive, at most 50. Both are averaged over
cells. Source: docs/target_ranking.md, which has the published settings. The start from a scGPT
checkpoint is in `scgpt`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import pandas as pd
from annotated_types import Ge, Le
from numpy.typing import NDArray

from core.base.errors import require_package
from core.base.fields.setting import Count, setting
from core.features.targets.expression import N_MATCHED, Codes, Expression, ExpressionSet, Flags
from core.features.targets.metrics import mean_reciprocal_rank
from core.features.targets.models.base import (
    REQUIREMENTS,
    Examples,
    FitSettings,
    FittedModel,
    RankingModel,
    Report,
    Scorer,
)
from core.features.targets.models.network import (
    Network,
    NetworkShape,
    bin_expression,
    freeze,
    read_start,
)

PAIR_WEIGHT: Final = 0.7
POINT_WEIGHT: Final = 0.1
MAX_POSITIVE_WEIGHT: Final = 50.0
MAX_GRADIENT: Final = 1.0
N_NEGATIVES: Final = 64  # of a cell
N_HARD: Final = 3  # 5% of them: the top-scored of N_CANDIDATES random genes
N_CANDIDATES: Final = 128
MAX_VALIDATED: Final = 256  # cells; the averages of all conditions are also ranked
# cells averaged in an example: people rank genes for cells and for averages
AVERAGED: Final = (1, 4, 16)
WEIGHT_DECAY: Final = 0.01
N_COMPONENTS: Final = 32
WEIGHT: Final = "weight."


class _Learner:
    """A network in training."""

    def __init__(self, network: Network, examples: Examples, options: Mapping[str, Any]) -> None:
        torch, cells, held_out = network.torch, examples.fitted, examples.chosen_on
        self.network, self.cells, self.options = network, cells, options
        self.trained = [weight for weight in network.module.parameters() if weight.requires_grad]
        self.optimizer = torch.optim.AdamW(
            self.trained, lr=options["learning_rate"], weight_decay=WEIGHT_DECAY
        )
        n_validated = min(MAX_VALIDATED, len(held_out.x))
        chosen = np.linspace(0, len(held_out.x) - 1, n_validated).astype(np.intp)
        self.validated = (held_out.take(chosen), held_out.average(by_batch=True))
        _, self.batch_of = np.unique(cells.batches, return_inverse=True)
        # alike cells of each cell
        self.members = {row: group for group in cells.groups(by_batch=True) for row in group}
        self.controls = [
            np.unique(cells.controls.rows[self.batch_of == batch])
            for batch in range(self.batch_of.max() + 1)
        ]

    def train(self, rng: np.random.Generator, report: Report) -> pd.DataFrame:
        """Train until `patience` epochs bring no better validation MRR, leave the network with its
        best weights, and return epoch, train_loss and validation_mrr."""
        epochs, history, best_mrr, best_at = self.options["epochs"], [], -math.inf, 0
        best: Mapping[str, Any] = {}
        for epoch in range(1, epochs + 1):
            loss, mrr = self.train_epoch(rng), self.validate()
            history.append((float(epoch), loss, mrr))
            if mrr > best_mrr:
                best, best_mrr, best_at = self.network.weights(), mrr, epoch
            report(epoch / epochs, f"epoch {epoch}: loss {loss:.3f}, validation MRR {mrr:.3f}")
            if epoch - best_at >= self.options["patience"]:
                break
        self.network.module.load_state_dict(best)
        return pd.DataFrame(history, columns=["epoch", "train_loss", "validation_mrr"])

    def train_epoch(self, rng: np.random.Generator) -> float:
        """Train on one example for each training cell, and return the mean loss."""
        self.network.module.train()
        losses = [self._step(batch, rows, rng) for batch, rows in self._minibatches(rng)]
        return float(np.mean(losses))

    def validate(self) -> float:
        """Return the mean MRR over validation cells and averaged conditions; each kind counts
        half."""
        genes = np.arange(self.cells.x.shape[1])
        scored = ((self.network.score(part.x, part.controls), part) for part in self.validated)
        return float(
            np.mean([mean_reciprocal_rank(scores, genes, part) for scores, part in scored])
        )

    def _minibatches(self, rng: np.random.Generator) -> Iterator[tuple[int, Codes]]:
        """Yield groups of rows from one batch of the screen, which share controls; all rows once,
        in random order."""
        order = rng.permutation(len(self.cells.x))
        parts = [
            (batch, rows[start : start + self.options["batch"]])
            for batch in range(len(self.controls))
            for rows in [order[self.batch_of[order] == batch]]
            for start in range(0, len(rows), self.options["batch"])
        ]
        for at in rng.permutation(len(parts)):
            yield parts[at]

    def _step(self, batch: int, rows: Codes, rng: np.random.Generator) -> float:
        """Do one optimizer step on the examples that start from some rows, and return their
        loss."""
        torch, n_averaged = self.network.torch, int(rng.choice(AVERAGED))
        targets = self.cells.targets[rows]
        needed = np.flatnonzero(targets.any(axis=0))
        others = rng.permutation(np.flatnonzero(~targets.any(axis=0)))
        genes = np.concatenate(
            [needed, others[: max(self.options["tokens"] - len(needed), len(needed))]]
        )
        x = _average(self.cells.x, [_draw(self.members[row], n_averaged, rng, row) for row in rows])
        controls = self.controls[batch]
        drawn = [_draw(controls, n_averaged, rng) for _ in range(N_MATCHED)]
        control_bins = bin_expression(_average(self.cells.controls.cells, drawn))[:, genes]
        shared = np.broadcast_to(np.arange(N_MATCHED), (len(rows), N_MATCHED))
        scores = self.network.score_cells(bin_expression(x)[:, genes], control_bins, shared, genes)
        positive = targets[:, genes]
        negative = sample_negatives(scores.detach().cpu().numpy(), positive, rng)
        flags = (torch.as_tensor(each, device=scores.device) for each in (positive, negative))
        loss = ranking_loss(torch, scores, *flags)
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.trained, MAX_GRADIENT)
        self.optimizer.step()
        return float(loss.item())


def _draw(members: Codes, n: int, rng: np.random.Generator, first: int | None = None) -> Codes:
    """Return n random members, or all if there are fewer; `first`, if given, is among them."""
    drawn = rng.permutation(members)[:n] if n > 1 or first is None else members[:0]
    return (
        drawn
        if first is None
        else np.concatenate([[first], drawn[drawn != first][: n - 1]]).astype(np.intp)
    )


def _average(x: Expression, groups: list[Codes]) -> Expression:
    """Return the mean expression of each group of rows, of shape (n_groups, n_genes)."""
    return np.stack([x[group].mean(axis=0) for group in groups])


def sample_negatives(scores: NDArray[Any], positive: Flags, rng: np.random.Generator) -> Flags:
    """Return flags of each cell's negatives, of shape (n_cells, n_genes), like `scores` and
    `positive` (flags of targets).

    Hard negatives are the best-scored of N_CANDIDATES random non-targets; the others are drawn from
    the remaining non-targets. A cell with too few non-targets gets all of them.
    """
    candidate = _draw_genes(~positive, np.full(len(scores), N_CANDIDATES), rng)
    best_first = np.argsort(-np.where(candidate, scores, -np.inf), axis=1, kind="stable")
    hard = np.asarray(candidate & (np.argsort(best_first, axis=1) < N_HARD))
    others = _draw_genes(~positive & ~hard, N_NEGATIVES - hard.sum(axis=1), rng)
    return np.asarray(hard | others)


def _draw_genes(allowed: Flags, n_wanted: NDArray[np.intp], rng: np.random.Generator) -> Flags:
    """Return flags of random genes of each cell among the allowed ones, or of all if there are too
    few. n_wanted: their number, of shape (n_cells,)."""
    keys = np.where(allowed, rng.random(allowed.shape), np.inf)
    places = np.argsort(np.argsort(keys, axis=1), axis=1)
    return np.asarray(allowed & (places < n_wanted[:, None]))


def ranking_loss(torch: Any, scores: Any, positive: Any, negative: Any) -> Any:
    """Return the loss of cells, a scalar tensor.

    scores: of shape (n_cells, n_genes). positive, negative: flags of the same shape; every cell
    needs at least one of each.
    """
    n_positive, n_negative = positive.sum(dim=1), negative.sum(dim=1)
    softplus = torch.nn.functional.softplus
    # Only the few targets of each cell, which avoids a table of pairs of shape (n_genes, n_genes).
    cell, target = positive.nonzero(as_tuple=True)
    differences = softplus(scores[cell] - scores[cell, target][:, None]) * negative[cell]
    of_target = differences.sum(dim=1) / (n_negative * n_positive)[cell]
    pair = of_target.sum() / len(scores)
    weight = (n_negative / n_positive).clamp(max=MAX_POSITIVE_WEIGHT)
    # −log σ(s) = softplus(−s) for a target, −log(1 − σ(s)) = softplus(s) for another gene
    entropy = positive * softplus(-scores) * weight[:, None] + negative * softplus(scores)
    point = (entropy.sum(dim=1) / (n_positive + n_negative)).mean()
    return PAIR_WEIGHT * pair + POINT_WEIGHT * point


def make_gene_features(train: ExpressionSet, seed: int) -> NDArray[np.float32]:
    """Return features of shape (n_genes, n_features): loadings on the first principal components of
    the training cells (with standardised genes), the mean expression, and the share of cells that
    express the gene. Each column is standardised.
    """
    from sklearn.decomposition import PCA  # imported here because few processes train a model

    standardised = _standardise(train.x)
    pca = PCA(
        min(N_COMPONENTS, *standardised.shape), svd_solver="randomized", random_state=seed
    ).fit(standardised)
    features = np.column_stack(
        [pca.components_.T, train.x.mean(axis=0), (train.x > 0).mean(axis=0)]
    )
    return _standardise(features)


def _standardise(x: NDArray[Any]) -> NDArray[np.float32]:
    """Return columns of mean 0 and standard deviation 1; a constant column is 0."""
    spread = x.std(axis=0)
    scaled = np.divide(x - x.mean(axis=0), spread, out=np.zeros_like(x), where=spread > 0)
    return np.asarray(scaled, dtype=np.float32)


def fit(
    examples: Examples, options: Mapping[str, Any], settings: FitSettings, report: Report
) -> FittedModel:
    """Return the weights of the epoch that ranks the validation cells best. Arrays: the weights,
    and the features of the genes. Facts: the shape of the network and its tokens."""
    report(0.0, "gene features")
    with _seeded(settings.seed) as torch:
        if options["scgpt"]:
            start = read_start(Path(options["scgpt"]), examples.train.genes, options["dropout"])
            notes = (*start.notes, *examples.notes)
            network = Network(torch, start.shape, start.features, options["tokens"])
            network.load_weights(start.weights)
            freeze(network)
        else:
            width, notes = options["width"], examples.notes
            shape = NetworkShape(
                width, options["heads"], 2 * width, options["layers"], options["dropout"]
            )
            network = Network(
                torch, shape, make_gene_features(examples.train, settings.seed), options["tokens"]
            )
        history = _Learner(network, examples, options).train(examples.rng, report)
    arrays = {f"{WEIGHT}{name}": tensor.numpy() for name, tensor in network.weights().items()}
    arrays["features"] = network.features.cpu().numpy()
    facts = {"shape": asdict(network.shape), "tokens": network.tokens}
    return FittedModel(
        "transformer", np.arange(len(examples.train.genes)), arrays, history, facts, notes
    )


def make_scorer(fitted: FittedModel) -> Scorer:
    """Return the network's scores."""
    with _seeded() as torch:
        shape = NetworkShape(**fitted.facts["shape"])
        network = Network(torch, shape, fitted.arrays["features"], fitted.facts["tokens"])
    weights = {
        name.removeprefix(WEIGHT): array
        for name, array in fitted.arrays.items()
        if name.startswith(WEIGHT)
    }
    network.load_weights(weights)
    return network.score


@contextmanager
def _seeded(seed: int = 0) -> Iterator[Any]:
    """Yield torch with a seed; afterwards its generator is as before. Raise MissingPackage."""
    torch = require_package("torch", "the transformer scorer", REQUIREMENTS)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield torch


@dataclass(frozen=True)
class TransformerSettings:
    """The options of the network and its training."""

    epochs: Annotated[
        int, Ge(1), Le(10_000), setting("The most times that each training cell is seen.")
    ] = 8
    patience: Annotated[
        Count, setting("Training stops after this many epochs without a better validation MRR.")
    ] = 3
    batch: Annotated[int, Ge(1), Le(4096), setting("Cells of a step.")] = 48
    tokens: Annotated[
        int, Ge(8), Le(8192), setting("Number of genes that the network sees at once.")
    ] = 128
    learning_rate: Annotated[float, Ge(1e-7), Le(1), setting("Of the optimizer.")] = 2e-3
    width: Annotated[
        int, Ge(1), Le(4096), setting("Width of a token, a multiple of the heads.")
    ] = 32
    layers: Annotated[int, Ge(1), Le(64), setting("Number of layers of the transformer.")] = 2
    heads: Annotated[int, Ge(1), Le(64), setting("Heads of a layer.")] = 4
    dropout: Annotated[
        float, Ge(0), Le(0.9), setting("Share of a layer's outputs to drop in training.")
    ] = 0.1
    scgpt: Annotated[
        str,
        setting(
            "The folder of a scGPT checkpoint to start from, which sets width, layers and heads."
        ),
    ] = ""


MODEL: Final = RankingModel(
    "transformer",
    TransformerSettings,
    fit,
    make_scorer,
    ranks_untrained=True,
    packages=("torch",),
)
