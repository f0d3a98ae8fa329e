"""Test whether a model can name the screen behind rows, by comparing its answers with recorded facts about the data set.

The same rows are shown with gene names and with codes. If the model names the screen only with gene names, it recognises its
genes. If it also names the screen with codes, it guesses, or the dossier tells. Facts in the question itself are not a sign of
memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import comb, nan
from types import MappingProxyType

import numpy as np

from core.errors import InputError
from core.llm.parsing import Unparsed
from core.methods.screen_question import FIELDS, read_guess
from core.stats.multiplicity import holm
from core.stats.power import LEVEL
from core.store.datasets import Dataset

QUESTIONS, ROWS_EACH = 8, 3  # number with names, and the same with codes: eight of eight against none has p = 1/256
SPELLED = "organism"  # Stat1 is a mouse gene and STAT1 a human one
Descriptors = Mapping[str, tuple[str, ...]]  # field → accepted spellings
_ORGANISMS: Descriptors = MappingProxyType({"mouse": ("mouse", "Mus musculus", "murine"), "human": ("human", "Homo sapiens")})
_AUTHORS = MappingProxyType({"K562": "Replogle", "RPE1": "Replogle", "HepG2": "Nadig", "Jurkat": "Nadig"})  # of PerturbQA's lines
_MACROPHAGES = "bone-marrow-derived macrophages"  # of the challenge
_WORD = re.compile(r"[^\W_]+")


def known_descriptors(dataset: Dataset, given: Mapping[str, str] = MappingProxyType({})) -> Descriptors:
    """Return the known facts about a data set, recorded here or given by a person: field → spellings separated by |.

    Raise InputError for an unknown field.
    """
    unknown = next((name for name in given if name not in FIELDS), None)
    if unknown is not None:
        raise InputError(f"screen: {unknown!r} is not known, expected {', '.join(FIELDS)}")
    cells = tuple(filter(None, map(str.strip, dataset.context.partition(";")[0].split(","))))
    found: dict[str, tuple[str, ...]] = {"organism": _ORGANISMS.get(dataset.organism, ())}
    if dataset.origin != "simulated":
        found["cells"] = cells
        found["authors"] = tuple(_AUTHORS[name] for name in cells if name in _AUTHORS)
    if _MACROPHAGES in cells:
        found |= {"cells": (*cells, "BMDM"), "stimulus": ("LPS", "lipopolysaccharide")}
    found |= {name: tuple(filter(None, map(str.strip, text.split("|")))) for name, text in given.items()}
    return {name: found[name] for name in FIELDS if found.get(name)}


def choose_questions(rows: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the rows of each question, spread over the rows: QUESTIONS of ROWS_EACH, or as many as there are."""
    each = max(1, min(ROWS_EACH, len(rows) // QUESTIONS))
    n = min(QUESTIONS, len(rows))
    places = np.linspace(0, len(rows), n * each, endpoint=False).astype(int)
    return [tuple(rows[i] for i in places[k * each : (k + 1) * each]) for k in range(n)]


def names_any(text: str, spellings: Sequence[str]) -> bool:
    """Return whether a text contains one of the spellings as whole words, ignoring case, hyphens and a plural s."""
    words = _words(text)
    return any(_stands_in(words, "".join(_words(spelling))) for spelling in spellings)


def _words(text: str) -> list[str]:
    return [word.removesuffix("s") if len(word) > len("LPS") else word for word in _WORD.findall(text.casefold())]


def _stands_in(words: Sequence[str], wanted: str) -> bool:
    for i in range(len(words)):
        joined = ""
        for word in words[i:]:
            joined += word
            if joined == wanted:
                return True
            if not wanted.startswith(joined):
                break
    return False


@dataclass(frozen=True, slots=True)
class ScreenAnswer:
    """One answer. told: fields whose descriptor was in the question; said: the original reply; error: why there is none."""

    rows: tuple[str, ...]
    coded: bool
    told: tuple[str, ...] = ()
    said: str = ""
    error: str = ""

    @property
    def guess(self) -> Mapping[str, str] | None:
        """Field → answer; None for an unreadable reply."""
        found = read_guess(self.said)
        return None if isinstance(found, Unparsed) else found


@dataclass(frozen=True, slots=True)
class SavedScreen:
    """A model's answers about a screen. known: from `known_descriptors`; answers: with names, then with codes."""

    known: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    answers: tuple[ScreenAnswer, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether every question was answered."""
        return bool(self.answers) and not any(answer.error for answer in self.answers)


@dataclass(frozen=True, slots=True)
class NamedField:
    """One descriptor. n: number of answered pairs of questions whose rows do not reveal it; named, coded: number of these with
    the right descriptor, with names and with codes. p: one-sided, that names help (exact sign test); p_holm: over the fields.
    """

    name: str
    known: tuple[str, ...]
    n: int
    named: int
    coded: int
    p: float = nan
    p_holm: float = nan

    @property
    def is_remembered(self) -> bool:
        """Whether the names of genes reveal it to the model. Always False for the organism, because the spelling of names
        reveals it.
        """
        return self.name != SPELLED and self.p_holm <= LEVEL


@dataclass(frozen=True)
class NamedScreen:
    """The result of a `SavedScreen`."""

    saved: SavedScreen

    @cached_property
    def fields(self) -> tuple[NamedField, ...]:
        """The fields with known facts, in the order of FIELDS."""
        found = [self._count(name, known) for name, known in self.saved.known.items()]
        tested = [each.p if each.name != SPELLED else nan for each in found]
        adjusted = holm(tested) if found else ()
        return tuple(
            NamedField(each.name, each.known, each.n, each.named, each.coded, each.p, float(p))
            for each, p in zip(found, adjusted, strict=True)
        )

    def _count(self, name: str, known: tuple[str, ...]) -> NamedField:
        answers = [answer for answer in self.saved.answers if not answer.coded]
        coded = {answer.rows: answer for answer in self.saved.answers if answer.coded}
        pairs = [(a, coded[a.rows]) for a in answers if a.rows in coded]
        pairs = [(a, b) for a, b in pairs if not a.error and not b.error and name not in a.told and name not in b.told]
        named = [(_names(a, name, known), _names(b, name, known)) for a, b in pairs]
        more, fewer = sum(a > b for a, b in named), sum(a < b for a, b in named)
        p = sum(comb(more + fewer, k) for k in range(more, more + fewer + 1)) / 2 ** (more + fewer) if named else nan
        return NamedField(name, known, len(named), sum(a for a, _ in named), sum(b for _, b in named), p)

    def count_replies(self, *, coded: bool) -> dict[str, int]:
        """Return every distinct original reply with its count, the most frequent first."""
        texts = [answer.said for answer in self.saved.answers if answer.coded == coded and not answer.error]
        return {text: texts.count(text) for text in sorted(dict.fromkeys(texts), key=lambda each: -texts.count(each))}


def _names(answer: ScreenAnswer, name: str, known: tuple[str, ...]) -> bool:
    return names_any((answer.guess or {}).get(name, ""), known)
