"""Search regular expressions from users with RE2 (from pyarrow), which never takes exponential
time.

RE2 supports neither back-references nor look-ahead and look-behind:
https://github.com/google/re2/wiki/Syntax.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from core.base.errors import InputError

MOST_SECONDS = 20.0  # for all texts; the published run's 7,252 briefs take 0.01 seconds
_AT_A_TIME = 64  # number of texts between two checks of the time


def search_pattern(
    pattern: str, texts: Sequence[str], where: str, begun: float | None = None
) -> list[bool]:
    """Return whether each text matches a pattern, ignoring case.

    begun: the monotonic start time for MOST_SECONDS, by default now. Raise InputError, starting
    with `where`, for a pattern that RE2 cannot search, or not within MOST_SECONDS.
    """
    found: list[bool] = []
    begun = time.monotonic() if begun is None else begun
    for start in range(0, len(texts), _AT_A_TIME):
        if time.monotonic() - begun > MOST_SECONDS:
            raise InputError(
                f"{where}: pattern {pattern!r}: searched {start:,} of {len(texts):,} texts in"
                f" {MOST_SECONDS:g} s; expected a faster one, with smaller repetitions than"
                " .{1000}"
            )
        found += _search(pattern, texts[start : start + _AT_A_TIME], where)
    return found


def _search(pattern: str, texts: Sequence[str], where: str) -> list[bool]:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        return list(
            pc.match_substring_regex(
                pa.array(texts, pa.string()), pattern, ignore_case=True
            ).to_pylist()
        )
    except (pa.ArrowInvalid, UnicodeEncodeError) as error:
        why = str(error).removeprefix("Invalid regular expression: ")
        raise InputError(
            f"{where}: pattern {pattern!r}: {why}; expected a regular expression for RE2, without"
            " look-ahead, look-behind and back-references"
        ) from error
