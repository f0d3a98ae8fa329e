from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.datasets.gene_sets import GeneSet, read_gene_sets
from core.errors import InputError


def test_sets_with_and_without_a_description(tmp_path: Path) -> None:
    file = tmp_path / "sets.json"
    file.write_text(json.dumps([{"genes": ["A1", "B2"], "label": "a complex"}, {"genes": ["C3"], "label": None}]))
    assert read_gene_sets(file) == (GeneSet(("A1", "B2"), "a complex"), GeneSet(("C3",), None))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "sets.json: not JSON"),
        ("[]", r"sets.json: \[\], expected a list"),
        ('{"genes": ["A"], "label": null}', "expected a list"),
        ('[{"genes": ["A"], "label": "x"}, {"genes": [], "label": null}]', "sets.json: entry 2 is"),
        ('[{"genes": ["A", 1], "label": null}]', "entry 1 is"),
        ('[{"genes": ["A"], "label": 3}]', "entry 1 is"),
        ('[{"genes": ["A"]}]', "entry 1 is"),
    ],
)
def test_what_is_no_list_of_sets(content: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "sets.json"
    file.write_text(content)
    with pytest.raises(InputError, match=said):
        read_gene_sets(file)
