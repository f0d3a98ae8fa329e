"""Train the transformer scorer: its examples, steps, validation, loss, and the negatives of each cell.

The loss is 0.7 · mean softplus(negative − positive) over the pairs of a cell, + 0.1 · mean binary cross-entropy of the sigmoid
over its positives and the same negatives. In the second term, the weight of a positive is the number of negatives per positive,
at most 50. Both are averaged over cells. The module torch is an argument of every function, because it is imported only to
train a network. Source: docs/target_ranking.md, which has the published settings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError
from core.target_ranking.controls import N_MATCHED, MatchedControls
from core.target_ranking.expression import Expression
from core.target_ranking.models.network import bin_expression, load_weights, score_cells, weights_of
from core.target_ranking.models.training_cells import PerturbedCells, average_conditions, mean_reciprocal_rank

PAIR_WEIGHT: Final = 0.7
POINT_WEIGHT: Final = 0.1
MOST_POSITIVE_WEIGHT: Final = 50.0


@dataclass(frozen=True, slots=True)
class NegativeSettings:
    """The number of negatives of a cell. share_hard: the share of hard ones (rounded): the top-scored among `candidates` random
    genes.
    """

    n: int = 64
    share_hard: float = 0.05
    candidates: int = 128


PUBLISHED_NEGATIVES: Final = NegativeSettings()


MOST_VALIDATED: Final = 256  # cells; the averages of all conditions are also ranked
AVERAGED: Final = (1, 4, 16)  # cells averaged in an example, because people rank genes for cells and for averaged conditions
MOST_GRADIENT: Final = 1.0
WEIGHT_DECAY: Final = 0.01
CELLS_AT_ONCE: Final = 256  # plus their controls, which are encoded again for each block
Codes = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class LearnerOptions:
    """Options of training. batch: number of examples in a step, all from one batch of the screen. tokens: number of genes in a
    step, always including the targets of its examples.
    """

    batch: int
    tokens: int
    learning_rate: float


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """A network with the features of its genes, a tensor of shape (n_genes, n_features). torch: the module."""

    torch: Any
    module: Any
    features: Any
    tokens: int

    def score(self, x: Expression, controls: MatchedControls) -> NDArray[np.float64]:
        """Return the score of every gene for every cell, of shape (n_cells, n_genes).

        Genes are scored in parts of about `tokens` genes.
        """
        self.module.eval()
        bins, control_bins = bin_expression(x), bin_expression(controls.cells)
        n_genes = x.shape[1]
        # Neighbouring columns may be similar, so every part is random, but the same each time.
        parts = np.array_split(np.random.default_rng(0).permutation(n_genes), -(-n_genes // self.tokens))
        scores = np.empty(x.shape)
        with self.torch.no_grad():
            for start in range(0, len(x), CELLS_AT_ONCE):
                rows = slice(start, start + CELLS_AT_ONCE)
                used, of_cell = np.unique(controls.rows[rows], return_inverse=True)
                own = of_cell.reshape(controls.rows[rows].shape)
                for genes in parts:
                    found = self.scores_of(bins[rows][:, genes], control_bins[used][:, genes], own, genes)
                    scores[rows, genes] = found.cpu().numpy()
        return scores

    def scores_of(self, bins: NDArray[Any], control_bins: NDArray[Any], rows: Codes, genes: Codes) -> Any:
        """Return a tensor of scores for the genes at some positions; see `score_cells`."""
        device = self.features.device
        as_codes = [self.torch.as_tensor(array.astype(np.int64), device=device) for array in (bins, control_bins, rows, genes)]
        vectors = self.module["gene"](self.features[as_codes[3]])
        return score_cells(self.torch, self.module, vectors, as_codes[0], (as_codes[1], as_codes[2]))


class TransformerLearner:
    """A network in training. See `core.target_ranking.training.Learner`."""

    def __init__(self, network: Network, cells: PerturbedCells, held_out: PerturbedCells, options: LearnerOptions) -> None:
        torch = network.torch
        self.network, self.cells, self.options = network, cells, options
        self.trained = [weight for weight in network.module.parameters() if weight.requires_grad]
        self.optimizer = torch.optim.AdamW(self.trained, lr=options.learning_rate, weight_decay=WEIGHT_DECAY)
        chosen = np.linspace(0, len(held_out.x) - 1, min(MOST_VALIDATED, len(held_out.x))).astype(np.intp)
        self.validated = (held_out.take(chosen), average_conditions(held_out))
        _, self.batch_of = np.unique(cells.batches, return_inverse=True)
        pairs = np.stack([np.unique(cells.conditions, return_inverse=True)[1], self.batch_of], axis=1)
        _, self.group_of = np.unique(pairs, axis=0, return_inverse=True)
        self.group_of = self.group_of.reshape(-1)
        self.members = [np.flatnonzero(self.group_of == group) for group in range(self.group_of.max() + 1)]
        self.controls = [np.unique(cells.controls.rows[self.batch_of == batch]) for batch in range(self.batch_of.max() + 1)]

    def train_epoch(self, rng: np.random.Generator) -> float:
        """Train on one example for each training cell, and return the mean loss."""
        self.network.module.train()
        losses = [self._step(batch, rows, rng) for batch, rows in self._minibatches(rng)]
        return float(np.mean(losses))

    def validate(self) -> float:
        """Return the mean MRR over validation cells and averaged conditions; each kind counts half."""
        found = [mean_reciprocal_rank(self.network.score(cells.x, cells.controls), cells) for cells in self.validated]
        return float(np.mean(found))

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the weights, the two moments of each trained weight, the number of steps, and the state of torch's generator
        (for dropout).
        """
        found = {f"weight.{name}": array for name, array in weights_of(self.network.module).items()}
        for at, weight in enumerate(self.trained):
            moments = self.optimizer.state[weight]
            found |= {f"optimizer.{at}.{name}": np.array(value.detach().cpu().numpy()) for name, value in moments.items()}
        return found | {"generator": self.network.torch.get_rng_state().numpy().copy()}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore the result of `state`."""
        torch = self.network.torch
        weights = {name.removeprefix("weight."): array for name, array in state.items() if name.startswith("weight.")}
        load_weights(torch, self.network.module, weights)
        if "generator" not in state:
            return
        torch.set_rng_state(torch.from_numpy(np.array(state["generator"])))
        for at, weight in enumerate(self.trained):
            names = [name for name in state if name.startswith(f"optimizer.{at}.")]
            moments = {name.rpartition(".")[2]: torch.from_numpy(np.array(state[name])) for name in names}
            self.optimizer.state[weight] = {
                name: value if name == "step" else value.to(weight.device) for name, value in moments.items()
            }

    def _minibatches(self, rng: np.random.Generator) -> Iterator[tuple[int, Codes]]:
        """Yield groups of rows from one batch of the screen, which share controls; all rows once, in random order."""
        order = rng.permutation(len(self.cells.x))
        parts = [
            (batch, rows[start : start + self.options.batch])
            for batch in range(len(self.controls))
            for rows in [order[self.batch_of[order] == batch]]
            for start in range(0, len(rows), self.options.batch)
        ]
        for at in rng.permutation(len(parts)):
            yield parts[at]

    def _step(self, batch: int, rows: Codes, rng: np.random.Generator) -> float:
        """Do one optimizer step on the examples that start from some rows, and return their loss."""
        torch, n_averaged = self.network.torch, int(rng.choice(AVERAGED))
        targets = self.cells.targets[rows]
        needed = np.flatnonzero(targets.any(axis=0))
        others = rng.permutation(np.flatnonzero(~targets.any(axis=0)))
        genes = np.concatenate([needed, others[: max(self.options.tokens - len(needed), len(needed))]])
        x = _average(self.cells.x, [_draw(self.members[self.group_of[row]], n_averaged, rng, row) for row in rows])
        controls = self.controls[batch]
        drawn = [_draw(controls, n_averaged, rng) for _ in range(N_MATCHED)]
        control_bins = bin_expression(_average(self.cells.controls.cells, drawn))[:, genes]
        shared = np.broadcast_to(np.arange(N_MATCHED), (len(rows), N_MATCHED))
        scores = self.network.scores_of(bin_expression(x)[:, genes], control_bins, shared, genes)
        positive = targets[:, genes]
        negative = sample_negatives(scores.detach().cpu().numpy(), positive, rng)
        flags = (torch.as_tensor(each, device=scores.device) for each in (positive, negative))
        loss = ranking_loss(torch, scores, *flags)
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.trained, MOST_GRADIENT)
        self.optimizer.step()
        return float(loss.item())


def _draw(members: Codes, n: int, rng: np.random.Generator, first: int | None = None) -> Codes:
    """Return n random members, or all if there are fewer; `first`, if given, is among them."""
    drawn = rng.permutation(members)[:n] if n > 1 or first is None else members[:0]
    return drawn if first is None else np.concatenate([[first], drawn[drawn != first][: n - 1]]).astype(np.intp)


def _average(x: Expression, groups: list[Codes]) -> Expression:
    """Return the mean expression of each group of rows, of shape (n_groups, n_genes)."""
    return np.stack([x[group].mean(axis=0) for group in groups])


def sample_negatives(
    scores: NDArray[Any], positive: NDArray[np.bool_], rng: np.random.Generator, settings: NegativeSettings = PUBLISHED_NEGATIVES
) -> NDArray[np.bool_]:
    """Return flags of each cell's negatives, of shape (n_cells, n_genes), like `scores` and `positive` (flags of targets).

    Hard negatives are the best-scored of `candidates` random non-targets; the others are drawn from the remaining non-targets.
    A cell with too few non-targets gets all of them. Raise InputError for other shapes.
    """
    if scores.shape != positive.shape:
        raise InputError(f"scores of shape {scores.shape}, expected the shape of the targets, {positive.shape}")
    n_hard = round(settings.n * settings.share_hard)
    candidate = _drawn_genes(~positive, np.full(len(scores), settings.candidates), rng)
    places = np.argsort(np.argsort(-np.where(candidate, scores, -np.inf), axis=1, kind="stable"), axis=1)
    hard = np.asarray(candidate & (places < n_hard))
    others = _drawn_genes(~positive & ~hard, settings.n - hard.sum(axis=1), rng)
    return np.asarray(hard | others)


def _drawn_genes(allowed: NDArray[np.bool_], wanted: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return flags of random genes of each cell among the allowed ones, or of all if there are too few. wanted: their number,
    of shape (n_cells,).
    """
    keys = np.where(allowed, rng.random(allowed.shape), np.inf)
    places = np.argsort(np.argsort(keys, axis=1), axis=1)
    return np.asarray(allowed & (places < wanted[:, None]))


