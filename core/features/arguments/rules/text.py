"""A text of a run, prepared for rules. Results that several rules need are computed once."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

SHORT = 120  # in characters; a shorter text is one line of a chat window
BARE = 12  # in characters; too few for a sentence
FEWEST_SENTENCES = 3

# The published question's options are A up, B down, C none; these contradict the side that a role
# argues for.
OPTIONS_AGAINST = {"EFFECT": "C", "NULL": "AB", "UP": "BC", "DOWN": "AC"}
_OPENING_OPTION = re.compile(r"\W*([ABC])\)")
_ANSWER = re.compile(
    r"\W*(?:(?:the )?(?:final |correct )?answer(?: is)?\W*)?([ABC])(?:\)|\.(?=\s|$)|:|\W*$)",
    re.IGNORECASE,
)
# Ends of lines, or white space between a full stop and the start of a sentence. The search can skip
# to its first characters.
_END = re.compile(r"[.!?\n](?:(?<=\n)\n*|[\"')\]]?(\s+)(?=[\"'(\[]?[A-Z0-9]))")
_WORD = re.compile(r"[^\W\d_]{2,}")
_OPTION_WORDS = ("answer", "option", "choice")
_NAMED_OPTION = re.compile(rf"\b(?i:{'|'.join(_OPTION_WORDS)})\W{{0,4}}([ABC])\b")
_PLAIN = {
    "‐": "-",
    "‑": "-",
    "–": "-",
    "—": "-",
    "’": "'",
    "\u202f": " ",
    "\u00a0": " ",
    "*": "",
}.items()


@dataclass(frozen=True, eq=False)  # without slots, because cached properties need a __dict__
class RuleText:
    """A brief, a verdict, or a whole row of a run; a whole row has no role and no stage.

    findings: from the audit of a brief at the time of storing, keys of
    `core.features.arguments.brief_checks.FINDINGS`. flags: of the row's prediction. briefs: of a
    whole row, role and findings of each brief in order. has_dossier: whether the run saved its
    advocates' dossiers. citable: lower-case terms of the row's dossier, None if not loaded.
    """

    content: str
    role: str
    stage: str = ""
    pair_id: str = ""
    pert: str = ""
    gene: str = ""
    findings: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    briefs: tuple[tuple[str, tuple[str, ...]], ...] = ()
    has_dossier: bool = False
    citable: Collection[str] | None = None

    @cached_property
    def answer(self) -> str:
        """The option A, B or C at the start of the text: alone, before a bracket, a full stop or a
        colon, or after "answer"; "" without one.
        """
        found = _ANSWER.match(self.content)
        return found[1].upper() if found else ""

    @cached_property
    def opening_option(self) -> str:
        """The option A, B or C at the start of the text, after non-word characters and before a
        closing bracket; "" without one.
        """
        found = _OPENING_OPTION.match(self.content)
        return found[1] if found else ""

    @cached_property
    def plain(self) -> str:
        """The content with plain hyphens, apostrophes and spaces, and without asterisks."""
        text = self.content
        for written, plain in _PLAIN:  # several times as fast as `str.translate`
            text = text.replace(written, plain)
        return text

    @cached_property
    def sentences(self) -> list[str]:
        """The sentences of `plain`."""
        return split_sentences(self.plain)

    @cached_property
    def deciding_sentences(self) -> set[str]:
        """The first sentence and the last two, which contain conclusions."""
        return {*self.sentences[:1], *self.sentences[-2:]}

    @cached_property
    def lowered_deciding_lines(self) -> str:
        """The same in lower case, one sentence per line, because a case-insensitive search takes
        twice as long."""
        return "\n".join(self.deciding_sentences).lower()

    @cached_property
    def named_options(self) -> set[str]:
        """The first option after "answer", "option" or "choice" in each deciding sentence."""
        lines = self.lowered_deciding_lines
        # Looking for words takes a tenth of a search's time. Beyond ASCII, some letters match those
        # of words, such as "ſ".
        if lines.isascii() and not any(map(lines.__contains__, _OPTION_WORDS)):
            return set()
        return {found[1] for found in map(_NAMED_OPTION.search, self.deciding_sentences) if found}

    def is_against_own_side(self, option: str) -> bool:
        """Return whether an option contradicts the side of the text's role; False without an option
        or a side."""
        return option != "" and option in OPTIONS_AGAINST.get(self.role, "")


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text. Lines count as sentences; bare numbers and letters do not."""
    text, parts, start = text.strip(), [], 0
    for end in _END.finditer(text):
        # a full stop belongs to its sentence
        parts.append(text[start : max(end.start(), end.start(1))])
        start = end.end()
    parts.append(text[start:])
    return [part for part in parts if (part[:2].isalpha() and len(part) > 1) or _WORD.search(part)]
