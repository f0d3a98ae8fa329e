"""cell-eval inside of batches and cell lines: which cells it gets, and how the strata are pooled; by hand, and by itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from core.cells import cell_eval_process
from core.cells.cell_eval import CellEvaluation, evaluate_cells
from core.cells.cell_eval_process import evaluate_here
from core.cells.evaluation_cells import CONTROL, PERTURBATION, CellChoice, CellPair
from core.cells.predicted_expression import CellOptions
from core.errors import InputError

WriteCells = Callable[..., Path]
GENES = ["A", "B", "C", "D", "E"]
# (line, batch, what was done, cells): C has too few cells in batch 2, and batch 3 no controls
CELLS = [
    ("K562", "1", "NT", 6), ("K562", "1", "A", 4), ("K562", "1", "B", 3),
    ("K562", "2", "NT", 5), ("K562", "2", "A", 8), ("K562", "2", "C", 2),
    ("K562", "3", "A", 5),
    ("RPE1", "1", "NT", 5), ("RPE1", "1", "A", 7), ("RPE1", "4", "NT", 5), ("RPE1", "4", "A", 5),
]  # fmt: skip
LINE, BATCH, LABEL = (np.array([row[at] for row in CELLS for _ in range(row[3])], dtype=object) for at in range(3))
RNG = np.random.default_rng(0)
REAL = RNG.poisson(np.outer(np.where(BATCH == "2", 60, 20), [1, 2, 3, 4, 50])).astype(np.float32)
PREDICTED = RNG.poisson(REAL + 1).astype(np.float32)


def logs(counts: np.ndarray) -> np.ndarray:
    return np.log1p(counts / counts.sum(axis=1, keepdims=True) * 1e4)


def error_of(perturbation: str, used: np.ndarray) -> float:
    """The mean absolute error of a perturbation's mean profile among some cells."""
    cells = used & (perturbation == LABEL)
    return float(np.abs(logs(PREDICTED[cells]).mean(axis=0) - logs(REAL[cells]).mean(axis=0)).mean())


@pytest.fixture
def choose(cells_file: WriteCells) -> Callable[..., CellChoice]:
    obs = {"gene": LABEL.tolist(), "cell_line": LINE.tolist(), "batch": BATCH.tolist()}
    predicted, real = (cells_file(values, obs, GENES) for values in (PREDICTED, REAL))
    return lambda within, **options: CellChoice(predicted, CellOptions(real=real, **options), within=within)


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Numbers of predicted and real cells of each call of cell-eval, in whose place errors are computed."""
    calls: list[tuple[int, int]] = []

    def mean_errors(pair: CellPair, *_: object) -> tuple[Any, tuple[str, ...]]:
        calls.append((pair.predicted.n_obs, pair.real.n_obs))
        groups = [cells.obs[PERTURBATION].astype(str) for cells in (pair.predicted, pair.real)]
        rows = []
        for name in sorted(set(groups[0]) - {CONTROL}):
            means = [
                cells.X[(of == name).to_numpy()].mean(axis=0)
                for cells, of in zip((pair.predicted, pair.real), groups, strict=True)
            ]
            rows.append({"perturbation": name, "mae": float(np.abs(means[0] - means[1]).mean())})
        return pl.DataFrame(rows), ()

    monkeypatch.setattr(cell_eval_process, "_call_cell_eval", mean_errors)
    return calls


def errors(found: CellEvaluation) -> dict[str, float]:
    return {row["perturbation"]: row["mae"] for row in found.per_perturbation}


def test_strata_are_pooled_by_real_cells(
    choose: Callable[..., CellChoice], compared: list[tuple[int, int]], tmp_path: Path
) -> None:
    found = evaluate_here(choose(("batch",), where={"cell_line": "K562"}), tmp_path)
    first, second = ((LINE == "K562") & (batch == BATCH) for batch in "12")
    # A has 4 cells in batch 1 and 8 in batch 2, B is in batch 1 alone
    expected = {"A": (4 * error_of("A", first) + 8 * error_of("A", second)) / 12, "B": error_of("B", first)}
    assert errors(found) == pytest.approx(expected, rel=1e-4)
    assert compared == [(13, 13), (13, 13)]  # 6 + 4 + 3 in batch 1; 5 + 8 in batch 2
    assert (found.within, found.n_perturbations, found.n_predicted, found.n_real) == (("batch",), 2, 26, 26)
    assert [line.partition(":")[0] for line in found.left_out] == ["stratum 3, left out"]  # batch 4 is another line's


@pytest.mark.soak
@pytest.mark.parametrize(("within", "n_strata"), [(("cell_line",), 2), (("cell_line", "batch"), 4)])
def test_columns_make_strata_together(
    choose: Callable[..., CellChoice], compared: list[tuple[int, int]], tmp_path: Path, within: tuple[str, ...], n_strata: int
) -> None:
    found = evaluate_here(choose(within), tmp_path)
    assert len(compared) == n_strata
    assert set(errors(found)) == ({"A", "B"})


@pytest.mark.soak
@pytest.mark.usefixtures("compared")
def test_where_holds_for_the_column_of_within_too(choose: Callable[..., CellChoice], tmp_path: Path) -> None:
    found = evaluate_here(choose(("batch",), where={"batch": "2", "cell_line": "K562"}), tmp_path)
    assert errors(found) == pytest.approx({"A": error_of("A", (LINE == "K562") & (BATCH == "2"))}, rel=1e-4)


def test_where_takes_the_cells_of_one_line(
    choose: Callable[..., CellChoice], compared: list[tuple[int, int]], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"--where cell_line=K562"):
        evaluate_here(choose(()), tmp_path)
    found = evaluate_here(choose((), where={"cell_line": "RPE1"}), tmp_path)
    assert errors(found) == pytest.approx({"A": error_of("A", LINE == "RPE1")}, rel=1e-4)
    assert compared == [(22, 22)]


def test_what_cannot_be_compared_inside_of_strata_is_refused(choose: Callable[..., CellChoice], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="within column 'lane': not in obs"):
        evaluate_here(choose(("lane",)), tmp_path)
    with pytest.raises(InputError, match=r"no stratum of --within can be compared \(stratum 3, left out"):
        evaluate_here(choose(("batch",), where={"batch": "3"}), tmp_path)


@pytest.mark.soak  # cell-eval takes a process of its own
def test_cell_eval_itself_is_called_inside_of_strata(choose: Callable[..., CellChoice]) -> None:
    found = evaluate_cells(choose(("batch",), where={"cell_line": "K562"}))
    first, second = ((LINE == "K562") & (batch == BATCH) for batch in "12")
    expected = {"A": (4 * error_of("A", first) + 8 * error_of("A", second)) / 12, "B": error_of("B", first)}
    assert errors(found) == pytest.approx(expected, rel=1e-4)
    assert found.profile == "full"
