"""graph attention network: trained on the training rows over the network of genes; its size is
chosen on held-out perturbations.

The network computes vectors of nodes from their neighbours, and the two answers for a pair of
nodes. The module torch is an argument of every function, because it is imported only to train a
network.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.base.errors import require_package
from core.features.perturbqa.baselines.material import (
    DROPOUT,
    FEED_FORWARD,
    HEADS,
    LEARNING_RATE,
    NO_NETWORK,
    VALIDATION_SHARE,
    WEIGHT_DECAY,
    AttentionGrid,
    GeneGraph,
    KnowledgeBaseline,
    Material,
    Prediction,
    require,
)
from core.scoring.baselines import score_baseline
from core.stats.arrays import Bools, Codes, Floats
from core.stats.scores_and_labels import Outcome, ScoredRows, scores_from_probabilities
from core.transfer.row_index import DIRECTED, EFFECT, LABELLED, UP, Knowledge, Rows

_SLOPE = 0.2  # of the leaky rectifier of attention (Veličković et al. 2018)


NAME = "graph attention network"
NOT_ASKED = (
    "networks are trained only on request: `perturbdesk baselines --attention full`, or sizes such"
    " as 1x64"
)


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """A trained network. score: the mean macro AUROC by gene on the validation perturbations;
    epochs: number of passes up to it.
    """

    layers: int
    width: int
    score: float
    epochs: int
    network: Any


@dataclass(frozen=True, slots=True, eq=False)
class _Data:
    """The data for training and choosing networks. edges: see `node_vectors`; known, held_out:
    training and validation rows."""

    edges: Any
    known: Knowledge
    held_out: Knowledge
    n_nodes: int


def hold_out_perturbations(known: Knowledge, seed: int) -> Bools:
    """Return flags of the training rows of a random tenth of the perturbations, at least one of
    them."""
    perts = np.unique(known.rows.pert)
    chosen = np.random.default_rng(seed).permutation(perts)[
        : max(1, round(VALIDATION_SHARE * len(perts)))
    ]
    held_out: Bools = np.isin(known.rows.pert, chosen)
    return held_out


def train_networks(material: Material, graph: GeneGraph, grid: AttentionGrid) -> Iterator[Trained]:
    """Yield the network of each size of the grid. Raise MissingPackage without torch."""
    torch = require_package("torch", f"a {NAME}")
    known, held_out = material.known, hold_out_perturbations(material.known, grid.seed)
    edges = torch.as_tensor(edges_of(graph), device=_device(torch))
    data = _Data(edges, known.take(~held_out), known.take(held_out), len(material.symbols))
    for layers, width in grid.sizes:
        with torch.random.fork_rng():
            torch.manual_seed(grid.seed)
            network = make_network(torch, data.n_nodes, layers, width).to(data.edges.device)
            optimizer = torch.optim.AdamW(
                network.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY
            )
            order = np.random.default_rng(grid.seed)
            best, best_epoch, state = -math.inf, 0, copy.deepcopy(network.state_dict())
            for epoch in range(1, grid.epochs + 1):
                network.train()
                shuffled = order.permutation(len(data.known))
                for start in range(0, len(shuffled), grid.batch):
                    optimizer.zero_grad()
                    _loss(torch, network, data, shuffled[start : start + grid.batch]).backward()
                    optimizer.step()
                score = _validate(torch, network, data)
                if score > best:
                    best, best_epoch, state = score, epoch, copy.deepcopy(network.state_dict())
                elif epoch - best_epoch >= grid.patience:
                    break
            network.load_state_dict(state)
            yield Trained(layers, width, best, best_epoch, network)


def edges_of(graph: GeneGraph) -> Codes:
    """Return the edges between symbols, from both ends, and one of each symbol with itself, of
    shape (2, n_edges)."""
    joined = graph.between_symbols().tocoo()
    apart = joined.coords[0] != joined.coords[1]
    own = np.arange(len(graph.node))
    return np.stack([np.concatenate((ends[apart], own)) for ends in joined.coords]).astype(np.int64)


def _device(torch: Any) -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def _loss(torch: Any, network: Any, data: _Data, rows: Codes) -> Any:
    """Return the cross-entropy of effects, and of known directions, over some training rows."""
    part = data.known.take(rows)
    found = _answers(torch, network, data.edges, part.rows)
    flags = torch.as_tensor(part.flags, device=data.edges.device)
    entropy = torch.nn.functional.binary_cross_entropy_with_logits
    loss = entropy(found[:, 0], flags[:, EFFECT].float())
    directed = flags[:, DIRECTED]
    return (
        loss + entropy(found[directed, 1], flags[directed, UP].float()) if directed.any() else loss
    )


def _answers(torch: Any, network: Any, edges: Any, rows: Rows) -> Any:
    pert, gene = (torch.as_tensor(codes, device=edges.device) for codes in (rows.pert, rows.gene))
    vectors = node_vectors(torch, network, edges)
    of_pert, of_gene = vectors[pert], vectors[gene]
    return network["answers"](torch.cat((of_pert, of_gene, of_pert * of_gene), dim=1))


def _predict(torch: Any, network: Any, edges: Any, rows: Rows) -> tuple[Floats, Floats]:
    """Return P(effect) and P(up | effect) of rows."""
    network.eval()
    with torch.no_grad():
        found = torch.sigmoid(_answers(torch, network, edges, rows).double()).cpu().numpy()
    return found[:, 0], found[:, 1]


def _validate(torch: Any, network: Any, data: _Data) -> float:
    """Return the mean over DE and DIR of the macro AUROC by gene, or only one of them if the other
    has no gene with both classes.
    """
    held_out = data.held_out
    outcome = Outcome(*(held_out.flags[:, flag] for flag in (LABELLED, EFFECT, UP, DIRECTED)))
    scores = scores_from_probabilities(*_predict(torch, network, data.edges, held_out.rows))
    found = score_baseline(ScoredRows(outcome, scores, held_out.rows.pert, held_out.rows.gene))
    values = [score.macro.value for score in found if score is not None and score.genes]
    return float(np.mean(values)) if values else 0.0


def _make(material: Material) -> Prediction:
    grid, graph = require(material.attention, NOT_ASKED), require(material.genes.graph, NO_NETWORK)
    torch = require_package("torch", f"a {NAME}")
    trained = list(train_networks(material, graph, grid))
    best = max(trained, key=lambda each: each.score)
    tried = [f"{each.layers}x{each.width} {each.score:.3f}" for each in trained]
    edges = torch.as_tensor(edges_of(graph), device=_device(torch))
    de, up = (
        np.where(_is_known(material, graph), column, np.nan)
        for column in _predict(torch, best.network, edges, material.rows)
    )
    chosen = (
        f"{best.layers} layers of {best.width} after {best.epochs} passes, chosen on a tenth of the"
        " training perturbations"
    )
    return Prediction(de, up, f"{chosen} among {', '.join(tried)}")


def _is_known(material: Material, graph: GeneGraph) -> Bools:
    """Return flags of the rows whose two symbols both occur in the network of genes or in training
    rows."""
    known = []
    for asked, seen in (
        (material.rows.pert, material.known.rows.pert),
        (material.rows.gene, material.known.rows.gene),
    ):
        known.append(graph.covered[asked] | np.isin(asked, seen))
    return np.asarray(known[0] & known[1])


BASELINE = KnowledgeBaseline(
    name=NAME,
    about=(
        "a graph attention network over the network of genes, trained on the training rows (torch)"
    ),
    make=_make,
)


def make_network(torch: Any, nodes: int, layers: int, width: int) -> Any:
    """Return a network with a learned vector for each node, with weights from torch's generator."""
    nn = torch.nn

    def layer() -> Any:
        attention = {
            name: nn.Linear(width, size, bias=False)
            for name, size in (("value", width), ("query", HEADS), ("key", HEADS))
        }
        feed_forward = nn.Sequential(
            nn.Linear(width, FEED_FORWARD),
            nn.GELU(),
            nn.Dropout(DROPOUT),
            nn.Linear(FEED_FORWARD, width),
        )
        norms = {"norm": nn.LayerNorm(width), "feed_forward_norm": nn.LayerNorm(width)}
        return nn.ModuleDict(
            {**attention, **norms, "feed_forward": feed_forward, "dropout": nn.Dropout(DROPOUT)}
        )

    answers = nn.Sequential(
        nn.Linear(3 * width, width), nn.GELU(), nn.Dropout(DROPOUT), nn.Linear(width, 2)
    )
    parts = {
        "vectors": nn.Embedding(nodes, width),
        "layers": nn.ModuleList([layer() for _ in range(layers)]),
    }
    return nn.ModuleDict({**parts, "norm": nn.LayerNorm(width), "answers": answers})


