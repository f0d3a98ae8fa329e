"""Tables by gene symbol, and knowledge packs as tools read them: such tables, each built on first
use."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, Literal, NamedTuple, TypeVar

PackName = Literal[
    "descriptions", "orthologs", "pathways", "edges", "signs", "responses", "signalling"
]
PACK_NAMES: tuple[PackName, ...] = (
    "descriptions",
    "orthologs",
    "pathways",
    "edges",
    "signs",
    "responses",
    "signalling",
)

V = TypeVar("V")


@dataclass(frozen=True, eq=False)
class Table(Generic[V]):
    """Entries by gene symbol, found by exact spelling first and then in any case, without guessing.

    source: where they come from. present: False if the workspace lacks this source.
    """

    entries: Mapping[str, V]
    source: str
    present: bool = True

    def spellings(self, symbol: str) -> tuple[str, ...]:
        """Return the symbol itself if it is listed, else every listed spelling that differs in case
        only, sorted."""
        return (symbol,) if symbol in self.entries else self._by_casefold.get(symbol.casefold(), ())

    @cached_property
    def _by_casefold(self) -> Mapping[str, tuple[str, ...]]:
        spellings: dict[str, tuple[str, ...]] = {}
        for symbol in sorted(self.entries):
            spellings[symbol.casefold()] = (*spellings.get(symbol.casefold(), ()), symbol)
        return spellings


class Source(NamedTuple):
    """The source of a pack: a name for people and the file's SHA-256, of which the first 12
    characters are shown."""

    name: str
    sha256: str

    def __str__(self) -> str:
        return f"{self.name}, sha256 {self.sha256[:12]}"


class Partner(NamedTuple):
    """A protein that interacts with another; score from 1 to 1000."""

    symbol: str
    score: int


class Regulated(NamedTuple):
    """The other gene of a regulation, its factor or its target; sign: 1 activated, −1 repressed, 0
    unknown."""

    symbol: str
    sign: int


class Response(NamedTuple):
    """How LPS changes a gene's expression: log fold change, p-values in [0, 1], mean expression (at
    least 0) with and without LPS."""

    logfc: float
    p_value: float
    p_adj: float
    mean_lps: float
    mean_ctrl: float


@dataclass(frozen=True, eq=False)
class Packs:
    """What is known about genes apart from the labels; None for a pack that the run has not: when
    it was planned, the workspace had none about genes of its organism.

    descriptions: gene → text. orthologs: gene → symbol in the other organism. pathways: gene →
    names. edges: (gene, gene, score from 1 to 1000), each pair once. signs, signalling: (factor,
    target) → 1, −1 or 0. sources: one for each pack that is not None.
    """

    descriptions: Mapping[str, str] | None = None
    orthologs: Mapping[str, str] | None = None
    pathways: Mapping[str, tuple[str, ...]] | None = None
    edges: Sequence[tuple[str, str, int]] | None = None
    signs: Mapping[tuple[str, str], int] | None = None
    signalling: Mapping[tuple[str, str], int] | None = None
    responses: Mapping[str, Response] | None = None
    sources: Mapping[PackName, Source] = field(default_factory=dict)

    @cached_property
    def description_table(self) -> Table[str]:
        """Descriptions by gene."""
        return self._table("descriptions", self.descriptions or {})

    @cached_property
    def ortholog_table(self) -> Table[str]:
        """Orthologs by gene."""
        return self._table("orthologs", self.orthologs or {})

    @cached_property
    def pathway_table(self) -> Table[tuple[str, ...]]:
        """Pathways by gene, the most specific first: those with the fewest genes in the pack."""
        pathways = self.pathways or {}
        genes = Counter(name for names in pathways.values() for name in set(names))
        ranked = {
            gene: tuple(sorted(set(names), key=lambda name: (genes[name], name)))
            for gene, names in pathways.items()
        }
        return self._table("pathways", ranked)

    @cached_property
    def partner_table(self) -> Table[tuple[Partner, ...]]:
        """Interaction partners by gene, the highest score first, equal scores in alphabetical
        order."""
        by_gene: dict[str, list[Partner]] = defaultdict(list)
        for a, b, score in self.edges or ():
            by_gene[a].append(Partner(b, score))
            by_gene[b].append(Partner(a, score))
        ranked = {
            gene: tuple(sorted(partners, key=lambda partner: (-partner.score, partner.symbol)))
            for gene, partners in by_gene.items()
        }
        return self._table("edges", ranked)

    @cached_property
    def regulator_table(self) -> Table[tuple[Regulated, ...]]:
        """Transcription factors by target gene, in alphabetical order."""
        return self._regulation(1)

    @cached_property
    def target_table(self) -> Table[tuple[Regulated, ...]]:
        """Targets by transcription factor, in alphabetical order."""
        return self._regulation(0)

    def _regulation(self, place: int) -> Table[tuple[Regulated, ...]]:
        """Return the other gene and the sign of each regulation by its factor, place 0, or by its
        target, 1."""
        by_gene: dict[str, list[Regulated]] = defaultdict(list)
        for pair, sign in (self.signs or {}).items():
            by_gene[pair[place]].append(Regulated(pair[1 - place], sign))
        return self._table(
            "signs", {gene: tuple(sorted(others)) for gene, others in by_gene.items()}
        )

    @cached_property
    def lps_table(self) -> Table[Response]:
        """Responses to LPS by gene."""
        return self._table("responses", self.responses or {})

    def _table(self, name: PackName, entries: Mapping[str, V]) -> Table[V]:
        """Return the table of a pack, one that is not present if the run has none."""
        if getattr(self, name) is None:
            return Table({}, f"knowledge pack {name}: none for this run", present=False)
        return Table(entries, str(self.sources[name]))
