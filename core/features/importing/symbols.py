"""Clean texts of files, and recognise texts that mean a missing value.

Also recognise gene symbols changed by a spreadsheet: MARCH1 to 1-Mar, 2310009E13Rik to 2.31E+13,
SEPT2 to 43710.
"""

from __future__ import annotations

import re
from typing import Final

from core.base.workbook import without_apostrophe

_MONTH: Final = (
    "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec|mrz|mär|märz|mars|mai|okt|dez|déc|dic)"
)
_NAMED_DATE: Final = (
    rf"\d{{1,2}}(?:\.?[ -]|[./]){_MONTH}\.?(?:[ ./-]\d{{2,4}})?|{_MONTH}\.?[ -]\d{{1,4}}"
)
_DATE_OF_DIGITS: Final = (
    r"\d{1,2}/\d{1,2}|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}|\d{4}-\d{2}-\d{2}(?:[ T].*)?"
)
_DATE: Final = re.compile(f"{_NAMED_DATE}|{_DATE_OF_DIGITS}", re.I)
_FLOAT: Final = re.compile(r"[+-]?\d+(?:[.,]\d+)?E[+-]\d+|[+-]?\d+[.,]\d+(?:E\d+)?", re.I)
_WHOLE: Final = re.compile(r"[+-]?\d+")
_SERIALS: Final = range(30_000, 60_000)  # Excel's days from 1982 to 2064
_WORDS: Final = {
    **dict.fromkeys(
        ("true", "false", "wahr", "falsch", "vrai", "verdadero", "falso"), "a truth value"
    ),
    **dict.fromkeys(("nan", "n/a", "<na>"), "a missing value"),
}


_INVISIBLE = re.compile("[\u200b\u200c\u200d\u2060\ufeff\u00ad]")
_BLANKS = re.compile(r"\s+")
_DASHES = re.compile("[\u2010-\u2015\u2212\ufe63\uff0d]")  # non-breaking hyphens, dashes, minus
# A text as printed by Python, alone or in a list of one: b'STAT1', 'STAT1', ['STAT1'], ('STAT1',)
_SHOWN_BY_PYTHON = re.compile(r"[\[({]?\s*b?(['\"])(?P<text>[^'\"]+)\1\s*,?\s*[\])}]?")
_MISSING = frozenset(
    ["nan", "none", "na", "n/a", "#n/a", "<na>", "null", "nil", "nat", "missing", "0", "-1"]
)
_MISSING |= frozenset(
    [
        "n.a.",
        "n.d.",
        "<null>",
        "(null)",
        "#value!",
        "#name?",
        "#ref!",
        "#null!",
        "set()",
        "nan_nan",
        "none_none",
        "na_na",
    ]
)
_NOT_CALLED = frozenset(
    [
        "unassigned",
        "unknown",
        "undetermined",
        "ambiguous",
        "uncalled",
        "unmapped",
        "nocall",
        "noguide",
        "noguidedetected",
        "nosgrna",
        "nofeature",
        "nofeaturecall",
        "doublet",
        "doublets",
        "multiplet",
        "multiplets",
        "multipleguides",
        "multi",
        "multiple",
        "nogrna",
        "nogrnadetected",
        "nosgrnadetected",
        "undetected",
        "notdetected",
        "notassigned",
        "notcalled",
        "negative",
        "filtered",
        "filteredout",
        "lowquality",
        "other",
        "others",
        "undefined",
        "invalid",
        "blank",
        "missingdata",
    ]
)
_SEPARATORS = re.compile(r"[\s_\-.()?]+")
_GUIDES = (
    r"(?:s?g?rnas?|s?guides?|s?g?rnaguides?|barcodes?|features?|calls?|cells?|umis?|droplets?"
    r"|perturbations?)"
)
_UNCALLED = re.compile(  # no guide detected, 2+ guides, unassigned cell, empty droplet, low UMI
    rf"(?:no|non|none|not|0|zero|low|empty|un(?:assigned|called|known|mapped|determined)"
    rf"|ambiguous|multi(?:ple)?|many|several|2\+|>1"
    rf"|morethanone){_GUIDES}(?:detected|assigned|called|found|identified)?|{_GUIDES}(?:not"
    rf"|un)(?:detected|assigned|called|found)"
    r"|non?e?(?:detected|assigned|called|found|identified)"
)


# Doses, times, names of drugs, cytokines: Dasatinib 100 nM, LPS 6h, Trametinib, IFNg
_TREATMENT: Final = re.compile(
    r"\b\d+(?:[.,]\d+)?\s*(?:[munpµμ]M|[munpµμ]?g(?:/m?l)?|%|U/ml|h|hrs?|hours?|d|days?|min)\b"
    r"|\b[A-Za-z][a-z]{7,}\b|^(?:IFN|TNF|TGF)[-_ ]?(?:[abgαβγ]\d?|alpha|beta|gamma)\b|^LPS\b"
)


