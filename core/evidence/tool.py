"""What an evidence tool is, and how its answers become `Evidence`."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from core.base.errors import InputError
from core.base.types import Evidence
from core.evidence.label_view import LabelView
from core.evidence.packs import PackName, Packs, Table
from core.evidence.sources import SourceError, SourceOffline

if TYPE_CHECKING:
    from core.evidence.source_client import SourceClient

Argument = Literal["pert", "gene"]
Status = Literal["ok", "empty", "error", "offline"]

V = TypeVar("V")

_NO_LABELS = LabelView(())  # for tools that see no labels


class Answer(NamedTuple):
    """The answer of a tool; the body is plain JSON, empty unless the status is ok or spellings are
    ambiguous.

    source: where the answer is from, or why there is none. retrieved_at: when a public source gave
    it, None for a local one.
    """

    status: Status
    source: str
    body: Mapping[str, Any]
    retrieved_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """A tool's query, and the data that it may read. client: for public sources; None if it may
    read the packs only."""

    pert: str | None
    gene: str | None
    packs: Packs
    view: LabelView
    client: SourceClient | None = None

    @property
    def symbol(self) -> str:
        """The one symbol asked about, a perturbation or a gene; "" if there is none."""
        return self.pert or self.gene or ""


@dataclass(frozen=True, slots=True)
class Tool:
    """One way to learn about a pair.

    takes: the arguments that it accepts. takes_both: whether it accepts both in one call; otherwise
    one. sees_labels: whether it gets the label view; other tools get an empty one. as_pair: whether
    a dossier asks it about both in one call. reads: the knowledge packs that it reads; no other is
    given to the runs that use it.
    """

    name: str
    description: str
    takes: tuple[Argument, ...]
    ask: Callable[[Query], Answer | Awaitable[Answer]]
    sees_labels: bool = False
    takes_both: bool = False
    as_pair: bool = False
    reads: tuple[PackName, ...] = ()

    async def run(
        self,
        pert: str | None,
        gene: str | None,
        packs: Packs,
        view: LabelView,
        client: SourceClient | None = None,
    ) -> Evidence:
        """Ask the tool, with None for an argument that is left out.

        The key names the arguments and, if the tool sees labels, the view. If a public source gives
        no answer, the status is "offline" or "error". Raise InputError for arguments that the tool
        does not take.
        """
        given = [
            argument for argument, value in (("pert", pert), ("gene", gene)) if value is not None
        ]
        most = len(self.takes) if self.takes_both else min(1, len(self.takes))
        if (
            set(given) - set(self.takes)
            or len(given) > most
            or (self.takes and not given)
            or "" in (pert, gene)
        ):
            word = " and/or " if self.takes_both else " or "
            raise InputError(
                f"{self.name}: pert {pert!r}, gene {gene!r}; expected"
                f" {word.join(self.takes) or 'neither'}"
            )
        visible = view if self.sees_labels else _NO_LABELS
        answer = await self._answer(Query(pert, gene, packs, visible, client))
        name = visible.name if self.sees_labels else ""
        key = f"{self._subject(pert, gene)} @ {name}" if name else self._subject(pert, gene)
        return Evidence(
            self.name, key, answer.status, answer.source, answer.retrieved_at, answer.body, name
        )

    def calls(self, pert: str, gene: str) -> tuple[tuple[str | None, str | None], ...]:
        """Return the arguments of each call that a dossier makes for a pair: both, each by itself,
        or none."""
        if self.as_pair:
            return ((pert, gene),)
        single: dict[Argument, tuple[str | None, str | None]] = {
            "pert": (pert, None),
            "gene": (None, gene),
        }
        return tuple(single[argument] for argument in self.takes) or ((None, None),)

    async def _answer(self, query: Query) -> Answer:
        try:
            answer = self.ask(query)
            return await answer if inspect.isawaitable(answer) else answer
        except SourceError as error:
            return Answer(
                "offline" if isinstance(error, SourceOffline) else "error", str(error), {}
            )

    def _subject(self, pert: str | None, gene: str | None) -> str:
        if self.takes_both:
            return f"{pert or '*'}|{gene or '*'}"
        return pert or gene or "all rows in view"


def answer_from_table(
    symbol: str, table: Table[V], body: Callable[[str, V], Mapping[str, Any] | None]
) -> Answer:
    """Return the table's entry for a symbol as an answer, whose body is `body(spelling, entry)`;
    None there means "empty".

    If the table lists the symbol in another case only, the body also has the spelling `asked`; if
    it lists several, the answer is "empty" and has them under `ambiguous`. If the table is not
    present, the answer is "offline".
    """
    if not table.present:
        return Answer("offline", table.source, {})
    spellings = table.spellings(symbol)
    if len(spellings) > 1:
        return Answer("empty", table.source, {"ambiguous": list(spellings)})
    content = body(spellings[0], table.entries[spellings[0]]) if spellings else None
    if content is None:
        return Answer("empty", table.source, {})
    return Answer(
        "ok", table.source, content if spellings[0] == symbol else {**content, "asked": symbol}
    )
