"""The published table: its parts, and what is not comparable."""

from __future__ import annotations

from core.target_ranking.metrics import AT_K, KS
from core.target_ranking.tables import MODELS, published_table, what_differs


def test_the_table_is_whole() -> None:
    table = published_table()
    assert len(table) == len(MODELS) * (len(AT_K) * len(KS) + 1)
    xgboost = table[(table["model"] == "xgboost") & (table["k"] == 40)].set_index("metric")["value"].to_dict()
    assert xgboost == {"exact_hit": 0.1842, "relevant_hit": 0.5526, "recall": 0.3684}
    # shares of 38 conditions, as they were published with four digits
    shares = table[(table["rows"] == 38) & (table["metric"] == "relevant_hit")]["value"]
    assert all(abs(value * 38 - round(value * 38)) < 0.003 for value in shares)
    assert table[table["metric"] == "mrr"]["value"].tolist() == [0.1975, 0.3602, 0.3232, 0.3323]


def test_metrics_rise_with_k_and_keep_their_order() -> None:
    table = published_table().dropna(subset="k")
    for _, rows in table.groupby(["model", "metric"]):
        assert rows.sort_values("k")["value"].is_monotonic_increasing
    wide = table.pivot(index=["model", "k"], columns="metric", values="value")
    assert (wide["exact_hit"] <= wide["recall"]).all()
    assert (wide["recall"] <= wide["relevant_hit"]).all()


def test_what_differs_is_said() -> None:
    found = what_differs("condition", "hard", "strongest")
    assert found["xgboost"] == ""
    assert found["scGPT"] == "unit cell, not condition, split compositional, not hard, mask none, not strongest"
