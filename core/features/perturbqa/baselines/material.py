"""The inputs of a baseline: the training rows and the rows to predict of a benchmark, a network of
genes, and gene spaces.

The interface of a baseline: a new one is a file with a `KnowledgeBaseline`, named in
`table.BASELINES`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array

from core.base.errors import DeskError, InputError
from core.base.types import TRAIN
from core.embeddings.space import Space as GeneSpace
from core.evidence.packs import Packs
from core.features.neighbours.build import build_network, build_text
from core.features.perturbqa.retrieval import CLOSE_SCORE, GeneNames, graph_of_packs
from core.stats import validate
from core.stats.arrays import Bools, Codes, Floats
from core.stats.scores_and_labels import Outcome, outcome_of
from core.transfer.knn import Priors, Similarities, knn_priors
from core.transfer.row_index import Knowledge, RowIndex, Rows, knowledge_of
from core.transfer.similarity import ConstantSimilarity, Space, space_over

NO_DESCRIPTIONS = "a knowledge pack of descriptions: import gene_desc.json"
NO_NETWORK = "a knowledge pack of a network: import string_edges.json"
T = TypeVar("T")


class MissingInput(DeskError):
    """A baseline cannot be computed; the message names what it lacks."""


def require(given: T | None, name: str) -> T:
    """Return an input of a baseline. Raise MissingInput, with its name, if there is none."""
    if given is None:
        raise MissingInput(name)
    return given


@dataclass(frozen=True, slots=True, eq=False)
class GeneKnowledge:
    """The knowledge in packs about a benchmark's symbols; None for missing knowledge.

    graph: all edges of the network; close: edges that make two genes close for a retrieval. text,
    network: gene spaces. sources: the origins of the packs, for people.
    """

    graph: GeneGraph | None = None
    close: GeneGraph | None = None
    text: Space | None = None
    network: Space | None = None
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """The inputs of baselines on one split.

    symbols: of the codes. known: the training rows; rows, labels: the rows to predict, labels of
    shape (n_rows,). attention: the graph attention networks to train, None for none.
    """

    symbols: tuple[str, ...]
    known: Knowledge
    rows: Rows
    labels: NDArray[np.object_]
    genes: GeneKnowledge
    attention: AttentionGrid | None = None

    @property
    def outcome(self) -> Outcome:
        """The outcomes of the rows to predict."""
        return outcome_of(self.labels)

    def base_rates(self) -> Priors:
        """Return, for every row to predict, the share of effects among training rows, and of up
        among rows with a direction."""
        same = Similarities(ConstantSimilarity(), ConstantSimilarity())
        return knn_priors(self.rows, self.known, same)


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """A baseline's prediction for each row.

    de, up: of shape (n_rows,), NaN for a row without a prediction; up is None if the baseline never
    predicts a direction. note: a remark on how the prediction was made.
    """

    de: Floats
    up: Floats | None
    note: str = ""

    @property
    def covered(self) -> Bools:
        """Flags of the rows with a prediction."""
        return ~np.isnan(self.de)


@dataclass(frozen=True, slots=True)
class KnowledgeBaseline:
    """One baseline.

    about: a description for people. make: returns the prediction, and raises MissingInput or
    MissingPackage for what it lacks.
    """

    name: str
    about: str
    make: Callable[[Material], Prediction]


def predictable_splits(dataset: pd.DataFrame) -> list[str]:
    """Return the labelled splits of a dataset (`pairs.frame`) that can be predicted from its
    training rows, sorted."""
    labelled = {str(split) for split in dataset["split"][dataset["label"].notna()].unique()}
    return sorted(labelled - {TRAIN}) if TRAIN in labelled else []


def make_material(
    index: RowIndex,
    splits: NDArray[np.object_],
    split: str,
    genes: GeneKnowledge,
    attention: AttentionGrid | None = None,
) -> Material:
    """Return the inputs to predict the labelled rows of a split from the split `train`; splits: of
    every row of the index.

    Raise InputError without labelled rows, and for the training split, whose rows would be
    predicted from their own labels.
    """
    if split == TRAIN:
        raise InputError(
            f"split {split!r}: its rows would be predicted from their own labels; expected another"
            " split"
        )
    labelled = np.array([label is not None for label in index.labels], dtype=np.bool_)
    training, wanted = (np.flatnonzero(labelled & (splits == name)) for name in (TRAIN, split))
    for name, positions in ((TRAIN, training), (split, wanted)):
        if not len(positions):
            there = ", ".join(sorted(set(splits[labelled]))) or "none"
            raise InputError(f"split {name!r}: got no labelled row in it; expected one of {there}")
    known = knowledge_of(index.labels[training], index.rows.take(training))
    return Material(
        index.symbols, known, index.rows.take(wanted), index.labels[wanted], genes, attention
    )


def read_gene_knowledge(packs: Packs, symbols: Sequence[str]) -> GeneKnowledge:
    """Read knowledge about these symbols from packs: the network, words of descriptions, and
    neighbourhoods in the network.

    Symbols are also found by the packs' table of orthologs. Both spaces equal those of `embed text`
    and `embed network`.
    """
    names = GeneNames(packs.orthologs or {})
    text = network = graph = close = None
    if packs.descriptions is not None:
        text = _space_over(build_text(packs.descriptions, "text"), symbols, names)
    if packs.edges is not None:
        network = _space_over(build_network(packs.edges, "network"), symbols, names)
        graph, close = make_graphs(packs, symbols)
    return GeneKnowledge(
        graph, close, text, network, tuple(str(source) for source in packs.sources.values())
    )


def make_graphs(packs: Packs, symbols: Sequence[str]) -> tuple[GeneGraph, GeneGraph]:
    """Return the network of all edges of a pack over these symbols, and the network of edges
    between close genes."""

    def make(least_score: int) -> GeneGraph:
        graph = graph_of_packs(packs, least_score)
        return make_gene_graph(graph.neighbours, [graph.node(symbol) for symbol in symbols])

    return make(1), make(CLOSE_SCORE)


def _space_over(space: GeneSpace, symbols: Sequence[str], names: GeneNames) -> Space:
    """Return the space over these symbols, each by its own name, or by the first other name in the
    space."""
    listed = {symbol.casefold() for symbol in space.symbols}
    others = {
        symbol: [name for name in names.of(symbol)[1:] if name.casefold() in listed]
        for symbol in symbols
    }
    return space_over(
        space, symbols, {symbol: found[0] for symbol, found in others.items() if found}
    )


HEADS = 4
FEED_FORWARD = 1024  # units
DROPOUT = 0.1
WEIGHT_DECAY = 1e-6
LEARNING_RATE = 1e-4
VALIDATION_SHARE = 0.1  # share of the training perturbations
FULL = "full"  # the name of the published grid
PUBLISHED_SIZES = tuple(product((1, 2, 4, 8), (64, 128, 256)))  # layers, width


@dataclass(frozen=True, slots=True)
class AttentionGrid:
    """The networks to train; the best one on the validation perturbations predicts.

    sizes: (layers, width) of each, the width a multiple of HEADS. epochs: most passes over the
    training rows; patience: training stops after this many passes without a better validation
    score. batch: number of rows in a step. seed: of the validation perturbations, the weights and
    the order of rows.
    """

    sizes: tuple[tuple[int, int], ...] = PUBLISHED_SIZES
    epochs: int = 30
    patience: int = 3
    batch: int = 2048
    seed: int = 0

    def __post_init__(self) -> None:
        for layers, width in self.sizes:
            validate.whole_number("layers", layers, 1)
            if validate.whole_number("width", width, HEADS) % HEADS:
                raise InputError(
                    f"attention networks: width {width}; expected a multiple of {HEADS}, the number"
                    " of heads"
                )


def read_grid(text: str) -> AttentionGrid:
    """Return the grid for a text: "full" for the published one, or sizes such as "1x64,2x128"
    (layers x width).

    Raise InputError.
    """
    if text == FULL:
        return AttentionGrid()
    sizes = [re.fullmatch(r"(\d{1,2})x(\d{1,4})", part.strip()) for part in text.split(",")]
    if None in sizes:
        raise InputError(
            f"attention networks: got {text!r}; expected {FULL}, or sizes such as 1x64,2x128"
            " (layers x width)"
        )
    return AttentionGrid(tuple((int(size[1]), int(size[2])) for size in sizes if size is not None))


@dataclass(frozen=True, slots=True, eq=False)
class GeneGraph:
    """A network, and the node of each of a dataset's symbols.

    node: each symbol's node, of shape (n_symbols,); a symbol outside the network gets a node
    without edges. edges: 1 if two nodes are joined, sparse and symmetric, of shape (n_nodes,
    n_nodes). Nodes that are not symbols of the dataset can lie on paths between symbols.
    """

    node: Codes
    edges: Any

    @property
    def covered(self) -> Bools:
        """Flags of the symbols that have an edge, of shape (n_symbols,)."""
        return np.asarray(np.diff(self.edges.indptr)[self.node] > 0)

    def rows(self, rows: Rows) -> Rows:
        """Return the same rows with nodes instead of symbols."""
        return Rows(self.node[rows.pert], self.node[rows.gene])

    def are_joined(self, rows: Rows) -> Bools:
        """Return flags of the rows with an edge between their two symbols, of shape (n_rows,)."""
        return np.asarray(self.edges[self.node[rows.pert], self.node[rows.gene]]).ravel() > 0

    def between_symbols(self) -> Any:
        """Return a sparse matrix of shape (n_symbols, n_symbols): 1 if two different symbols are
        joined."""
        return self.edges[self.node][:, self.node]


def make_gene_graph(
    neighbours: Mapping[str, Iterable[str]], symbol_nodes: Sequence[str]
) -> GeneGraph:
    """Return the network of these neighbours. Each edge is listed from both of its ends; no node is
    its own neighbour.

    symbol_nodes: the name of each symbol's node, of length n_symbols.
    """
    names = sorted({*neighbours, *symbol_nodes})
    place = {name: i for i, name in enumerate(names)}
    ends = [(place[name], place[other]) for name, others in neighbours.items() for other in others]
    at = np.array(ends, dtype=np.intp).reshape(-1, 2).T
    edges = csr_array(
        (np.ones(at.shape[1], dtype=np.float32), (at[0], at[1])), shape=(len(names), len(names))
    )
    return GeneGraph(np.array([place[name] for name in symbol_nodes], dtype=np.intp), edges)
