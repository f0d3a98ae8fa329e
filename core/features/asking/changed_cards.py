"""A dossier with cards left out or with other texts: the changes made by hand, as data and in
words.

A card is one answer of one tool. Its name is TOOL:KEY, the key without the label view, such as
"gene_class:Rpl3".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated

from core.base.errors import InputError
from core.base.records import parse
from core.base.types import Evidence, Pair
from core.evidence.render import EDITED, MAX_CHARACTERS, render

BEFORE = "instead_of"  # of an edited card's body: what the card said
EDITOR = "edited by hand"  # the source of an edited card
# of an edited text: the room of the longest answer, of whole abstracts
LONGEST = 4 * MAX_CHARACTERS


@dataclass(frozen=True, slots=True, order=True)
class CardChange:
    """One card left out, or its text replaced. key: as in `Evidence`. text: one line, blanks made
    single; None leaves it out.

    Raises InputError for a text that is empty or longer than LONGEST.
    """

    tool: str
    key: str
    text: str | None = None

    def __post_init__(self) -> None:
        if self.text is None:
            return
        text = " ".join(self.text.split())
        if not 0 < len(text) <= LONGEST:
            raise InputError(
                f"text of card {self.name}: {len(text):,} characters, expected 1 to {LONGEST:,}; or"
                " leave it out"
            )
        object.__setattr__(self, "text", text)

    @property
    def name(self) -> str:
        """The card's name."""
        return card_name(self.tool, self.key)


_Changes = Annotated[tuple[CardChange, ...], "a list of {tool, key, text}"]


def card_name(tool: str, key: str) -> str:
    """Return the name of the card of a tool's answer: the tool and its query."""
    return f"{tool}:{key.partition(' @ ')[0]}"


def write_changes(changes: Iterable[CardChange]) -> str:
    """Return changes as JSON, in order: equal changes give equal texts; "" for none."""
    found = [
        asdict(change) for change in sorted(changes, key=lambda change: (change.tool, change.key))
    ]
    return json.dumps(found, ensure_ascii=False, sort_keys=True) if found else ""


def read_changes(text: str) -> tuple[CardChange, ...]:
    """Return the changes that `write_changes` wrote. Raise InputError for another text, and for a
    card that is changed twice."""
    changes = parse(_Changes, text or "[]", "changes")
    names = [(change.tool, change.key) for change in changes]
    if len(set(names)) < len(names):
        raise InputError(
            f"changes: {next(card_name(*each) for each in names if names.count(each) > 1)} comes"
            " twice"
        )
    return changes


def describe_changes(changes: Sequence[CardChange]) -> str:
    """Return changes in words, as in "without gene_class:Rpl3, base_rates:*|Atf3 edited"; "as it
    was" for none."""
    told = (
        f"without {change.name}" if change.text is None else f"{change.name} edited"
        for change in changes
    )
    return ", ".join(told) or "as it was"


def change_cards(
    items: Sequence[Evidence], changes: Sequence[CardChange], pair: Pair
) -> tuple[Evidence, ...]:
    """Return a dossier after the changes, in its order.

    Raise InputError for a change of a card that it lacks, and for one that changes nothing: it
    leaves out a card without a text, or gives a card the text that it has.
    """
    wanted = {(change.tool, change.key): change for change in changes}
    texts = {(item.tool, item.key): text_of(item, pair) for item in items}
    for place, change in wanted.items():
        if place not in texts:
            known = ", ".join(card_name(*each) for each in texts) or "none"
            raise InputError(
                f"card {change.name}: not in the dossier about {pair.pair_id}, expected one of"
                f" {known}"
            )
        if texts[place] == (change.text or ""):
            raise InputError(
                f"card {change.name}: the change leaves what the agents saw as it is, expected"
                " another"
            )
    left_out = {place for place, change in wanted.items() if change.text is None}
    kept = [item for item in items if (item.tool, item.key) not in left_out]
    return tuple(_edit(item, wanted.get((item.tool, item.key)), pair) for item in kept)


def _edit(item: Evidence, change: CardChange | None, pair: Pair) -> Evidence:
    if change is None:
        return item
    body = {EDITED: change.text, BEFORE: text_of(item, pair)}
    return replace(item, status="ok", source=f"{EDITOR}; before: {item.source}"[:1000], body=body)


def text_of(item: Evidence, pair: Pair) -> str:
    """Return the line of a card in the dossier; "" if its tool failed, so that it has none."""
    return render(item, (pair.pert, pair.gene)).text
