from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.base.errors import InputError
from core.features.importing.gene_sets import GeneSet, read_gene_sets


def test_sets_with_and_without_a_description(tmp_path: Path) -> None:
    file = tmp_path / "sets.json"
    file.write_text(
        json.dumps(
            [{"genes": ["A1", "B2"], "label": "a complex"}, {"genes": ["C3"], "label": None}]
        )
    )
    assert read_gene_sets(file) == (GeneSet(("A1", "B2"), "a complex"), GeneSet(("C3",), None))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "sets.json cannot be read: is no JSON"),
        ("[]", r"is \[\], expected a list of \{"),
        ('{"genes": ["A"], "label": null}', "expected a list"),
        (
            '[{"genes": ["A"], "label": "x"}, {"genes": [], "label": null}]',
            r"2.genes is \[\], expected a list of symbols",
        ),
        ('[{"genes": ["A", 1], "label": null}]', "1.genes has 1, expected a text"),
        ('[{"genes": ["A"], "label": 3}]', "1.label is 3, expected a text"),
        ('[{"genes": ["A"]}]', "1.label is missing"),
    ],
)
def test_what_is_no_list_of_sets(content: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "sets.json"
    file.write_text(content)
    with pytest.raises(InputError, match=said):
        read_gene_sets(file)
