"""Knowledge packs are read as texts about genes."""

from __future__ import annotations

import json

import pytest

from core.features.importing.actions import import_upload
from core.features.importing.import_target import ImportOptions
from core.features.leakage import pack_texts
from core.runs.workspace import Workspace


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "content", "texts"),
    [
        (
            "descriptions.json",
            {"Stat1": "A factor of many genes.", "Irf1": "Another factor of genes."},
            {"Stat1": "A factor of many genes."},
        ),
        (
            "pathways.json",
            {"Stat1": ["Interferon signalling", "Death"]},
            {"Stat1": "Interferon signalling\nDeath"},
        ),
    ],
)
def test_texts_by_gene(
    workspace: Workspace, name: str, content: dict[str, object], texts: dict[str, str]
) -> None:
    assert (
        import_upload(workspace, json.dumps(content).encode(), name, ImportOptions()).kind
        != "failed"
    )
    [pack] = pack_texts.list_with_texts(workspace)
    found = pack_texts.read(workspace, pack)
    assert {gene: found[gene] for gene in texts} == texts
