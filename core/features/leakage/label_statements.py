"""Detect labels stated in texts about genes: "Stat1 … Irf1 … down".

A mention is a symbol that forms a labelled row with the gene of the text (or with another symbol in
the same sentence). Words of direction beside mentions are compared with the labels. "Beside" means
near the mention, at the end of the sentence, or at its start, as above a list ("Induced by loss of:
Stat1, Irf1").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

from scipy.stats import binom

from core.base.texts import list_some
from core.base.types import Label

# share of directions that is right (or opposite), and the chance of such a share
STATED_RIGHT, LEAST_CHANCE = 0.85, 0.005
# statements that all give one direction; fewer say nothing about how they agree with labels
LEAST_UNVARIED = 20
SHOWN = 3
# number of tokens to search after a mention, before it, before the first mention of its sentence,
# and at the end
_NEAR = 5
_KNOCKDOWN = re.compile(
    r"\bknock(?:ed|ing|s)?[- ]?down\b|\bloss (?=of\b)", re.I
)  # says nothing about the direction of the target gene
_SENTENCE = re.compile(r"[\n;|]+|(?<=[.!?])\s+")
_NUMBER = re.compile(r"[+\-−]?\d+(?:\.\d+)?$")
_SIGNS = "\u2190-\u21ff\u25a0-\u27bf\U0001f300-\U0001faff"  # arrows, shapes, pictures
_TOKEN = re.compile(
    rf"[A-Za-z0-9][A-Za-z0-9\-.]*[A-Za-z0-9]|[A-Za-z0-9]|[{_SIGNS}]|[+\-−](?:\d+(?:\.\d+)?)?"
)
_WORDS: tuple[tuple[Label, re.Pattern[str]], ...] = (
    (Label.NONE, re.compile(r"(none|unchanged|unaffected|no|not|n\.?s|0)$", re.I)),
    (
        Label.UP,
        re.compile(
            r"(up|up-?regulat\w*|increas\w*|induc\w*|rais\w*|rise[sn]?|higher|gains?|↑|⇑|\+1?|1)$",
            re.I,
        ),
    ),
    (
        Label.DOWN,
        re.compile(
            r"(down|down-?regulat\w*|decreas\w*|reduc\w*|lower\w*|falls?|loss|↓|⇓|[-−]1?)$", re.I
        ),
    ),
)
_OPPOSITE = {Label.UP: Label.DOWN, Label.DOWN: Label.UP, Label.NONE: Label.NONE}


@dataclass(frozen=True, slots=True)
class _Mention:
    row: str
    label: Label
    # _NEAR after the mention, then before it (nearest first), above the list, and last
    tokens: tuple[str, ...]
    of: str


def find_statements(
    texts: Mapping[str, str], rows: Mapping[tuple[str, str], tuple[str, str]]
) -> list[str]:
    """Return what texts, given by symbol, state about labelled rows; rows: id and label by
    (perturbation, target gene), casefolded."""
    mentions = list({(each.row, each.of): each for each in _mentions(texts, rows)}.values())
    stated = [(each, said) for each in mentions if (said := _find_direction(each)) is not None]
    return list(_find_stated(stated))


def _mentions(
    texts: Mapping[str, str], rows: Mapping[tuple[str, str], tuple[str, str]]
) -> Iterator[_Mention]:
    symbols = {symbol for pair in rows for symbol in pair}
    for about, text in texts.items():
        for sentence in _SENTENCE.split(_KNOCKDOWN.sub("knockdown", text)):
            tokens = _tokens(sentence, symbols)
            at = [i for i, token in enumerate(tokens) if token.casefold() in symbols]
            before = [about.casefold()]
            ends = (
                [*tokens[: at[0]][::-1][:_NEAR], *tokens[at[-1] + 1 :][::-1][:_NEAR]] if at else []
            )
            for k, i in enumerate(at):
                symbol = tokens[i].casefold()
                until, since = (
                    (at[k + 1] if k + 1 < len(at) else len(tokens)),
                    (at[k - 1] + 1 if k else 0),
                )
                near = [*tokens[i + 1 : until][:_NEAR], *tokens[since:i][::-1][:_NEAR]]
                for other in dict.fromkeys(before):
                    for pair in ((other, symbol), (symbol, other)):
                        if pair in rows and other != symbol:
                            row, label = rows[pair]
                            yield _Mention(row, Label(label), (*near, *ends), about)
                before = [about.casefold(), symbol]


def _tokens(sentence: str, symbols: Set[str]) -> list[str]:
    """Return the words and signs of a sentence. Words with hyphens or dots are split, except
    symbols (H2-K1)."""
    tokens = []
    for token in _TOKEN.findall(sentence):
        joined = (
            len(token) > 2
            and token[0].isalnum()
            and token.casefold() not in symbols
            and not _NUMBER.match(token)
        )
        tokens += re.split(r"[-.]+", token) if joined else [token]
    return tokens


def _find_direction(mention: _Mention) -> Label | None:
    """Return the direction from the nearest word of direction; words after the mention come
    first."""
    for token in mention.tokens:
        for label, pattern in _WORDS:
            if pattern.match(token):
                return label
    return None


def _find_stated(stated: list[tuple[_Mention, Label]]) -> Iterator[str]:
    """Yield how statements agree with labels, as they are or inverted; nothing for neither, or for
    chance.

    A label of unknown direction agrees with both. Statements that all give the same direction count
    only if there are many.
    """
    if len({said for _, said in stated}) == 1 and len(stated) < LEAST_UNVARIED:
        return
    rows = [f"{mention.row} ({said}, in the text about {mention.of})" for mention, said in stated]
    for way, meant in (("as they are", lambda said: said), ("inverted", _OPPOSITE.__getitem__)):
        n = sum(
            meant(said) == each.label or (each.label == Label.DE and said != Label.NONE)
            for each, said in stated
        )
        # the probability of at least this many right statements if each is right with probability
        # 1/2
        chance = binom.sf(n - 1, len(stated), 0.5)
        if n >= STATED_RIGHT * len(stated) and chance <= LEAST_CHANCE:
            counted = f"{n:,} of {len(stated):,} directions beside named rows are correct"
            yield f"states labels {way}: {counted}: {list_some(rows, SHOWN)}"
            return
