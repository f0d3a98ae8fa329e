"""The explanations of the field's terms."""

from __future__ import annotations

import pytest

from core.base.texts import NO_BIOLOGY
from core.scoring import sentences
from core.scoring.sentences import TWO_WAY, UNSEEN
from core.transfer import run_cells


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            f"DE is below the {NO_BIOLOGY} (count-only): −0.096, {TWO_WAY}",
            ["No-biology", "Count-only", "Allowing"],
        ),
        (
            f"DE 0.535 (permuted vectors 0.5 ± 0.005), {UNSEEN}: {run_cells.NAME}",
            ["Labels", "Cut", "Permuted"],
        ),
        ("as leave-one-out, by rows alone", ["Leave-one-out", "By rows alone"]),
        ("Scored over all rows", []),
        ("a cutting edge, an excellent cellar", []),
    ],
)
def test_a_text_is_explained_by_the_terms_in_it(text: str, names: list[str]) -> None:
    found = (sentences.explain(text) or "").split("\n\n")
    assert [
        each[2 : 2 + len(name)] for each, name in zip(found, names, strict=bool(names))
    ] == names
    assert bool(names) == (sentences.explain(text) is not None)
