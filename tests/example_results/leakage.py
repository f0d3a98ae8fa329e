"""Results of the leakage audit: of a dataset with a leak of each kind, and of one without."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.base.result import Result
from core.features.leakage.audit import InputCheck, LeakageAudit, check_counts
from core.features.leakage.shared_symbols import SymbolTables, compare_splits
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
    dataset = Dataset("1", "toy", "mouse", "", "imported")
    inputs = (
        InputCheck("rows", "toy", ("the order of rows in the file reveals labels: DE 0.990",)),
        InputCheck("text", "pack", ("states labels as they are: Pa_Ga",)),
        InputCheck("space", "gone", remark="cannot be read: its file is gone"),
        InputCheck("run", "debate"),
    )
    power = ("DE of target genes: a matrix of labels, found with 1 SD of noise",)
    splits = tuple(compare_splits(rows, tables))
    checked = LeakageAudit(dataset, check_counts(rows), splits, inputs, tables.notes, power)
    alone = rows[rows["split"] == "train"]
    return checked, LeakageAudit(dataset, check_counts(alone), (), ())
