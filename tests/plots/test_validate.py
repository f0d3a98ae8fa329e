"""Tables that lack what a figure needs."""

from __future__ import annotations

import pandas as pd
import pytest

from core.errors import InputError
from core.plots import validate


def test_missing_columns_are_named() -> None:
    with pytest.raises(InputError, match="roc: missing columns fpr, tpr; got who; expected who, fpr, tpr"):
        validate.columns("roc", pd.DataFrame({"who": []}), ["who", "fpr", "tpr"])


def test_more_columns_than_needed_are_fine() -> None:
    validate.columns("roc", pd.DataFrame({"who": [], "fpr": []}), ["fpr"])


def test_unknown_values_are_named() -> None:
    table = pd.DataFrame({"label": ["up", "upp", "up"]})
    with pytest.raises(InputError, match="spread: label: got 'upp'; expected up, down"):
        validate.one_of("spread", table, "label", ["up", "down"])
