"""Graph attention networks: what needs no torch, then a small network where torch is installed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from core.base.errors import InputError, MissingPackage
from core.features.perturbqa.baselines import graph_attention
from core.features.perturbqa.baselines.graph_attention import (
    edges_of,
    hold_out_perturbations,
    make_network,
    node_vectors,
    train_networks,
)
from core.features.perturbqa.baselines.material import (
    PUBLISHED_SIZES,
    AttentionGrid,
    Prediction,
    make_gene_graph,
    read_grid,
)
from core.features.perturbqa.baselines.table import score_baselines
from tests.features.perturbqa import cases

FRAME, PACKS = cases.screen(), cases.packs()
SMALL = AttentionGrid(((1, 8), (2, 8)), epochs=4, patience=4, batch=32)


@pytest.fixture(scope="module")
def torch() -> Iterator[Any]:
    module = pytest.importorskip(
        "torch", reason="torch is not installed: pip install -r requirements-models.txt"
    )
    threads = module.get_num_threads()
    module.set_num_threads(
        1
    )  # threads that wait for each other take far longer than these networks
    yield module
    module.set_num_threads(threads)


def test_the_published_grid_and_sizes_by_hand() -> None:
    assert read_grid("full").sizes == PUBLISHED_SIZES
    assert len(PUBLISHED_SIZES) == 12
    assert read_grid("1x64, 2x128").sizes == ((1, 64), (2, 128))
    for text, message in (
        ("", "expected full"),
        ("1x", "expected full"),
        ("0x64", "layers"),
        ("1x63", "multiple of 4"),
    ):
        with pytest.raises(InputError, match=message):
            read_grid(text)


def test_a_tenth_of_the_perturbations_is_held_out_whole() -> None:
    known = cases.material(FRAME, PACKS).known
    held_out = hold_out_perturbations(known, seed=0)
    perts = set(known.rows.pert[held_out].tolist())
    assert len(perts) == 2  # of 18
    assert not perts & set(known.rows.pert[~held_out].tolist())
    assert not np.array_equal(held_out, hold_out_perturbations(known, seed=1))


def test_every_symbol_has_an_edge_from_itself_and_others_from_both_ends() -> None:
    graph = make_gene_graph({"a": ["b"], "b": ["a"]}, ["a", "b", "c"])
    assert sorted(map(tuple, edges_of(graph).T.tolist())) == [
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 1),
        (2, 2),
    ]


def test_without_torch_its_row_says_so_and_the_others_are_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(module, purpose):
        raise MissingPackage(
            f"{purpose} needs the package {module}: pip install -r requirements-models.txt"
        )

    monkeypatch.setattr(graph_attention, "require_package", missing)
    found = {each.name: each for each in score_baselines(cases.material(FRAME, PACKS, SMALL))}
    assert "requirements-models.txt" in found["graph attention network"].lacks
    assert found["graph attention network"].de is None
    assert found["network kNN"].de is not None


@pytest.fixture(scope="module")
def predicted(torch: Any) -> tuple[Prediction, Prediction]:
    """The same networks trained twice."""
    assert torch.get_num_threads() == 1
    material = cases.material(FRAME, PACKS, SMALL)
    first, second = (graph_attention.BASELINE.make(material) for _ in range(2))
    return first, second


@pytest.mark.torch
def test_networks_are_the_same_again(predicted: tuple[Prediction, Prediction]) -> None:
    first, second = predicted
    np.testing.assert_array_equal(first.de, second.de)
    assert first.up is not None
    assert second.up is not None
    np.testing.assert_array_equal(first.up, second.up)
    assert first.note == second.note
    assert "among 1x8 " in first.note
    assert ", 2x8 " in first.note


@pytest.mark.torch
def test_rows_whose_perturbation_nothing_is_known_of_are_not_covered(
    predicted: tuple[Prediction, Prediction],
) -> None:
    test = FRAME[FRAME["split"] == "test"]
    np.testing.assert_array_equal(~predicted[0].covered, test["pert"] == "PERT22")
    covered = predicted[0].de[predicted[0].covered]
    assert ((covered > 0) & (covered < 1)).all()


@pytest.mark.torch
def test_attention_is_a_mean_over_neighbours_weighted_by_their_strength(torch: Any) -> None:
    """Against a loop over nodes and heads."""
    torch.manual_seed(0)
    network = make_network(torch, nodes=3, layers=1, width=8).eval()
    edges = edges_of(make_gene_graph({"a": ["b"], "b": ["a"]}, ["a", "b", "c"]))
    layer, vectors = network["layers"][0], network["vectors"].weight
    normed = layer["norm"](vectors)
    value, query, key = (layer[name](normed).detach().numpy() for name in ("value", "query", "key"))
    attended = np.zeros((3, 8))
    for node in range(3):
        near = edges[1][edges[0] == node]
        for head in range(4):
            strength = query[node, head] + key[near, head]
            weights = np.exp(np.where(strength > 0, strength, 0.2 * strength))
            attended[node, 2 * head : 2 * head + 2] = (
                weights / weights.sum() @ value[near, 2 * head : 2 * head + 2]
            )
    with torch.no_grad():
        after = vectors + torch.as_tensor(attended, dtype=torch.float32)
        expected = network["norm"](after + layer["feed_forward"](layer["feed_forward_norm"](after)))
        found = node_vectors(torch, network, torch.as_tensor(edges))
    np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=1e-5)


@pytest.mark.torch
@pytest.mark.usefixtures("torch")
def test_a_network_learns_which_perturbations_change_which_genes() -> None:
    material = cases.material(FRAME, PACKS)
    graph = material.genes.graph
    assert graph is not None
    short, long = (
        next(
            train_networks(
                material,
                graph,
                replace(SMALL, sizes=((1, 8),), epochs=epochs, patience=200, batch=8),
            )
        )
        for epochs in (1, 25)
    )
    assert long.epochs > short.epochs == 1
    assert long.score > short.score
