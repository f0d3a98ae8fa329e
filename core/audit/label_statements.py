"""Detect labels stated in texts about genes: "Stat1 … Irf1 … down", in words or in a code.

A mention is a symbol that forms a labelled row with the gene of the text (or with another symbol in the same sentence). Four
checks are made: words of direction beside mentions, any token beside mentions that predicts the labels, numbers beside
mentions, and whether a mention implies an effect. "Beside" means near the mention, at the end of the sentence, or at its start,
as above a list ("Induced by loss of: Stat1, Irf1").
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from math import comb

from core.types import Label

STATED_RIGHT, LEAST_CHANCE = 0.85, 0.005  # share of directions that is right (or opposite), and the chance of such a share
LEAST_CODED, CODED_RIGHT, CODED_ABOVE = 20, 0.80, 0.20  # the same for any token, and the least gain over the most common label
LEAST_NAMED, NAMED_RIGHT = 40, 0.95  # number of rows that are only named, and the share of them with an effect
SHOWN = 3
LEAST_NUMBERED, NUMBERED = 20, 0.90  # number of rows with a number beside them (half as many of each compared label); AUROC
_NEAR = 5  # number of tokens to search after a mention, before it, before the first mention of its sentence, and at the end
_KNOCKDOWN = re.compile(
    r"\bknock(?:ed|ing|s)?[- ]?down\b|\bloss (?=of\b)", re.I
)  # says nothing about the direction of the target gene
_SENTENCE = re.compile(r"[\n;|]+|(?<=[.!?])\s+")
_NUMBER = re.compile(r"[+\-−]?\d+(?:\.\d+)?$")
_SIGNS = "\u2190-\u21ff\u25a0-\u27bf\U0001f300-\U0001faff"  # arrows, shapes, pictures
_TOKEN = re.compile(rf"[A-Za-z0-9][A-Za-z0-9\-.]*[A-Za-z0-9]|[A-Za-z0-9]|[{_SIGNS}]|[+\-−](?:\d+(?:\.\d+)?)?")
_WORDS: tuple[tuple[Label, re.Pattern[str]], ...] = (
    (Label.NONE, re.compile(r"(none|unchanged|unaffected|no|not|n\.?s|0)$", re.I)),
    (
        Label.UP,
        re.compile(r"(up|up-?regulat\w*|increas\w*|induc\w*|rais\w*|rise[sn]?|higher|gains?|↑|⇑|\+1?|1)$", re.I),
    ),
    (Label.DOWN, re.compile(r"(down|down-?regulat\w*|decreas\w*|reduc\w*|lower\w*|falls?|loss|↓|⇓|[-−]1?)$", re.I)),
)
_DIRECTIONS = (Label.UP, Label.DOWN)
_OPPOSITE = {Label.UP: Label.DOWN, Label.DOWN: Label.UP, Label.NONE: Label.NONE}


@dataclass(frozen=True, slots=True)
class TextCheck:
    """Labels in the texts of a pack.

    mentions: number of labelled rows named in a text; stated: number of mentions with a direction. findings: sentences with
    rows as examples; error: why the pack could not be read.
    """

    name: str
    texts: int
    mentions: int = 0
    stated: int = 0
    findings: tuple[str, ...] = ()
    error: str | None = None

    def describe(self) -> str:
        """Describe the search and its result in a few words."""
        if self.error:
            return f"cannot be read: {self.error}"
        seen = "state labels" if self.findings else "no label found by this search"
        return f"{self.texts:,} texts name {self.mentions:,} labelled rows, {self.stated:,} of them with a direction; {seen}"


@dataclass(frozen=True, slots=True)
class _Mention:
    row: str
    label: Label
    tokens: tuple[
        str, ...
    ]  # _NEAR tokens after the mention, then before it (nearest first), above the list, and last; "" if there is none
    of: str


def check_texts(name: str, texts: Mapping[str, str], rows: Mapping[tuple[str, str], tuple[str, str]]) -> TextCheck:
    """Search texts, given by symbol, for labels; rows: id and label by (perturbation, target gene), casefolded."""
    mentions = list({(each.row, each.of): each for each in _mentions(texts, rows)}.values())
    stated = [(each, said) for each in mentions if (said := _find_direction(each)) is not None]
    coded = [] if _right(stated) else [*_find_coded(mentions), *_find_numbered(mentions)]
    findings = [*_find_stated(stated), *coded, *_find_named(mentions)]
    return TextCheck(name, len(texts), len({each.row for each in mentions}), len(stated), tuple(findings))


def _mentions(texts: Mapping[str, str], rows: Mapping[tuple[str, str], tuple[str, str]]) -> Iterator[_Mention]:
    symbols = {symbol for pair in rows for symbol in pair}
    for about, text in texts.items():
        for sentence in _SENTENCE.split(_KNOCKDOWN.sub("knockdown", text)):
            tokens = _tokens(sentence, symbols)
            at = [i for i, token in enumerate(tokens) if token.casefold() in symbols]
            before, ends = (
                [about.casefold()],
                [*_pad(tokens[: at[0]][::-1]), *_pad(tokens[at[-1] + 1 :][::-1])] if at else [],
            )
            for k, i in enumerate(at):
                symbol = tokens[i].casefold()
                until, since = (at[k + 1] if k + 1 < len(at) else len(tokens)), (at[k - 1] + 1 if k else 0)
                near = [*_pad(tokens[i + 1 : until]), *_pad(tokens[since:i][::-1])]
                for other in dict.fromkeys(before):
                    for pair in ((other, symbol), (symbol, other)):
                        if pair in rows and other != symbol:
                            row, label = rows[pair]
                            yield _Mention(row, Label(label), (*near, *ends), about)
                before = [about.casefold(), symbol]


def _tokens(sentence: str, symbols: Set[str]) -> list[str]:
    """Return the words and signs of a sentence. Words with hyphens or dots are split, except symbols (H2-K1)."""
    tokens = []
    for token in _TOKEN.findall(sentence):
        joined = len(token) > 2 and token[0].isalnum() and token.casefold() not in symbols and not _NUMBER.match(token)
        tokens += re.split(r"[-.]+", token) if joined else [token]
    return tokens


def _pad(tokens: list[str]) -> list[str]:
    return [*tokens[:_NEAR], *[""] * (_NEAR - len(tokens))]


def _find_direction(mention: _Mention) -> Label | None:
    """Return the direction from the nearest word of direction; words after the mention come first."""
    for token in mention.tokens:
        for label, pattern in _WORDS:
            if pattern.match(token):
                return label
    return None


def _right(stated: list[tuple[_Mention, Label]]) -> tuple[str, int] | None:
    """Return how statements agree with labels ("as they are" or "inverted") and how often; None for neither, or for chance.

    A label of unknown direction agrees with both. Statements that all give the same direction count only if there are many.
    """
    if len({said for _, said in stated}) == 1 and len(stated) < LEAST_CODED:
        return None
    for way, meant in (("as they are", lambda said: said), ("inverted", _OPPOSITE.__getitem__)):
        n = sum(meant(said) == each.label or (each.label == Label.DE and said != Label.NONE) for each, said in stated)
        if n >= STATED_RIGHT * len(stated) and _by_chance(n, len(stated)) <= LEAST_CHANCE:
            return way, n
    return None


def _by_chance(right: int, n: int) -> float:
    """Return the probability of at least this many right statements if each is right with probability 1/2."""
    return float(sum(comb(n, k) for k in range(right, n + 1)) / 2**n)


def _find_stated(stated: list[tuple[_Mention, Label]]) -> Iterator[str]:
    if found := _right(stated):
        way, n = found
        rows = [f"{mention.row} ({said}, in the text about {mention.of})" for mention, said in stated]
        yield f"states labels {way}: {n:,} of {len(stated):,} directions beside named rows are correct: {_some(rows)}"


def _find_coded(mentions: list[_Mention]) -> Iterator[str]:
    """Yield the position beside mentions whose token best predicts the label; each row is predicted from the others."""
    if len(mentions) < LEAST_CODED:
        return
    commonest = max(Counter(each.label for each in mentions).values()) / len(mentions)
    for place in range(4 * _NEAR):
        seen: dict[str, Counter[Label]] = defaultdict(Counter)
        for each in mentions:
            seen[each.tokens[place]][each.label] += 1
        right = sum(_is_predicted(seen[each.tokens[place]], each.label) for each in mentions if each.tokens[place])
        if right >= max(CODED_RIGHT, commonest + CODED_ABOVE) * len(mentions):
            rows = [f"{each.row} ({each.tokens[place]!r}, in the text about {each.of})" for each in mentions]
            counted = f"{right:,} of {len(mentions):,} labels follow from a token beside the row's names"
            yield f"states labels in a code: {counted}: {_some(rows)}"
            return


def _is_predicted(counts: Counter[Label], label: Label) -> bool:
    """Return whether the label is the most common one among other rows with the same token."""
    others = counts - Counter([label])
    return bool(others) and max(others, key=others.__getitem__) == label


def _find_numbered(mentions: list[_Mention]) -> Iterator[str]:
    """Yield numbers beside mentions whose value or absolute value separates up from down, or an effect from none."""
    numbered = {each.row: (each, value) for each in mentions if (value := _number(each)) is not None}
    labels, values = [each.label for each, _ in numbered.values()], [value for _, value in numbered.values()]
    for task, found in (
        ("DIR", [(label == Label.UP, value) for label, value in zip(labels, values, strict=True) if label in _DIRECTIONS]),
        ("DE", [(label != Label.NONE, value) for label, value in zip(labels, values, strict=True)]),
        ("DE", [(label != Label.NONE, abs(value)) for label, value in zip(labels, values, strict=True)]),
    ):
        share = _auroc(found)
        if max(share, 1 - share) >= NUMBERED:
            rows = [f"{each.row} ({value:g}, in the text about {each.of})" for each, value in numbered.values()]
            yield f"states labels in numbers: {task} {share:.2f} by {len(found):,} numbers beside the row's names: {_some(rows)}"
            return


def _number(mention: _Mention) -> float | None:
    return next((float(token.replace("−", "-")) for token in mention.tokens[: 2 * _NEAR] if _NUMBER.match(token)), None)


def _auroc(found: list[tuple[bool, float]]) -> float:
    """Return the AUROC of few numbers; 0.5 for fewer than LEAST_NUMBERED or too few of either class."""
    high, low = ([value for hit, value in found if hit == wanted] for wanted in (True, False))
    if len(found) < LEAST_NUMBERED or min(len(high), len(low)) < LEAST_NUMBERED // 2:
        return 0.5
    won = sum((a > b) + 0.5 * (a == b) for a in high for b in low)
    return won / (len(high) * len(low))


def _find_named(mentions: list[_Mention]) -> Iterator[str]:
    labels = {each.row: each for each in mentions}
    effects = [each for each in labels.values() if each.label != Label.NONE]
    if len(labels) >= LEAST_NAMED and len(effects) >= NAMED_RIGHT * len(labels):
        rows = [f"{each.row} (in the text about {each.of})" for each in effects]
        yield f"names rows with an effect: {len(effects):,} of {len(labels):,} named rows have one: {_some(rows)}"


def _some(rows: list[str]) -> str:
    return ", ".join(rows[:SHOWN]) + (f" and {len(rows) - SHOWN:,} more" if len(rows) > SHOWN else "")
