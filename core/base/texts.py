"""Short texts that every room reads and writes: gene symbols, numbers and estimates, names that can
be told apart, and text that can be encoded."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any, Literal

from core.base.errors import InputError

NO_LABEL = "no label"  # of a row; a run none of whose rows has one has "no labels"
NO_BIOLOGY = "no-biology baseline"  # what a run has to beat before it can be said to know biology
SMALLEST = 1e-4  # that a table writes with its digits
MAX_NAME = 255  # characters, which is what most file systems allow for a file's
_UNSEEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Letters and marks without a shape: the fillers of Hangul, the blank of Braille, the grapheme
# joiner, variation selectors.
_UNSEEN = frozenset(
    [*"\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5", *map(chr, range(0xFE00, 0xFE10))]
)
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
SymbolKind = Literal["named", "RIKEN clone", "gene model", "accession", "locus"]

# Source: the mouse nomenclature's provisional symbols, as in the published agents' gene_class tool,
# and Ensembl's numbers.
_PROVISIONAL: tuple[tuple[re.Pattern[str], SymbolKind], ...] = (
    (re.compile(r"Rik\d*$"), "RIKEN clone"),
    (re.compile(r"^Gm\d+$"), "gene model"),
    (re.compile(r"^LOC\d+"), "locus"),
    (re.compile(r"^(AW|BC|AI|AK|AA|AV)\d{5,}"), "accession"),
    (re.compile(r"^ENS[A-Z]*G\d{6,}"), "accession"),
    (re.compile(r"^\d"), "accession"),
)


def quote(text: str, limit: int = 60) -> str:
    """Return `text` quoted for a message, cut to `limit` characters."""
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")


def symbol_kind(symbol: str) -> SymbolKind:
    """Return the kind of a symbol; every kind but "named" is provisional, so little is known of the
    gene."""
    return next((kind for pattern, kind in _PROVISIONAL if pattern.search(symbol)), "named")


def number_text(value: float, form: str = ".3f") -> str:
    """Return a number with a real minus sign; an en dash if it is NaN."""
    return "–" if math.isnan(value) else f"{value:{form}}".replace("-", "−")


def count_text(n: int, noun: str) -> str:
    """Return a number of things: "1 row", "2,499 rows"."""
    return f"{n:,} {noun}{'s' * (n != 1)}"


def quantity_text(value: float) -> str:
    """Return a number of any size with three digits, for a sentence: "0.0123", "1,230", "5.49 ×
    10⁻¹¹"; an en dash if NaN."""
    if value == 0 or not math.isfinite(value):
        return "–" if math.isnan(value) else number_text(value, "g")
    exponent = int(f"{value:.2e}".partition("e")[2])
    if -4 < exponent < 3:
        return number_text(value, ".3g")
    if 0 < exponent < 6:
        return number_text(value, ",.0f")
    return (
        f"{number_text(value / 10**exponent, '.3g')} × 10{str(exponent).translate(_SUPERSCRIPTS)}"
    )


def rows_behind(metric: str, n: int) -> str:
    """Return the rows that a score of DE, DIR or their mean counts: DIR those with a direction, the
    others every labelled row."""
    return f"{n:,} rows labelled up or down" if metric.upper() == "DIR" else f"{n:,} labelled rows"


def estimate_text(estimate: float, low: float, high: float, form: str = ".3f") -> str:
    """Return an estimate with its interval, "0.621 [0.604, 0.638]" or "0.621 [no interval]"; an en
    dash if it is NaN."""
    if math.isnan(estimate):
        return number_text(estimate, form)
    return f"{number_text(estimate, form)} {range_text(low, high, form)}"


def range_text(low: float, high: float, form: str = ".3f") -> str:
    """Return the ends of an interval, "[0.604, 0.638]" or "[no interval]", where the estimate is
    shown already."""
    if math.isnan(low) or math.isnan(high):
        return "[no interval]"
    return f"[{number_text(low, form)}, {number_text(high, form)}]"


