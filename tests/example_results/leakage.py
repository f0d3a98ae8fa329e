"""Results of the leakage audit: of a dataset with a leak of each kind, and of one without."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.base.result import Result
from core.features.leakage.label_statements import TextCheck
from core.features.leakage.leak_power import LeakPower
from core.features.leakage.result import LeakageAudit, check_counts
from core.features.leakage.row_leaks import RowFinding
from core.features.leakage.share_probe import ShareProbe
from core.features.leakage.shared_symbols import SymbolTables, compare_splits
from core.features.leakage.space_leaks import ALL_ROWS, ProbedRows, SpaceCheck
from core.features.leakage.space_probe import ProbedScore, WithinProbe
from core.store.datasets import Dataset


def examples() -> Sequence[Result]:
    rows = pd.DataFrame(
        [
            ("P0", "Ga", "up", "train"),
            ("P0", "Gb", "none", "train"),
            ("P1", "GA", None, "test"),
            ("P1", "Gc", None, "test"),
        ],
        columns=["pert", "gene", "label", "split"],
    )
    tables = SymbolTables({}, {"Gb": "B", "Gc": "B"}, ("No table of proteins.",))
    scores = (ProbedScore("similarity", 0.9, 0.87, 80, 0.78, 7.5),)
    probe = ProbedRows(
        "gene", "DE", ALL_ROWS, ShareProbe(40, 0.9, 0.5, 6.0), WithinProbe(0.8, 80, scores)
    )
    checked = LeakageAudit(
        Dataset("1", "toy", "mouse", "", "imported"),
        check_counts(rows),
        tuple(compare_splits(rows, tables)),
        (
            RowFinding(
                "train", "the order of rows in the file reveals labels: DE 0.990 over all rows"
            ),
        ),
        (
            TextCheck("pack", 3, 2, 1, ("states labels as they are: Pa_Ga",)),
            TextCheck("other", 0, error="its file is gone"),
        ),
        (SpaceCheck("near", None, (probe,)), SpaceCheck("gone", "bmdm", error="its file is gone")),
        (),
        tables.notes,
        (LeakPower("gene", "DE", 0.5, 0.25, float("nan"), 40),),
    )
    alone = rows[rows["split"] == "train"]
    return checked, LeakageAudit(
        Dataset("1", "toy", "mouse", "", "imported"), check_counts(alone), (), (), (), (), ()
    )
