"""Removes secrets from texts that are logged, stored or shown."""

from __future__ import annotations

import json
from urllib.parse import quote

HIDDEN = "[key]"
MIN_LENGTH = 6  # shorter keys are placeholders such as EMPTY; hiding them would mangle ordinary words


def scrub(text: str, key: str) -> str:
    """The text with `[key]` in place of the key, also where JSON or a URL spells the key differently.

    Keys of fewer than 6 characters are left in.
    """
    if len(key) < MIN_LENGTH:
        return text
    in_json = json.dumps(key)[1:-1]
    for spelling in (key, in_json, in_json.replace("/", "\\/"), quote(key, safe="")):
        text = text.replace(spelling, HIDDEN)
    return text
