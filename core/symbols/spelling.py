"""Texts of files without what nobody sees, and texts that stand for a missing value."""

from __future__ import annotations

import re

_INVISIBLE = re.compile("[\u200b\u200c\u200d\u2060\ufeff\u00ad]")
_BLANKS = re.compile(r"\s+")
_MISSING = {"nan", "none", "na", "n/a", "#n/a", "<na>", "null", "nil", "nat", "missing", "0", "-1"}
_NOT_CALLED = {
    *("unassigned", "unknown", "undetermined", "ambiguous", "uncalled", "unmapped", "nocall", "noguide", "noguidedetected"),
    *("nosgrna", "nofeature", "nofeaturecall", "doublet", "doublets", "multiplet", "multiplets", "multipleguides"),
    *(
        "multi",
        "multiple",
        "nogrna",
        "nogrnadetected",
        "nosgrnadetected",
        "undetected",
        "notdetected",
        "notassigned",
        "notcalled",
    ),
    *("negative", "filtered", "filteredout", "lowquality", "other", "others"),
}
_SEPARATORS = re.compile(r"[\s_\-.]+")


def clean(text: str) -> str:
    """Return a text without outer blanks and invisible characters; blanks inside, such as a no-break space, become one blank."""
    if text.isascii() and text.isalnum():
        return text
    return _BLANKS.sub(" ", _INVISIBLE.sub("", text)).strip()


def is_missing(text: str) -> bool:
    """Whether a clean text stands for a missing value ("", nan, None, NA, 0, -1, and what holds no letter or digit), or says that
    no guide was called."""
    folded = text.lower()
    return not any(map(str.isalnum, folded)) or folded in _MISSING or _SEPARATORS.sub("", folded) in _NOT_CALLED