def clean(text: str) -> str:
    """Return a text without outer spaces and invisible characters. Inner spaces, such as a no-break
    space, become one space; dashes of any kind become hyphens; and Python's quotes around a printed
    text (b'STAT1') and the apostrophe before what a spreadsheet would run are removed.
    """
    if text.isascii() and text.isalnum():
        return text
    text = _BLANKS.sub(" ", _INVISIBLE.sub("", text)).strip()
    if not text.isascii():
        text = _DASHES.sub("-", text)
    shown = _SHOWN_BY_PYTHON.fullmatch(text)
    return without_apostrophe(text) if shown is None else shown["text"].strip()


def is_missing(text: str) -> bool:
    """Return whether a clean text means a missing value or that no guide was called.

    Missing values are "", nan, None, NA, 0, -1, and texts without letters or digits.
    """
    folded = text.lower()
    squeezed = _SEPARATORS.sub("", folded)
    if not any(map(str.isalnum, folded)) or folded in _MISSING or squeezed in _NOT_CALLED:
        return True
    return _UNCALLED.fullmatch(squeezed) is not None


def spreadsheet_damage(symbol: str) -> str:
    """Describe the damage to a symbol by a spreadsheet or a table library; "" if the text may be a
    symbol."""
    if symbol.lower() in _WORDS:
        return _WORDS[symbol.lower()]
    if symbol and not any(map(str.isalnum, symbol)):
        return "nothing that names a gene"
    if symbol.startswith("#"):
        return "a spreadsheet error"
    if _DATE.fullmatch(symbol):
        return "a date, made by Excel from symbols such as MARCH1, MARC1 and SEPT2"
    if _FLOAT.fullmatch(symbol):
        return "a number, made by Excel from symbols such as 2310009E13Rik"
    if not _WHOLE.fullmatch(symbol):
        return ""
    is_day = len(symbol) == 5 and int(symbol) in _SERIALS
    return (
        "a day number, made by Excel from a symbol such as SEPT2"
        if is_day
        else "a number (an Entrez id, perhaps)"
    )


def looks_like_treatment(name: str) -> bool:
    """Return whether the name of a perturbation looks like a drug, a dose, a time or a cytokine,
    rather than a gene."""
    return _TREATMENT.search(name) is not None


# separates the parts of a name: NegCtrl0_NegCtrl1
SEVERAL: Final = re.compile(r"\s*(?:__|[+;,|&])\s*|(?<=\d)_(?=[A-Za-z])")
_JOINTS = re.compile(r"[\s_\-./#()]+")
# may be followed by a number, or begin with sg; from nontargetinghuman on: of published libraries
_WORD = (
    "nontargeting|nontarget|nontargetting|nontargetingcontrol|nontargetcontrol|nontargetingguide"
    "|notarget"
    "|nongenetargeting|nongenetargetingcontrol|nontargetingsgrna|nontargetinggrna|nt|ntc|ntctrl"
    "|ntcontrol"
    "|nontargetingcontrols|neg|negctrl|negctl|negcontrol|negativectrl|negativecontrol"
    "|negativecontrols|negativeguide"
    "|control|controls|ctrl|ctl|ctrls|controlguide|controlsgrna|ctrlguide|safetargeting"
    "|safetarget|safeharbor|safeharbour"
    "|safe|scramble|scrambled|scrambledcontrol|intergenic|intergeniccontrol|oneintergenicsite"
    "|nosite|nontargetingneg|gal4"
    "|aavs1|rosa26|egfp|gfp|bfp|tagbfp|luciferase|luc|fluc|rluc|nluc|lacz|mcherry|tdtomato"
    "|nontargetinghuman"
    "|nontargetingmouse|onenongenesite|nongenesite|inactive4t|inactive5t|noncutting|untargeted"
    "|untargeting|notargeting"
    "|nonspecific|noperturb|noperturbation|scr|nc|dmso|vehicle|mock"
)
_PLAIN = frozenset(
    [
        "unperturbed",
        "nonperturbed",
        "notperturbed",
        "untreated",
        "untransduced",
        "nontransduced",
        "notreatment",
        "nottreated",
        "uninfected",
        "untransfected",
        "unedited",
        "unmodified",
        "untransformed",
        "parental",
        "wt",
        "wildtype",
        "baseline",
        "pbs",
        "emptyvector",
        "emptyguide",
        "ev",
        "plko",
        "plko1",
        "mockinfected",
        "mocktransduced",
        "positivenegativecontrol",
        "controlunperturbed",
    ]
)
_GUIDE = "sgrna|grna|shrna|sirna|guide|sg|sh|si|g"
# At most three words (NT_NT): words made of words can be split in 2^n ways.
_PATTERN = re.compile(rf"p?(?:(?:{_GUIDE})?(?:{_WORD})(?:{_GUIDE})?\d*){{1,3}}(?:cells?|site\d*)?")


def looks_like_control(text: str) -> bool:
    """Return whether a clean value names controls, with the usual words in any spelling, numbered
    or not."""
    if _names_control(text):  # AAVS1_sg2 is one name
        return True
    parts = [*filter(None, SEVERAL.split(text))]
    return bool(parts) and all(map(_names_control, parts))


def _names_control(text: str) -> bool:
    squeezed = _JOINTS.sub("", text.lower())
    return (
        squeezed in _PLAIN
        or squeezed.removesuffix("cells") in _PLAIN
        or _PATTERN.fullmatch(squeezed) is not None
    )
