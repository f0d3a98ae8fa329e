"""The scoring of a run: over all rows, inside the cells of its folds, or as leave-one-out.

A predictor that learns from labels outside a row's cell learns a base rate, and this rate differs
from cell to cell. Pairs of rows from two cells would carry these rates into the score. So a run
made under folds is scored inside their cells, and so is every run made from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from core.stats.arrays import Codes
from core.stats.scores_and_labels import combine_codes
from core.transfer.knn_settings import read_knn_settings
from core.transfer.protocols import EvaluationProtocol, cells_of, parts_of
from core.transfer.row_index import RowIndex

ALL_ROWS = "all rows"


class RunWithParents(Protocol):
    """The fields of a run that tell under which protocols it was made; see
    `core.base.types.RunRecord`."""

    @property
    def method(self) -> str: ...
    @property
    def spec(self) -> Mapping[str, Any]: ...
    @property
    def parents(self) -> tuple[str, ...]: ...
    @property
    def evaluation(self) -> Mapping[str, Any] | None: ...


def protocols_of(
    run: RunWithParents, find: Callable[[str], RunWithParents | None]
) -> tuple[EvaluationProtocol, ...]:
    """Return the protocols that keep labels away from a run's rows: its own, its recorded ones, and
    its parents'.

    find: returns a run by id, or None for a missing run; then only the recorded protocols count.
    """
    protocols = [
        EvaluationProtocol(**fields) for fields in (run.evaluation or {}).get("protocols", ())
    ]
    if run.method == "knn":
        protocols.append(read_knn_settings(run.spec).protocol)
    view = run.spec.get("view")
    if isinstance(view, Mapping) and view.get("kind") == "folds":
        protocols.append(EvaluationProtocol("folds", view["k"], view["seed"]))
    for parent in map(find, run.parents):
        protocols += () if parent is None else protocols_of(parent, find)
    return distinct_protocols(protocols)


def distinct_protocols(protocols: Iterable[EvaluationProtocol]) -> tuple[EvaluationProtocol, ...]:
    """Return the protocols that affect a score, each once: folds by k and seed, then leave one
    out."""
    used = {
        each if each.kind == "folds" else EvaluationProtocol(each.kind)
        for each in protocols
        if each.kind != "test"
    }
    return tuple(sorted(used, key=lambda each: (each.kind, each.k, each.seed)))


def folds_among(protocols: Iterable[EvaluationProtocol]) -> list[EvaluationProtocol]:
    """Return the protocols that cut folds."""
    return [protocol for protocol in protocols if protocol.kind == "folds"]


def with_seed(protocols: Iterable[EvaluationProtocol], seed: int) -> tuple[EvaluationProtocol, ...]:
    """Return the protocols with another cut of the folds."""
    return distinct_protocols(replace(protocol, seed=seed) for protocol in protocols)


def describe_scoring(protocols: Sequence[EvaluationProtocol]) -> str:
    """Describe the scoring of a run under these protocols: "all rows", "inside 5×5 cells, cut 0",
    "leave-one-out"."""
    folds = folds_among(protocols)
    if not folds:
        return (
            "leave-one-out" if any(protocol.kind == "loo" for protocol in protocols) else ALL_ROWS
        )
    if len(folds) == 1:
        return f"inside {folds[0].k}×{folds[0].k} cells, cut {folds[0].seed}"
    return "inside the cells of " + " and ".join(
        f"{protocol.k}×{protocol.k} cut {protocol.seed}" for protocol in folds
    )


def cells_under(
    protocols: Sequence[EvaluationProtocol], index: RowIndex, positions: Codes
) -> Codes | None:
    """Return the cell of each row (position in the index); rows that share a cell in every cut get
    the same code. None without folds.
    """
    rows = index.rows.take(positions)
    cuts = [
        cells_of(protocol, rows, parts_of(protocol, rows, index.known.rows))
        for protocol in folds_among(protocols)
    ]
    return combine_codes(*cuts)
