"""Texts of models and papers as safe Markdown.

Bold, italics, headings, lists and line breaks are rendered; links, images and HTML stay plain text.
Tags that prompts ask for are shown by their meaning. Searched words and passages that decided a
reading are marked. Genes link to their pages, and articles to PubMed, which a browser opens only on
a click.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from core.scoring.row_trace import TAG, TAG_MEANINGS
from core.store.text_search import pattern_of
from core.ui.widgets import as_text

# An end of thinking without stored thinking is not shown.
_NOTHING_THOUGHT = re.compile(r"\A\s*(?:<think(?:ing)?>\s*)?</think(?:ing)?>\s*", re.IGNORECASE)
_THINKING = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)
_PMID = r"\bPMID:?\s{0,2}(?P<pmid>\d{1,8})\b"
_STRONG_OR_EMPHASIS = re.compile(
    r"\*\*(?P<strong>[^\s*](?:[^*\n]*[^\s*])?)\*\*"
    r"|(?<![\w*])\*(?P<emphasis>[^\s*](?:[^*\n]*[^\s*])?)\*(?![\w*])"
)
_HEADING = re.compile(r"#{1,6}\s+(.+)")
_ITEM = re.compile(r"(?P<indent>\s*)(?P<mark>[-*•]|\d{1,2}[.)])\s+(?P<words>.+)$")
_BEFORE_WORDS = re.compile(r"\A\s*(?:#{1,6}|[-*•]|\d{1,2}[.)])\s+")
_LINE_BREAK = "\\\n"


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks in the texts of a row: searched words, passages, and symbols with links. sought: ""
    for nothing.

    pages: symbol in capitals → address of its page. passages: text → the parts to mark, verbatim.
    """

    sought: str = ""
    pages: Mapping[str, str] = field(default_factory=dict)
    passages: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def count_hits(self, text: str) -> int:
        """Return how often the words occur in a text, without regard to case."""
        return (
            len(re.findall(pattern_of(self.sought), text, re.IGNORECASE))
            if self.sought.strip()
            else 0
        )


@dataclass(slots=True)
class _Writer:
    """A writer of one text. passage: finds the part of a line that belongs to a passage.

    linked: symbols that have a link already, since one per text is enough.
    """

    marks: Marks
    passage: re.Pattern[str] | None = None
    linked: set[str] = field(default_factory=set)

    def line(self, text: str) -> str:
        """Return one line with bold and italic words and marked passages."""
        if self.passage is None:
            return self._emphasise(text)
        return _replace(
            self.passage,
            text,
            lambda found: f":violet-background[{self._emphasise(found[0])}]",
            self._emphasise,
        )

    def _emphasise(self, text: str) -> str:
        return _replace(_STRONG_OR_EMPHASIS, text, self._strong_or_emphasis, self.words)

    def words(self, text: str) -> str:
        """Return words without Markdown, and tags by their meaning."""
        return _replace(
            TAG,
            text,
            self._answer,
            lambda rest: _replace(_THINKING, rest, _thinking_mark, self._link_references),
        )

    def _strong_or_emphasis(self, found: re.Match[str]) -> str:
        mark = "**" if found["strong"] else "*"
        return f"{mark}{self.words(found['strong'] or found['emphasis'])}{mark}"

    def _answer(self, found: re.Match[str]) -> str:
        return (
            f":gray[{TAG_MEANINGS[found[1].lower()]}]"
            f" {self._link_references(found[2].strip()) or '–'}"
        )

    def _link_references(self, text: str) -> str:
        symbols = "|".join(map(re.escape, self.marks.pages))
        pattern = rf"{_PMID}|(?<![\w-])(?P<symbol>{symbols})(?![\w-])" if symbols else _PMID
        return _replace(re.compile(pattern, re.IGNORECASE), text, self._link, self._highlight_hits)

    def _link(self, found: re.Match[str]) -> str | None:
        shown = self._highlight_hits(found[0])
        if found["pmid"]:
            return f"[{shown}](https://pubmed.ncbi.nlm.nih.gov/{int(found['pmid'])}/)"
        symbol = found["symbol"].upper()
        if symbol in self.linked:
            return None
        self.linked.add(symbol)
        return f"[{shown}]({self.marks.pages[symbol]})"

    def _highlight_hits(self, text: str) -> str:
        if not self.marks.sought.strip():
            return as_text(text)
        sought = re.compile(pattern_of(self.marks.sought), re.IGNORECASE)
        return _replace(
            sought, text, lambda found: f":orange-background[{as_text(found[0])}]", as_text
        )


