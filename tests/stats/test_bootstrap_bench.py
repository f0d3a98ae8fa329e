from __future__ import annotations

import pytest

from bench import bootstrap


@pytest.mark.soak
def test_the_benchmark_compares_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "N_ROWS", 400)
    monkeypatch.setattr(bootstrap, "REFERENCE_RESAMPLES", 20)
    found = bootstrap.run()
    assert {"name", "ours_s", "reference_s", "rerank_s", "ratio", "ratio_rerank", "max_abs_diff", "peak_mb_ours"} <= set(found)
    assert {"peak_mb_reference", "clustered_s", "delong_ms", "reference_resamples"} <= set(found)
    assert found["max_abs_diff"] < 1e-12  # the three ways agree on the resamples that they share
    assert found["max_abs_diff_other_seed"] < 5 * found["monte_carlo_error"]
    assert found["ratio"] == pytest.approx(found["reference_s"] / found["ours_s"])
