"""Files of prompts: a CSV with the columns id (or pair_id) and prompt, or a JSON object with these
keys on each line.

Other columns are not read. A prompt is sent verbatim, without filling in or stripping.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from core.base.errors import InputError
from core.base.hashes import sha256_of
from core.base.tables import Table, text_table
from core.base.texts import is_encodable, parse_json, quote

MAX_BYTES = 1 << 28
_IDS, _PROMPT = ("id", "pair_id"), "prompt"
_EXPECTED = (
    "expected a CSV with the columns id and prompt, or a JSON object with these keys on each line"
)


@dataclass(frozen=True, slots=True)
class PromptFile:
    """A file of prompts that was not read yet; messages call it `name`."""

    name: str
    content: bytes

    @property
    def sha256(self) -> str:
        """The SHA-256 of the content, under which the file is stored."""
        return sha256_of(self.content)


def read_prompts(file: PromptFile) -> dict[str, str]:
    """Return id → prompt in the file's order.

    Raise InputError for a file that is too large, without the columns or without rows, and for a
    row that cannot be read, with an empty id or prompt, or whose id stands on an earlier line; the
    message names the line.
    """
    if len(file.content) > MAX_BYTES:
        raise InputError(
            f"{file.name}: {len(file.content):,} bytes, expected at most {MAX_BYTES:,}"
        )
    found: dict[str, str] = {}
    lines: dict[str, int] = {}
    is_json = file.content.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")
    for line, key, prompt in _json_rows(file) if is_json else _csv_rows(file):
        where = f"{file.name}: line {line:,}"
        if not key.strip():
            raise InputError(f"{where}: empty id, expected that of a row")
        if key in lines:
            raise InputError(
                f"{where}: id {quote(key)} stands on line {lines[key]:,} already, expected each"
                " once"
            )
        if not prompt.strip():
            raise InputError(
                f"{where}: the prompt of {quote(key)} is empty, expected the text to ask"
            )
        if not is_encodable(key + prompt):
            raise InputError(
                f"{where}: {quote(key)} holds half of a surrogate pair, expected text that UTF-8"
                " can hold"
            )
        found[key], lines[key] = prompt, line
    if not found:
        raise InputError(f"{file.name}: holds no prompt, {_EXPECTED}")
    return found


def _csv_rows(file: PromptFile) -> Iterator[tuple[int, str, str]]:
    """Yield line, id and prompt of every row. Raise InputError for missing columns and for a row
    that cannot be read."""
    table = text_table(io.BytesIO(file.content), file.name)
    ids = [name for name in _IDS if name in table.header]
    if len(ids) != 1 or _PROMPT not in table.header:
        raise InputError(
            f"{file.name}: line 1: columns {quote(', '.join(table.header), 200)}; {_EXPECTED}"
        )
    at, prompt = table.header.index(ids[0]), table.header.index(_PROMPT)
    for line, cells in table.records():
        _refuse_rejected(table)
        yield line, cells[at], cells[prompt]
    _refuse_rejected(table)


def _refuse_rejected(table: Table) -> None:
    if table.rejected:
        first = table.rejected[0]
        raise InputError(
            f"{table.name}: line {first.line:,}: {first.reason} ({first.detail}), expected a"
            " whole row"
        )


def _json_rows(file: PromptFile) -> Iterator[tuple[int, str, str]]:
    """Yield line, id and prompt of every line that is not blank. Raise InputError for any other
    than an object with both."""
    for line, text in enumerate(file.content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not text.strip():
            continue
        where = f"{file.name}: line {line:,}"
        try:
            values = parse_json(text.decode())
        except ValueError as error:
            raise InputError(f"{where}: no JSON in UTF-8 ({error}); {_EXPECTED}") from error
        ids = [name for name in _IDS if isinstance(values, dict) and name in values]
        if len(ids) != 1 or _PROMPT not in values:
            raise InputError(f"{where}: {quote(text.decode())}; {_EXPECTED}")
        yield line, _text_of(values, ids[0], where), _text_of(values, _PROMPT, where)


def _text_of(values: Mapping[str, Any], name: str, where: str) -> str:
    value = values[name]
    if not isinstance(value, str):
        raise InputError(f"{where}: {name} is {quote(json.dumps(value))}, expected text in quotes")
    return value


def write_prompts(prompts: Mapping[str, str], asked_again: str) -> str:
    """Return prompts as a submission's prompt.txt holds them: a JSON object with id and prompt on
    each line, and on a last one what was asked for again where an answer could not be read."""
    rows: list[dict[str, str]] = [{"id": key, _PROMPT: prompt} for key, prompt in prompts.items()]
    return "\n".join(
        json.dumps(row, ensure_ascii=False) for row in [*rows, {"asked_again": asked_again}]
    )


def split_prompts(text: str) -> list[str]:
    """Return the prompts of a prompt.txt: each that `write_prompts` wrote, and all other text as
    one."""
    prompts: list[str] = []
    rest: list[str] = []
    for line in text.split("\n"):
        try:
            values = parse_json(line) if line.startswith("{") else None
        except ValueError:
            values = None
        if (
            isinstance(values, dict)
            and values.keys() == {"id", _PROMPT}
            and isinstance(values[_PROMPT], str)
        ):
            prompts.append(values[_PROMPT])
        else:
            rest.append(line)
    other = "\n".join(rest)
    return [*prompts, other] if other.strip() or not prompts else prompts