def _replace(
    pattern: re.Pattern[str],
    text: str,
    write_found: Callable[[re.Match[str]], str | None],
    write_rest: Callable[[str], str],
) -> str:
    """Return a text with a pattern's matches written by one function (None: leave it), and the rest
    by another."""
    parts, end = [], 0
    for found in pattern.finditer(text):
        written = write_found(found)
        if written is not None:
            parts += [write_rest(text[end : found.start()]), written]
            end = found.end()
    return "".join([*parts, write_rest(text[end:])])


def _thinking_mark(found: re.Match[str]) -> str:
    return ":gray[end of thinking]" if found[1] else ":gray[thinking:]"


def to_markdown(text: str, marks: Marks) -> str:
    """Return a text that a model wrote, with its headings, lists, bold and italic words."""
    passages = lines_of(marks.passages.get(text, ()))
    writer = _Writer(marks, re.compile("|".join(map(re.escape, passages))) if passages else None)
    # (kind, Markdown): consecutive lines, or items of a list, belong together
    blocks: list[tuple[str, str]] = []
    for line in _NOTHING_THOUGHT.sub("", text).splitlines():
        heading, item = _HEADING.match(line), _ITEM.match(line)
        if heading:
            blocks.append(
                ("heading", f"**{writer.words(heading[1].replace('**', '').rstrip(' #'))}**")
            )
        elif item:
            mark = "-" if item["mark"] in "-*•" else item["mark"]
            blocks.append(
                (
                    "item",
                    f"{'  ' * min(len(item['indent']) // 2, 2)}{mark} {writer.line(item['words'])}",
                )
            )
        else:
            blocks.append(("line" if line.strip() else "", _guard(writer.line(line.strip()))))
    return _join(blocks)


def lines_of(passages: Iterable[str]) -> list[str]:
    """Return the lines of some passages without the mark of a heading or of an item, the longest
    first."""
    lines = (line for passage in passages for line in passage.splitlines())
    return sorted(
        {_BEFORE_WORDS.sub("", line).strip() for line in lines} - {""}, key=len, reverse=True
    )


def without_emphasis(line: str) -> str:
    """Return a line without the marks of bold and italic words."""
    return _STRONG_OR_EMPHASIS.sub(lambda found: found["strong"] or found["emphasis"], line)


def to_lines(text: str, marks: Marks) -> str:
    """Return a plain text line by line, unchanged."""
    writer = _Writer(marks)
    blocks = []
    for line in text.splitlines():
        words = line.strip()
        indent = "\u00a0" * (len(line) - len(line.lstrip()))
        blocks.append(("line" if words else "", indent + _guard(writer.words(words))))
    return _join(blocks)


def _guard(line: str) -> str:
    """Return the line, escaped if it would turn the line above it into a heading."""
    return f"\\{line}" if line.startswith("=") else line


def _join(blocks: list[tuple[str, str]]) -> str:
    """Return the blocks joined by a line break, a list item or a paragraph break."""
    between = {("line", "line"): _LINE_BREAK, ("item", "item"): "\n"}
    parts, before = [], ""
    for kind, markdown in blocks:
        if kind:
            parts += [between.get((before, kind), "\n\n"), markdown]
        before = kind
    return "".join(parts).strip("\n")
