"""What a tool is, and how its answers become `Evidence`."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from core.errors import InputError
from core.evidence.errors import SourceError, SourceOffline
from core.evidence.label_view import LabelView
from core.evidence.packs import Packs
from core.evidence.symbol_table import Table
from core.types import Evidence

if TYPE_CHECKING:
    from core.evidence.source_client import SourceClient

Argument = Literal["pert", "gene"]
Status = Literal["ok", "empty", "error", "offline"]

V = TypeVar("V")

_BLIND = LabelView(())  # what a tool gets that sees no labels


class Answer(NamedTuple):
    """What a tool found; the body is plain JSON, empty unless the status is ok or spellings are ambiguous.

    source: where it is from, or why there is no answer. retrieved_at: when a public source said it, None for what was here.
    """

    status: Status
    source: str
    body: Mapping[str, Any]
    retrieved_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """What a tool is asked, and what it may look at; web: public sources, None where the packs alone are to be read."""

    pert: str | None
    gene: str | None
    packs: Packs
    view: LabelView
    web: SourceClient | None = None

    @property
    def symbol(self) -> str:
        """The one symbol asked about, as a perturbation or as a gene; "" where there is none."""
        return self.pert or self.gene or ""


@dataclass(frozen=True, slots=True)
class Tool:
    """One way to learn about a pair.

    takes: the arguments it can be asked about. together: whether it takes both at once; otherwise it answers about one
    symbol a call. sees_labels: whether it gets the label view; a tool that does not gets an empty one. as_pair: whether a
    dossier asks it about both at once.
    """

    name: str
    description: str
    takes: tuple[Argument, ...]
    ask: Callable[[Query], Answer | Awaitable[Answer]]
    sees_labels: bool = False
    together: bool = False
    as_pair: bool = False

    async def run(
        self, pert: str | None, gene: str | None, packs: Packs, view: LabelView, web: SourceClient | None = None
    ) -> Evidence:
        """Ask, with None for an argument that is left out.

        The key names what was asked and, where labels were seen, the view. A public source that gives no answer makes the
        status "offline" or "error". Raises InputError for arguments that the tool does not take.
        """
        self._check(pert, gene)
        seen = view if self.sees_labels else _BLIND
        answer = await self._answer(Query(pert, gene, packs, seen, web))
        name = seen.name if self.sees_labels else ""
        key = f"{self._subject(pert, gene)} @ {name}" if name else self._subject(pert, gene)
        return Evidence(self.name, key, answer.status, answer.source, answer.retrieved_at, answer.body, name)

    def calls(self, pert: str, gene: str) -> tuple[tuple[str | None, str | None], ...]:
        """How a dossier asks the tool about a pair: about both, else once for each argument by itself or without any."""
        if self.as_pair:
            return ((pert, gene),)
        asked: dict[Argument, tuple[str | None, str | None]] = {"pert": (pert, None), "gene": (None, gene)}
        return tuple(asked[argument] for argument in self.takes) or ((None, None),)

    async def _answer(self, query: Query) -> Answer:
        try:
            answer = self.ask(query)
            return await answer if inspect.isawaitable(answer) else answer
        except SourceError as error:
            return Answer("offline" if isinstance(error, SourceOffline) else "error", str(error), {})

    def _check(self, pert: str | None, gene: str | None) -> None:
        given = [argument for argument, value in (("pert", pert), ("gene", gene)) if value is not None]
        most = len(self.takes) if self.together else min(1, len(self.takes))
        if set(given) - set(self.takes) or len(given) > most or (self.takes and not given) or "" in (pert, gene):
            word = " and/or " if self.together else " or "
            raise InputError(f"{self.name}: pert {pert!r}, gene {gene!r}; expected {word.join(self.takes) or 'neither'}")

    def _subject(self, pert: str | None, gene: str | None) -> str:
        if self.together:
            return f"{pert or '*'}|{gene or '*'}"
        return pert or gene or "all rows in view"


def look_up(symbol: str, table: Table[V], body: Callable[[str, V], Mapping[str, Any] | None]) -> Answer:
    """What a table says of a symbol, made into a body by `body(spelling, entry)`; None there means nothing is known.

    Where only another case of the symbol is listed, the body has the spelling that was `asked`; where several are, none
    is taken and they stand under `ambiguous`. An absent source is "offline".
    """
    if not table.present:
        return Answer("offline", table.source, {})
    found = table.spellings(symbol)
    if len(found) > 1:
        return Answer("empty", table.source, {"ambiguous": list(found)})
    said = body(found[0], table.entries[found[0]]) if found else None
    if said is None:
        return Answer("empty", table.source, {})
    return Answer("ok", table.source, said if found[0] == symbol else {**said, "asked": symbol})
