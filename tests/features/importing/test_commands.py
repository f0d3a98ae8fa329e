"""What `import` prints of rejected rows: the first of each reason, and how many more there are."""

from __future__ import annotations

import pytest

from core.base.types import Rejected
from core.features.importing.commands import show_imports
from core.features.importing.import_target import Imported


def test_the_first_rejected_rows_of_each_reason_are_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    repeated = [Rejected("a.csv", line, "bad label", "'x'") for line in range(3, 1003)]
    rejected = (Rejected("a.csv", 2, "empty cell", "none"), *repeated)
    show_imports([Imported("a.csv", "labels", "a", 1, rejected)])
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "a.csv, line 2: empty cell: none"
    assert [line.split(":")[0] for line in lines[1:-1]] == [
        f"a.csv, line {line}" for line in range(3, 23)
    ]
    assert lines[-1] == "a.csv: bad label: 980 more rows"
