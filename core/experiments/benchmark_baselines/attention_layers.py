"""A graph attention network over genes: vectors of nodes from their neighbours, and the two answers for a pair of nodes.

Every function is given the module torch, which is imported only where a network is trained.
"""

from __future__ import annotations

from typing import Any

from core.experiments.benchmark_baselines.attention_settings import DROPOUT, FEED_FORWARD, HEADS

_SLOPE = 0.2  # of the leaky rectifier of attention (Veličković et al. 2018)


def make_network(torch: Any, nodes: int, layers: int, width: int) -> Any:
    """A network with a learned vector for each node; its weights are drawn from torch's generator."""
    nn = torch.nn

    def layer() -> Any:
        attention = {
            name: nn.Linear(width, size, bias=False) for name, size in (("value", width), ("query", HEADS), ("key", HEADS))
        }
        feed_forward = nn.Sequential(
            nn.Linear(width, FEED_FORWARD), nn.GELU(), nn.Dropout(DROPOUT), nn.Linear(FEED_FORWARD, width)
        )
        norms = {"norm": nn.LayerNorm(width), "feed_forward_norm": nn.LayerNorm(width)}
        return nn.ModuleDict({**attention, **norms, "feed_forward": feed_forward, "dropout": nn.Dropout(DROPOUT)})

    answers = nn.Sequential(nn.Linear(3 * width, width), nn.GELU(), nn.Dropout(DROPOUT), nn.Linear(width, 2))
    parts = {"vectors": nn.Embedding(nodes, width), "layers": nn.ModuleList([layer() for _ in range(layers)])}
    return nn.ModuleDict({**parts, "norm": nn.LayerNorm(width), "answers": answers})


def node_vectors(torch: Any, network: Any, edges: Any) -> Any:
    """The vector of every node, of shape (n_nodes, width).

    edges: of shape (2, n_edges), the node that an edge leads to and the one it comes from; each node has one from itself.
    """
    vectors = network["vectors"].weight
    for layer in network["layers"]:
        attended = _attend(torch, layer, layer["norm"](vectors), edges)
        vectors = vectors + layer["dropout"](attended)
        vectors = vectors + layer["dropout"](layer["feed_forward"](layer["feed_forward_norm"](vectors)))
    return network["norm"](vectors)


def _attend(torch: Any, layer: Any, vectors: Any, edges: Any) -> Any:
    """Each node's mean of its neighbours' values, weighted by attention, with HEADS heads."""
    to, source = edges
    values = layer["value"](vectors).unflatten(1, (HEADS, -1))
    strength = torch.nn.functional.leaky_relu(layer["query"](vectors)[to] + layer["key"](vectors)[source], _SLOPE)
    highest = torch.full((len(vectors), HEADS), -torch.inf, device=strength.device)
    highest = highest.scatter_reduce(0, to[:, None].expand_as(strength), strength.detach(), "amax")
    weights = torch.exp(strength - highest[to])
    total = torch.zeros_like(highest).index_add(0, to, weights)
    weights = layer["dropout"](weights / total[to])
    return torch.zeros_like(values).index_add(0, to, weights[:, :, None] * values[source]).flatten(1)


def pair_answers(torch: Any, network: Any, vectors: Any, pert: Any, gene: Any) -> Any:
    """The log-odds of an effect and, given one, of up, for pairs of nodes, of shape (n_pairs, 2)."""
    of_pert, of_gene = vectors[pert], vectors[gene]
    return network["answers"](torch.cat((of_pert, of_gene, of_pert * of_gene), dim=1))
