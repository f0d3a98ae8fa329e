"""Perturbations and target genes shared by two splits of a dataset: spelled alike, in another case,
or under another name.

In all three cases the gene is the same, so labels of one split carry information about the other.
Two genes of one organism with the same ortholog in another are different genes (paralogs): they are
listed separately and are not a leak.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

import pandas as pd

from core.base.errors import InputError, StateError
from core.base.result import HIDDEN
from core.base.texts import list_some
from core.evidence.knowledge_packs import Pack
from core.runs import packs
from core.runs.workspace import Workspace

SHOWN = 3  # symbols to name in a text; the rest is counted


@dataclass(frozen=True)
class SymbolTables:
    """What is known about symbols; empty without a table.

    proteins: symbol → its protein; two symbols that alone share a protein are aliases. orthologs:
    symbol → the symbol in the other organism; symbols with the same ortholog are paralogs. notes:
    missing tables, and why.
    """

    proteins: Mapping[str, str] = field(default_factory=dict)
    orthologs: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


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
        pack = packs.read_latest(workspace, kind, organism)
    except (InputError, StateError) as error:
        notes.append(f"{effect}: {error}")
        return None
    if pack is None:
        whose = f" of {organism} genes" if organism in packs.ORGANISMS else ""
        notes.append(f"{effect}: the workspace has no knowledge pack of {kind}{whose}")
    return pack


@dataclass(frozen=True, slots=True)
class Paralogs:
    """Different genes of two splits, `a` and `b`, with the same ortholog."""

    ortholog: str
    a: tuple[str, ...]
    b: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SharedSymbols:
    """The genes that two splits share in one role, each in exactly one of exact, other_case and
    aliases; all sorted.

    other_case, aliases: (symbol in the first split, symbol in the second).
    """

    exact: tuple[str, ...]
    other_case: tuple[tuple[str, str], ...]
    aliases: tuple[tuple[str, str], ...]
    paralogs: tuple[Paralogs, ...]

    def __len__(self) -> int:
        """Return the number of shared genes, without paralogs."""
        return len(self.exact) + len(self.other_case) + len(self.aliases)

    def keys(self) -> set[str]:
        """Return the shared genes as the first split's symbols in lower case, so that several pairs
        of splits can be combined."""
        return {
            symbol.casefold()
            for symbol in (*self.exact, *(a for a, _ in (*self.other_case, *self.aliases)))
        }

    def examples(self) -> str:
        """Return the names of the first few shared genes, "Tnf, Il6 = IL6 and 30 more"; genes
        spelled alike come first."""
        names = [*self.exact, *(f"{a} = {b}" for a, b in (*self.other_case, *self.aliases))]
        return list_some(names, SHOWN)


@dataclass(frozen=True, slots=True)
class SplitOverlap:
    """The symbols that two splits of a dataset share: as perturbations, and as target genes."""

    a: str
    b: str
    perts: SharedSymbols = field(metadata=HIDDEN)
    genes: SharedSymbols = field(metadata=HIDDEN)
    json_properties = ("shared_perts", "shared_genes", "paralogs")

    @property
    def shared_perts(self) -> int:
        """The number of shared perturbations."""
        return len(self.perts)

    @property
    def shared_genes(self) -> int:
        """The number of shared target genes."""
        return len(self.genes)

    @property
    def paralogs(self) -> list[dict[str, Any]]:
        """Different genes with the same ortholog, which are not shared."""
        roles = {"pert": self.perts, "gene": self.genes}
        return [
            {"role": role, **asdict(group)}
            for role, symbols in roles.items()
            for group in symbols.paralogs
        ]


def compare_splits(pairs: pd.DataFrame, tables: SymbolTables) -> list[SplitOverlap]:
    """Compare any two splits of a dataset, labelled or not, in file order; pairs: columns split,
    pert and gene."""
    splits = dict(iter(pairs.groupby("split", sort=False)))
    return [
        SplitOverlap(
            str(a),
            str(b),
            find_shared_symbols(splits[a]["pert"], splits[b]["pert"], tables),
            find_shared_symbols(splits[a]["gene"], splits[b]["gene"], tables),
        )
        for a, b in combinations(splits, 2)
    ]


def find_shared_symbols(a: Iterable[str], b: Iterable[str], tables: SymbolTables) -> SharedSymbols:
    """Return the genes that two sets of symbols of one organism share, and the paralogs among the
    rest."""
    first, second = _by_casefold(a), _by_casefold(b)
    exact, other_case = [], []
    for key in sorted(first.keys() & second.keys()):
        same = sorted(first[key] & second[key])
        if same:
            exact.append(same[0])
        else:
            other_case.append((min(first[key]), min(second[key])))
    only_first = {key: min(first[key]) for key in first.keys() - second.keys()}
    only_second = {key: min(second[key]) for key in second.keys() - first.keys()}
    # Symbols of both sides that alone share a protein
    names: dict[str, set[str]] = {}
    for symbol, protein in tables.proteins.items():
        names.setdefault(protein, set()).add(symbol.casefold())
    pairs = [tuple(sorted(keys)) for keys in names.values() if len(keys) == 2]
    found = [
        (only_first[one], only_second[other])
        for x, y in pairs
        for one, other in ((x, y), (y, x))
        if one in only_first and other in only_second
    ]
    aliases = sorted(found)
    for one, other in aliases:
        only_first.pop(one.casefold(), None)
        only_second.pop(other.casefold(), None)
    table = {spelling.casefold(): ortholog for spelling, ortholog in tables.orthologs.items()}
    sides: list[dict[str, list[str]]] = [{}, {}]
    for side, symbols in zip(sides, (only_first, only_second), strict=True):
        for folded, spelling in symbols.items():
            if folded in table:
                side.setdefault(table[folded], []).append(spelling)
    paralogs = [
        Paralogs(name, *(tuple(sorted(side[name])) for side in sides))
        for name in sorted(sides[0].keys() & sides[1].keys())
    ]
    return SharedSymbols(tuple(exact), tuple(other_case), tuple(aliases), tuple(paralogs))


def _by_casefold(symbols: Iterable[str]) -> dict[str, set[str]]:
    """Return the spellings of each symbol."""
    spellings: dict[str, set[str]] = {}
    for symbol in set(symbols):
        spellings.setdefault(symbol.casefold(), set()).add(symbol)
    return spellings
