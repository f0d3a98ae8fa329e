"""A tokenizer's settings as older releases of transformers, such as a server's, can read them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from core.file_io import replace_file
from core.jobs.folder import read_json

CONFIG = "tokenizer_config.json"
_FIELD = "extra_special_tokens"


def make_readable(folder: Path) -> bool:
    """Rewrites a tokenizer's settings in which extra special tokens are a list, which older releases refuse; whether it did."""
    values = read_json(folder / CONFIG)
    if values is None or not isinstance(values.get(_FIELD), list):
        return False
    values[_FIELD] = name_tokens(values[_FIELD])
    replace_file(folder / CONFIG, json.dumps(values, indent=2, ensure_ascii=False).encode())
    return True


def name_tokens(tokens: Sequence[str | Mapping[str, Any]]) -> dict[str, Any]:
    """Returns name → token, in the same order: "<|im_start|>" is called im_start; names that would come twice get a number."""
    named: dict[str, Any] = {}
    for token in tokens:
        text = str(token["content"]) if isinstance(token, Mapping) else token
        name = stem = re.sub(r"\W+", "_", text).strip("_") or "token"
        number = 2
        while name in named:
            name, number = f"{stem}_{number}", number + 1
        named[name] = token
    return named
