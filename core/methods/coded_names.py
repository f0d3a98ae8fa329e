"""Gene names as a model is shown them: coded, hidden or swapped in every request of a row, and put
back in every reply.

All requests of a row pass through `NamesOfRow`, so what a method writes in them, dossier, examples
and briefs included, is coded alike. A gene has one code in a whole run, whichever of its spellings
stands in a text: in any case (Stat1, STAT1), with a hyphen before its number (IL-6), behind a small
p (pSTAT1), as its ortholog, or as the full name that a knowledge pack gives it. What a text says of
a gene without naming it stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Literal

import numpy as np

from core.base.errors import InputError
from core.base.fields.setting import setting
from core.base.types import Pair
from core.evidence.packs import Packs

CODED, HIDDEN, SWAPPED, ALONE = "coded", "hidden", "swapped", "alone"
NAMES = setting(
    "Gene names as a model sees them. If empty, as they are. `coded`: every gene has a code."
    " `hidden`: only the row's two genes have one. `swapped`: every gene has another's name."
    " `alone`: names as they are, without a dossier."
)
ShownNames = Annotated[Literal["", "coded", "hidden", "swapped", "alone"], NAMES]
# without a dossier that could be left out
NamesOfPrompt = Annotated[Literal["", "coded", "hidden", "swapped"], NAMES]
REWRITTEN = (CODED, HIDDEN, SWAPPED)
_WORD = re.compile(r"[^\W_]+(?:[-.][^\W_]+)*")
_CODE = re.compile(r"(?i)(?<![^\W_])GENE\d{5}(?![^\W_])")
_NAME_ONLY = "[no summary]"  # before a description that is only a full name
_SHORTEST_NAME = 5  # characters of a full name
_SHORTEST_SYMBOL = 2  # a single letter is an answer, too
_SEED = 0


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Every gene that a text may name. identity: casefolded spelling → the gene. groups: genes that
    swap names among themselves. full_names: casefolded full name → the gene."""

    identity: Mapping[str, str]
    groups: Sequence[Sequence[str]]
    full_names: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def codes(self) -> dict[str, str]:
        """Gene → code. The order says nothing about the genes."""
        genes = sorted(set(self.identity.values()))
        order = np.random.default_rng(_SEED).permutation(len(genes))
        return {genes[i]: f"GENE{place + 1:05d}" for place, i in enumerate(order)}

    @cached_property
    def partners(self) -> dict[str, str]:
        """Gene → the gene whose name it is shown under, never its own. Raise InputError for a
        single gene."""
        rng = np.random.default_rng(_SEED)
        found: dict[str, str] = {}
        for group in self.groups:
            order = [group[i] for i in rng.permutation(len(group))]
            if len(order) < 2:
                raise InputError(f"names: {order} cannot be swapped, expected two genes at least")
            found |= dict(zip(order, [*order[1:], order[0]], strict=True))
        return found


def vocabulary_of(pairs: Iterable[Pair], packs: Packs) -> Vocabulary:
    """Return the genes of a dataset and of knowledge packs. Raise InputError if one of them looks
    like a code."""
    pairs = tuple(pairs)
    perts, measured = ({getattr(pair, axis) for pair in pairs} for axis in ("pert", "gene"))
    own = {symbol.casefold(): symbol for symbol in sorted(perts | measured, reverse=True)}
    identity = dict(own)
    for symbol, ortholog in sorted((packs.orthologs or {}).items()):
        here, there = symbol.casefold(), ortholog.casefold()
        gene = own.get(here) or own.get(there) or symbol
        identity.setdefault(here, gene)
        identity.setdefault(there, gene)
    for symbol in sorted(_symbols(packs)):
        identity.setdefault(symbol.casefold(), symbol)
    taken = next((spelling for spelling in identity if _CODE.fullmatch(spelling)), None)
    if taken is not None:
        raise InputError(
            f"names: the gene {identity[taken]!r} looks like a code, so names cannot be coded here"
        )
    names = {
        text.removeprefix(_NAME_ONLY).strip().rstrip(".").casefold(): identity[symbol.casefold()]
        for symbol, text in (packs.descriptions or {}).items()
        if text.startswith(_NAME_ONLY)
    }
    full_names = {name: gene for name, gene in names.items() if len(name) >= _SHORTEST_NAME}
    # Perturbed genes, genes that are only measured, and all others; a group of one joins another.
    of_perts = {identity[symbol.casefold()] for symbol in perts}
    of_measured = {identity[symbol.casefold()] for symbol in measured} - of_perts
    rest = set(identity.values()) - of_perts - of_measured
    groups = sorted((sorted(group) for group in (of_perts, of_measured, rest) if group), key=len)
    while len(groups) > 1 and len(groups[0]) == 1:
        groups = sorted([[*groups[0], *groups[1]], *groups[2:]], key=len)
    return Vocabulary(identity, groups, full_names)


def _symbols(packs: Packs) -> Iterator[str]:
    for table in (packs.descriptions, packs.pathways, packs.responses):
        yield from table or ()
    for a, b, _ in packs.edges or ():
        yield from (a, b)
    for pair in packs.signs or ():
        yield from pair


