"""Texts of files without what nobody sees, and texts that stand for a missing value."""

from __future__ import annotations

import re

_INVISIBLE = re.compile("[\u200b\u200c\u200d\u2060\ufeff\u00ad]")
_BLANKS = re.compile(r"\s+")
_DASHES = re.compile("[\u2010-\u2015\u2212\ufe63\uff0d]")  # hyphens that keep a line together, dashes, minus
# A text as Python shows it, alone in a list or not: b'STAT1', 'STAT1', ['STAT1'], ('STAT1',)
_SHOWN_BY_PYTHON = re.compile(r"[\[({]?\s*b?(['\"])(?P<text>[^'\"]+)\1\s*,?\s*[\])}]?")
_MISSING = {"nan", "none", "na", "n/a", "#n/a", "<na>", "null", "nil", "nat", "missing", "0", "-1"}
_MISSING |= {
    *("n.a.", "n.d.", "<null>", "(null)", "#value!", "#name?", "#ref!", "#null!", "set()", "nan_nan", "none_none", "na_na")
}
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
    *("negative", "filtered", "filteredout", "lowquality", "other", "others", "undefined", "invalid", "blank", "missingdata"),
}
_SEPARATORS = re.compile(r"[\s_\-.()?]+")
_GUIDES = r"(?:s?g?rnas?|s?guides?|s?g?rnaguides?|barcodes?|features?|calls?|cells?|umis?|droplets?|perturbations?)"
_UNCALLED = re.compile(  # no guide detected, 2+ guides, unassigned cell, empty droplet, low UMI
    rf"(?:no|non|none|not|0|zero|low|empty|un(?:assigned|called|known|mapped|determined)|ambiguous|multi(?:ple)?|many|several|2\+|>1"
    rf"|morethanone){_GUIDES}(?:detected|assigned|called|found|identified)?|{_GUIDES}(?:not|un)(?:detected|assigned|called|found)"
    r"|non?e?(?:detected|assigned|called|found|identified)"
)


def clean(text: str) -> str:
    """Return a text without outer blanks and invisible characters; blanks inside, such as a no-break space, become one blank,
    dashes of any kind become hyphens, and what Python puts around a text when it shows it (b'STAT1') goes."""
    if text.isascii() and text.isalnum():
        return text
    text = _BLANKS.sub(" ", _INVISIBLE.sub("", text)).strip()
    if not text.isascii():
        text = _DASHES.sub("-", text)
    shown = _SHOWN_BY_PYTHON.fullmatch(text)
    return text if shown is None else shown["text"].strip()


def is_missing(text: str) -> bool:
    """Whether a clean text stands for a missing value ("", nan, None, NA, 0, -1, and what holds no letter or digit), or says that
    no guide was called."""
    folded = text.lower()
    squeezed = _SEPARATORS.sub("", folded)
    if not any(map(str.isalnum, folded)) or folded in _MISSING or squeezed in _NOT_CALLED:
        return True
    return _UNCALLED.fullmatch(squeezed) is not None
