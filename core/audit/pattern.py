"""Regular expressions that people write, searched by RE2, which pyarrow brings: none takes time exponential in a text's length.

RE2 knows neither back-references nor looking ahead or behind: https://github.com/google/re2/wiki/Syntax.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from core.errors import InputError

MOST_SECONDS = 20.0  # for all texts; the published run's 7,252 briefs take a hundredth of a second
_AT_A_TIME = 64  # texts between two looks at the clock


def check_pattern(pattern: str, where: str) -> None:
    """Raise InputError, which begins with `where`, if a text is no regular expression that RE2 can search."""
    _search(pattern, [""], where)


def search_pattern(pattern: str, texts: Sequence[str], where: str, begun: float | None = None) -> list[bool]:
    """For each text whether a pattern is found in it, in any case.

    begun: the monotonic time from which MOST_SECONDS count, by default now. Raise InputError, which begins with `where`, for a
    pattern that cannot be searched, or not within MOST_SECONDS.
    """
    found: list[bool] = []
    begun = time.monotonic() if begun is None else begun
    for start in range(0, len(texts), _AT_A_TIME):
        if time.monotonic() - begun > MOST_SECONDS:
            raise InputError(
                f"{where}: pattern {pattern!r}: searched {start:,} of {len(texts):,} texts in {MOST_SECONDS:g} s; "
                "expected one that is quicker, with smaller repetitions than .{1000}"
            )
        found += _search(pattern, texts[start : start + _AT_A_TIME], where)
    return found


def _search(pattern: str, texts: Sequence[str], where: str) -> list[bool]:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        return list(pc.match_substring_regex(pa.array(texts, pa.string()), pattern, ignore_case=True).to_pylist())
    except (pa.ArrowInvalid, UnicodeEncodeError) as error:
        why = str(error).removeprefix("Invalid regular expression: ")
        raise InputError(
            f"{where}: pattern {pattern!r}: {why}; expected a regular expression as RE2 knows them, without looking ahead or "
            "behind and without back-references"
        ) from error