@dataclass(frozen=True, eq=False)
class _Rewriter:
    """Replaces names in a text from left to right, once. spellings, phrases: casefolded →
    replacement. always: spellings that are names also where they look like a common word, in small
    letters and without a digit."""

    spellings: Mapping[str, str]
    phrases: Mapping[str, str]
    always: frozenset[str]

    @cached_property
    def _by_first_word(self) -> dict[str, list[tuple[str, str]]]:
        found: dict[str, list[tuple[str, str]]] = {}
        for phrase, new in sorted(self.phrases.items(), key=lambda item: -len(item[0])):
            if (first := _WORD.match(phrase)) is not None:
                found.setdefault(first[0], []).append((phrase, new))
        return found

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        odd = sorted(
            (re.escape(name) for name in self.always if not _WORD.fullmatch(name)),
            key=len,
            reverse=True,
        )
        edges = [rf"(?<![^\W_]){name}(?![^\W_])" for name in odd]
        return re.compile("|".join((*edges, _WORD.pattern)), re.IGNORECASE)

    def __call__(self, text: str) -> str:
        parts: list[str] = []
        at = 0
        while (match := self._pattern.search(text, at)) is not None:
            length, new = self._find(text, match)
            parts += (text[at : match.start()], new)
            at = match.start() + length
        return "".join((*parts, text[at:]))

    def _find(self, text: str, match: re.Match[str]) -> tuple[int, str]:
        """Return how many characters are read at a word, and what stands in their place."""
        word, start = match[0], match.start()
        for phrase, new in self._by_first_word.get(word.casefold(), ()):
            end = start + len(phrase)
            if text[start:end].casefold() == phrase and not text[end : end + 1].isalnum():
                return len(phrase), new
        if not _WORD.fullmatch(word):
            return len(word), self.spellings[word.casefold()]
        ends = [found.start() for found in re.finditer(r"[-.]", word)]
        for end in (len(word), *reversed(ends)):
            found = self._new_name(word[:end])
            if found is not None:
                return end, found
        end = ends[0] if ends else len(word)
        return end, word[:end]

    def _new_name(self, word: str) -> str | None:
        key = word.casefold()
        joined = key.replace("-", "")
        for name in (key, joined) if any(map(str.isdigit, key)) else (key,):
            if name in self.always:
                return self.spellings[name]
            if (
                name in self.spellings
                and len(name) >= _SHORTEST_SYMBOL
                and not (word.islower() and word.isalpha())
            ):
                return self.spellings[name]
        # phosphorylated
        if word[0] == "p" and any(map(str.isdigit, key)) and key[1:] in self.spellings:
            return f"p{self.spellings[key[1:]]}"
        return None


class GeneNaming:
    """How a run shows gene names: kind is one of REWRITTEN."""

    def __init__(self, kind: str, pairs: Iterable[Pair], packs: Packs) -> None:
        self.kind, self._vocabulary = kind, vocabulary_of(pairs, packs)
        new = self._vocabulary.partners if kind == SWAPPED else self._vocabulary.codes
        self._spellings = {name: new[gene] for name, gene in self._vocabulary.identity.items()}
        self._phrases = {name: new[gene] for name, gene in self._vocabulary.full_names.items()}
        back = {new.casefold(): gene for gene, new in new.items()}
        self._back = _Rewriter(back, {}, _not_words(back))

    def of_row(self, pair: Pair) -> NamesOfRow:
        """Return the encoder of a row's texts. Raise InputError for a symbol of one letter."""
        short = next(
            (symbol for symbol in (pair.pert, pair.gene) if len(symbol) < _SHORTEST_SYMBOL), None
        )
        if short is not None:
            raise InputError(
                f"{pair.pair_id}: the symbol {short!r} cannot be coded, expected two characters at"
                " least"
            )
        own = self.spellings_of(pair)
        if self.kind != HIDDEN:
            return NamesOfRow(
                _Rewriter(self._spellings, self._phrases, own | self._odd), self._back
            )
        genes = self._genes_of(pair)
        phrases = {
            name: self._phrases[name]
            for name, gene in self._vocabulary.full_names.items()
            if gene in genes
        }
        return NamesOfRow(
            _Rewriter({name: self._spellings[name] for name in own}, phrases, own), self._back
        )

    def spellings_of(self, pair: Pair) -> frozenset[str]:
        """Return every casefolded spelling of the row's two genes."""
        genes = self._genes_of(pair)
        return frozenset(name for gene in genes for name in self._by_gene[gene])

    def _genes_of(self, pair: Pair) -> set[str]:
        return {self._vocabulary.identity[symbol.casefold()] for symbol in (pair.pert, pair.gene)}

    @cached_property
    def _odd(self) -> frozenset[str]:
        return _not_words(self._spellings)

    @cached_property
    def _by_gene(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name, gene in self._vocabulary.identity.items():
            found.setdefault(gene, []).append(name)
        return found


def _not_words(names: Iterable[str]) -> frozenset[str]:
    """Return the names that hold more than letters, digits, hyphens and dots, which no text has by
    chance."""
    return frozenset(name for name in names if not _WORD.fullmatch(name))


@dataclass(frozen=True, eq=False)
class NamesOfRow:
    """Encode a method's messages, and decode the replies to them."""

    encode: _Rewriter
    decode: _Rewriter


def count_leaks(texts: Iterable[str], names: Iterable[str]) -> int:
    """Return in how many texts one of these names stands, in any case, with neither letter nor
    digit beside it."""
    each = sorted(map(re.escape, names), key=len, reverse=True)
    found = re.compile(rf"(?<![^\W_])(?:{'|'.join(each)})(?![^\W_])", re.IGNORECASE)
    return sum(found.search(text) is not None for text in texts)
