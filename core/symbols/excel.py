"""Gene symbols that a spreadsheet has changed: MARCH1 to 1-Mar, 2310009E13Rik to 2.31E+13, SEPT2 to 43710."""

from __future__ import annotations

import re
from typing import Final

_MONTH: Final = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec|mrz|mär|märz|mars|mai|okt|dez|déc|dic)"
_NAMED_DATE: Final = rf"\d{{1,2}}(?:\.?[ -]|[./]){_MONTH}\.?(?:[ ./-]\d{{2,4}})?|{_MONTH}\.?[ -]\d{{1,4}}"
_DATE_OF_DIGITS: Final = r"\d{1,2}/\d{1,2}|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}|\d{4}-\d{2}-\d{2}(?:[ T].*)?"
_DATE: Final = re.compile(f"{_NAMED_DATE}|{_DATE_OF_DIGITS}", re.I)
_FLOAT: Final = re.compile(r"[+-]?\d+(?:[.,]\d+)?E[+-]\d+|[+-]?\d+[.,]\d+(?:E\d+)?", re.I)
_WHOLE: Final = re.compile(r"[+-]?\d+")
_SERIALS: Final = range(30_000, 60_000)  # Excel's days from 1982 to 2064
_WORDS: Final = {
    **dict.fromkeys(("true", "false", "wahr", "falsch", "vrai", "verdadero", "falso"), "a truth value"),
    **dict.fromkeys(("nan", "n/a", "<na>"), "a missing value"),
}


def spreadsheet_damage(symbol: str) -> str:
    """Return what a spreadsheet, or a library that writes tables, has made of a symbol, in words; "" for what may be one."""
    if symbol.lower() in _WORDS:
        return _WORDS[symbol.lower()]
    if symbol and not any(map(str.isalnum, symbol)):
        return "nothing that names a gene"
    if symbol.startswith("#"):
        return "an error of a spreadsheet"
    if _DATE.fullmatch(symbol):
        return "a date, which Excel makes of symbols such as MARCH1, MARC1 and SEPT2"
    if _FLOAT.fullmatch(symbol):
        return "a number, which Excel makes of symbols such as 2310009E13Rik"
    if not _WHOLE.fullmatch(symbol):
        return ""
    is_day = len(symbol) == 5 and int(symbol) in _SERIALS
    return "a day that Excel counts, made of a symbol such as SEPT2" if is_day else "a number (an Entrez id, perhaps)"