def node_vectors(torch: Any, network: Any, edges: Any) -> Any:
    """Return the vector of every node, of shape (n_nodes, width).

    edges: of shape (2, n_edges), the target and the source node of each edge; each node has an edge
    from itself.
    """
    vectors = network["vectors"].weight
    for layer in network["layers"]:
        attended = _attend(torch, layer, layer["norm"](vectors), edges)
        vectors = vectors + layer["dropout"](attended)
        vectors = vectors + layer["dropout"](
            layer["feed_forward"](layer["feed_forward_norm"](vectors))
        )
    return network["norm"](vectors)


def _attend(torch: Any, layer: Any, vectors: Any, edges: Any) -> Any:
    """Return each node's mean of its neighbours' values, weighted by attention, with HEADS
    heads."""
    to, source = edges
    values = layer["value"](vectors).unflatten(1, (HEADS, -1))
    strength = torch.nn.functional.leaky_relu(
        layer["query"](vectors)[to] + layer["key"](vectors)[source], _SLOPE
    )
    highest = torch.full((len(vectors), HEADS), -torch.inf, device=strength.device)
    highest = highest.scatter_reduce(0, to[:, None].expand_as(strength), strength.detach(), "amax")
    weights = torch.exp(strength - highest[to])
    total = torch.zeros_like(highest).index_add(0, to, weights)
    weights = layer["dropout"](weights / total[to])
    return (
        torch.zeros_like(values).index_add(0, to, weights[:, :, None] * values[source]).flatten(1)
    )
