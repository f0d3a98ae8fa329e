"""Knowledge packs of a workspace: which there are, and what is read from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from core.base.errors import InputError, StateError
from core.evidence.packs import PackName, Packs, Source
from core.features.importing import pack_files
from core.features.importing.knowledge_packs import Pack
from core.features.leakage.shared_symbols import SymbolTables
from core.runs.workspace import Workspace
from core.store import spaces
from core.store.spaces import PackRecord

ORGANISMS = ("mouse", "human")


def name_of_latest(workspace: Workspace, kind: str, organism: str = "") -> str | None:
    """Return the name of the latest pack of a kind about an organism, "" for any; None without
    one."""
    return next(names_of_kind(workspace, kind, organism), None)


def names_of_kind(workspace: Workspace, kind: str, organism: str = "") -> Iterator[str]:
    """Yield the names of the packs of a kind about an organism, "" for any; the latest first."""
    with workspace.store.read() as db:
        of_kind = [pack for pack in spaces.list_packs(db) if pack.kind == kind]
    yield from (pack.name for pack in reversed(of_kind) if _is_about(pack, organism))


def read_latest(workspace: Workspace, kind: str, organism: str = "") -> Pack | None:
    """Return the contents of the latest pack of a kind about an organism, "" for any; None without
    one.

    Raise StateError if its file is missing.
    """
    name = name_of_latest(workspace, kind, organism)
    return None if name is None else pack_files.read(workspace.settings, name)


def read_orthologs(workspace: Workspace, organism: str) -> Mapping[str, str]:
    """Return the workspace's latest table of an organism's orthologs; empty if there is none."""
    pack = read_latest(workspace, "orthologs", organism)
    return pack.entries if pack else {}


def read_symbol_tables(workspace: Workspace, organism: str = "") -> SymbolTables:
    """Return the latest tables of proteins and orthologs; one that is missing or unreadable is
    empty and named in the notes."""
    notes: list[str] = []
    proteins = _read_or_note(
        workspace, "proteins", organism, "two names of one gene are not recognised", notes
    )
    orthologs = _read_or_note(workspace, "orthologs", organism, "paralogs are not listed", notes)
    return SymbolTables(
        proteins.entries if proteins else {}, orthologs.entries if orthologs else {}, tuple(notes)
    )


def _read_or_note(
    workspace: Workspace, kind: str, organism: str, effect: str, notes: list[str]
) -> Pack | None:
    try:
        pack = read_latest(workspace, kind, organism)
    except (InputError, StateError) as error:
        notes.append(f"{effect}: {error}")
        return None
    if pack is None:
        whose = f" of {organism} genes" if organism in ORGANISMS else ""
        notes.append(f"{effect}: the workspace has no knowledge pack of {kind}{whose}")
    return pack


# Kind of a pack that evidence tools read → its field of `Packs`.
_READ_BY_TOOLS: Mapping[str, PackName] = {
    "descriptions": "descriptions",
    "orthologs": "orthologs",
    "pathways": "pathways",
    "network": "edges",
    "regulation": "signs",
    "signalling": "signalling",
    "lps_response": "responses",
}


def pack_hashes(workspace: Workspace, organism: str, *, or_another: bool = False) -> dict[str, str]:
    """Return the SHA-256 of the packs that evidence tools would read now, by their names among
    `Packs`.

    They are the latest of each kind that are about genes of this organism, or whose symbols do not
    show it; about any if the organism is unknown. or_another: use the latest pack about another
    organism if a kind has none about this one.
    """
    with workspace.store.read() as db:
        records = [record for record in spaces.list_packs(db) if record.kind in _READ_BY_TOOLS]
    others = records if or_another else []
    own = [record for record in records if _is_about(record, organism)]
    return {_READ_BY_TOOLS[record.kind]: record.sha256 for record in (*others, *own)}


def _is_about(record: PackRecord, organism: str) -> bool:
    return record.organism in ("", organism) or organism not in ORGANISMS


def read_packs(workspace: Workspace, planned: Mapping[str, str]) -> Packs:
    """Return the knowledge packs that a run was planned with, as evidence tools read them.

    planned: name among `Packs` → SHA-256. Raise StateError if a pack of this content is missing.
    """
    with workspace.store.read() as db:
        here, kept = spaces.list_packs(db), spaces.list_kept_packs(db)
    records = {record.sha256: record for record in (*kept, *here)}
    contents: dict[str, Any] = {}
    sources: dict[Any, Source] = {}
    for name, sha256 in planned.items():
        if sha256 not in records or name not in _READ_BY_TOOLS.values():
            planned_with = f"the version planned for the run (hash {sha256[:12]}) is missing"
            raise StateError(
                f"knowledge pack {name}: {planned_with}; import it again, or start a new run"
            )
        contents[name] = read_here_or_kept(workspace, records[sha256]).entries
        sources[name] = Source(records[sha256].source, sha256)
    return Packs(**contents, sources=sources)


def read_here_or_kept(workspace: Workspace, record: PackRecord) -> Pack:
    """Return a pack, from what was kept of it if it was replaced. Raise StateError or InputError if
    it cannot be read."""
    try:
        return pack_files.read(workspace.settings, record.name, record.sha256)
    # replaced, perhaps just now: before that, its contents were kept
    except (InputError, StateError):
        pack = pack_files.read_kept(workspace.settings, record)
        if pack is None or pack.sha256 != record.sha256:
            raise
        return pack
