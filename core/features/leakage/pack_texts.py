"""Knowledge packs as texts about genes, for what searches them: descriptions, pathways, networks
and regulation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from core.base.errors import InputError, StateError
from core.features.leakage.label_statements import TextCheck
from core.features.leakage.text_leaks import check_pack
from core.runs import packs
from core.runs.workspace import Workspace
from core.store import spaces
from core.store.spaces import PackRecord
from core.transfer.row_index import RowIndex

_KINDS = ("descriptions", "pathways", "network", "regulation")
_SIGNS = {1: "up", -1: "down", 0: ""}


def check_all(workspace: Workspace, index: RowIndex) -> tuple[TextCheck, ...]:
    """Return what the texts of every pack say of a dataset's labelled rows; a pack that cannot be
    read says so."""
    return tuple(_check(workspace, pack, index) for pack in list_with_texts(workspace))


def _check(workspace: Workspace, pack: PackRecord, index: RowIndex) -> TextCheck:
    try:
        return check_pack(pack.name, read(workspace, pack), index)
    except (InputError, StateError) as error:
        return TextCheck(pack.name, 0, error=str(error))


def list_with_texts(workspace: Workspace) -> list[PackRecord]:
    """Return the packs that say something about pairs of genes, oldest first."""
    with workspace.store.read() as db:
        return [pack for pack in spaces.list_packs(db) if pack.kind in _KINDS]


def read(workspace: Workspace, record: PackRecord) -> Mapping[str, str]:
    """Return a pack's texts by gene; of edges a sentence each. Raise StateError or InputError if it
    cannot be read."""
    pack = packs.read(workspace.settings, record.name, record.sha256)
    if pack.kind == "descriptions":
        texts: Mapping[str, str] = pack.entries
        return texts
    if pack.kind == "pathways":
        return {gene: "\n".join(names) for gene, names in pack.entries.items()}
    sentences: dict[str, list[str]] = defaultdict(list)
    if pack.kind == "network":
        for edge in pack.entries:
            sentences[edge[0]].append(str(edge[1]))
    else:
        for (factor, target), sign in pack.entries.items():
            sentences[factor].append(f"{target} {_SIGNS[sign]}")
    return {gene: "\n".join(lines) for gene, lines in sentences.items()}