def ranking_loss(torch: Any, scores: Any, positive: Any, negative: Any) -> Any:
    """Return the loss of cells, a scalar tensor.

    scores: of shape (n_cells, n_genes). positive, negative: flags of the same shape; every cell needs at least one of each.
    Raise InputError if a cell has none.
    """
    n_positive, n_negative = positive.sum(dim=1), negative.sum(dim=1)
    if len(scores) == 0 or int(n_positive.min()) == 0 or int(n_negative.min()) == 0:
        raise InputError("ranking loss: a cell without targets or without other genes, expected at least one of each")
    softplus = torch.nn.functional.softplus
    # Only the few targets of each cell, which avoids a table of pairs of shape (n_genes, n_genes).
    cell, target = positive.nonzero(as_tuple=True)
    differences = softplus(scores[cell] - scores[cell, target][:, None]) * negative[cell]
    of_target = differences.sum(dim=1) / (n_negative * n_positive)[cell]
    pair = of_target.sum() / len(scores)
    weight = (n_negative / n_positive).clamp(max=MOST_POSITIVE_WEIGHT)
    # −log σ(s) = softplus(−s) for a target, −log(1 − σ(s)) = softplus(s) for another gene
    entropy = positive * softplus(-scores) * weight[:, None] + negative * softplus(scores)
    point = (entropy.sum(dim=1) / (n_positive + n_negative)).mean()
    return PAIR_WEIGHT * pair + POINT_WEIGHT * point