def cell_text(value: object, *, signed: bool = False) -> str:
    """Return a plain value of a table as text: "–" for None and NaN, "yes" for True, four decimals
    for a fraction.

    A smaller fraction, such as a p, is "< 0.0001". signed: whether a fraction has a sign in front.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Integral):
        return f"{int(value):,}"
    if isinstance(value, Real):
        number = float(value)
        if 0 < number < SMALLEST and not signed:
            return f"< {SMALLEST:.4f}"
        return number_text(number, "+.4f" if signed else ",.0f" if abs(number) >= 1000 else ".4f")
    return str(value)


def table_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return rows of plain values as lines of text below their titles, numbers on the right; a
    column of None is left out."""
    columns = []
    for title in rows[0] if rows else ():
        values = [row[title] for row in rows]
        known = [value for value in values if value is not None]
        are_numbers = all(
            isinstance(value, Real) and not isinstance(value, bool) for value in known
        )
        signed = are_numbers and any(value < 0 for value in known)
        texts = [title, *(cell_text(value, signed=signed) for value in values)]
        width = max(map(len, texts))
        if known:
            columns.append(
                [text.rjust(width) if are_numbers else text.ljust(width) for text in texts]
            )
    return ["  ".join(line).rstrip() for line in zip(*columns, strict=True)]


def replace_surrogates(text: str) -> str:
    """Return the text with � for each unpaired surrogate, which can be neither sent nor written to
    a file."""
    return (
        text
        if text.isascii()
        else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    )


def check_name(what: str, name: str) -> None:
    """Raise InputError for a name that people cannot tell from another or that breaks a line:
    empty, blank or too long, or with a control character or one that cannot be seen.

    what: it is the name of, such as "run".
    """
    if not 0 < len(name) <= MAX_NAME:
        raise InputError(f"name of a {what}: {len(name):,} characters, expected 1 to {MAX_NAME}")
    if not name.strip(" \u00a0\u3000"):
        raise InputError(f"name of a {what}: only blanks, expected characters that can be seen")
    for i, character in enumerate(name, 1):
        if unicodedata.category(character) in _UNSEEN_CATEGORIES or character in _UNSEEN:
            raise InputError(
                f"name of a {what}: character {i} of '{printable(name)[:80]}' is"
                f" U+{ord(character):04X}, expected characters that can be seen"
            )


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text. Raise ValueError for anything else, and for values that are
    nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


HALF_CHARACTER = "half of a surrogate pair (\\ud800 to \\udfff), expected whole characters"


def is_encodable(text: str) -> bool:
    """Return whether a text can be written to a file: a name of the file system that is not UTF-8
    cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def printable(text: str) -> str:
    """Return the text on one line: characters that cannot be printed are escaped as in Python."""
    return (
        text
        if text.isprintable()
        else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    )


def list_known(name: str, known: Sequence[str]) -> str:
    """Return what to say of the names that exist where `name` does not: those like it, else the
    first few and how many more."""
    return _ask_if_meant(name, known) or f"which has {list_some(known) or 'none'}"


def list_choices(name: str, known: Sequence[str]) -> str:
    """Return the same of names that are built in: those like it, else all of them."""
    return _ask_if_meant(name, known) or f"expected one of {', '.join(known)}"


def _ask_if_meant(name: str, known: Sequence[str]) -> str:
    """Return whether a name like it was meant, as a question; "" where none is like it."""
    wanted = name.casefold()
    like = [each for each in known if wanted and wanted in each.casefold()] or get_close_matches(
        name, known, 5
    )
    return f"did you mean {list_some(like)}?" if like else ""


def list_some(names: Sequence[str], most: int = 5) -> str:
    """Return the first names, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def list_names(names: Sequence[object]) -> str:
    """Return the same of what a file says, on one line."""
    return printable(list_some([*map(str, names)]))


def shorten(text: str, most: int) -> str:
    """Return the text with its middle left out if it is longer than `most` characters: what is
    wrong stands at the beginning of a message, what is expected at its end."""
    if len(text) <= most:
        return text
    left_out = f" … ({len(text):,} characters) … "
    n_end = (most - len(left_out)) // 3
    return f"{text[: most - len(left_out) - n_end]}{left_out}{text[-n_end:]}"


def cut_at_word(text: str, longest: int) -> str:
    """Return a text on one line, cut at a word with an ellipsis if it is too long."""
    line = " ".join(text.split())
    if len(line) <= longest:
        return line
    words = line[:longest].rsplit(" ", 1)[0] if " " in line[:longest] else line[: longest - 1]
    return f"{words} …"


def describe_duration(seconds: float) -> str:
    """Return seconds in the words of a clock: "2 h 5 min", "3 min 20 s", "12 s"."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return (
        f"{hours} h {minutes} min"
        if hours
        else f"{minutes} min {rest} s"
        if minutes
        else f"{rest} s"
    )
