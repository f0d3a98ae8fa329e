"""cell-eval in a process of its own: its numbers against a computation by hand, and how it fails."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.cells import cell_eval
from core.cells.cell_eval import CellEvaluation, evaluate_cells
from core.cells.evaluation_cells import CellChoice
from core.cells.predicted_expression import CellOptions
from core.errors import InputError, MissingPackage, StateError
from core.file_limits import free_memory

WriteCells = Callable[..., Path]
GENES = [f"G{i}" for i in range(12)]


@pytest.fixture
def choice(cells_file: WriteCells) -> CellChoice:
    """Real cells, and a profile a perturbation that is off by what `noise` says; both log1p."""
    rng = np.random.default_rng(0)
    labels = ["ctrl"] * 12 + ["A"] * 12 + ["B"] * 12 + ["C"] * 12
    shift = np.repeat(rng.normal(0, 1, (4, 12)) * [[0], [1], [1], [1]], 12, axis=0)
    values = np.abs(3 + shift + rng.normal(0, 0.3, (48, 12)))
    real = cells_file(values, {"perturbation": labels}, GENES)
    profiles = np.array([values[12 * i : 12 * (i + 1)].mean(axis=0) for i in (1, 2, 3)]) + rng.normal(0, 0.2, (3, 12))
    return CellChoice(cells_file(profiles, {"perturbation": ["A", "B", "C"]}, GENES), CellOptions(real=real))


@pytest.mark.soak
def test_its_table_is_that_of_the_files(choice: CellChoice) -> None:
    import anndata

    found = evaluate_cells(choice)
    assert found.version == "0.6.8"
    assert (found.profile, found.n_perturbations, found.n_genes, found.n_predicted, found.n_real) == ("anndata", 3, 12, 15, 48)
    assert choice.options.real is not None
    pred, real = anndata.read_h5ad(choice.predicted).X, anndata.read_h5ad(choice.options.real).X
    means = np.array([real[12 * i : 12 * (i + 1)].mean(axis=0) for i in range(4)])
    # by hand: the absolute error of the mean profile, and the correlation of both changes from the controls
    errors = np.abs(pred - means[1:]).mean(axis=1)
    deltas = [np.corrcoef(pred[i] - means[0], means[i + 1] - means[0])[0, 1] for i in range(3)]
    metrics = {one.name: one for one in found.metrics}
    assert metrics["mae"].mean == pytest.approx(errors.mean(), rel=1e-5)
    assert (metrics["mae"].low, metrics["mae"].high) == pytest.approx((errors.min(), errors.max()), rel=1e-5)
    assert metrics["mae"].sd == pytest.approx(errors.std(ddof=1), rel=1e-4)
    assert metrics["pearson_delta"].mean == pytest.approx(np.mean(deltas), rel=1e-5)
    assert (metrics["mae"].best, metrics["pearson_delta"].best, metrics["mae"].n) == ("zero", "one", 3)
    assert {row["perturbation"]: row["mae"] for row in found.per_perturbation} == pytest.approx(
        dict(zip("ABC", errors, strict=True)), rel=1e-5
    )


def test_a_table_of_plain_data_reads_the_same() -> None:
    metric = cell_eval.Metric("roc_auc", "areas", "one", math.nan, math.nan, math.nan, math.nan, 0)
    found = CellEvaluation(
        version="0.6.8", profile="full", n_perturbations=1, n_genes=2, n_predicted=3, n_real=4, sample=None, read_as={},
        left_out=("1 genes only in the real cells",), problems=(), metrics=(metric,), per_perturbation=[{"perturbation": "A"}],
    )  # fmt: skip
    plain = found.as_json()
    assert plain["metrics"][0]["mean"] is None
    again = CellEvaluation.from_json(plain)
    assert again.left_out == found.left_out
    assert math.isnan(again.metrics[0].mean)
    assert again.as_json() == plain


def test_its_failures_are_errors(choice: CellChoice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="expected --real FILE"):
        evaluate_cells(replace(choice, options=CellOptions()))
    with pytest.raises(InputError, match=r"0.0 GB are free"):
        evaluate_cells(replace(choice, most_bytes=1))
    broken = tmp_path / "broken" / "cell_eval"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise RuntimeError('a broken installation')")
    monkeypatch.setenv("PYTHONPATH", str(broken.parent))
    with pytest.raises(StateError, match=r"cell-eval failed; it said: .*a broken installation"):
        evaluate_cells(choice)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "cell_eval" else object())
    with pytest.raises(MissingPackage, match=r"cell_eval: not installed: pip install -r requirements-cells.txt"):
        evaluate_cells(choice)


def test_free_memory_is_known_on_linux() -> None:
    free = free_memory()
    if Path("/proc/meminfo").exists():
        assert free is not None
        assert free > 1_000_000
