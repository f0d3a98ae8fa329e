"""Files of prompts of runs: read, checked against a run, and stored permanently in data/prompts
under their SHA-256.

Such a file is a CSV with the columns id (or pair_id) and prompt, or a JSON object with these keys
on each line. Other columns are not read. A prompt is sent verbatim, without filling in or
stripping.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.base.errors import InputError, StateError
from core.base.fields.setting import is_sha256
from core.base.file_io import read_file, replace_file
from core.base.hashes import sha256_of
from core.base.records import parse
from core.base.system_errors import explain
from core.base.tables import Table, text_table
from core.base.texts import is_encodable, list_names, parse_json, quote
from core.base.types import Options
from core.methods.prompt_only import lacks_answer
from core.runs.component_loader import default_dataset
from core.runs.dependencies import load_pairs
from core.runs.spec import RunSpec
from core.runs.uploads_apart import read_apart
from core.runs.workspace import Workspace

MAX_BYTES = 1 << 28
_IDS, _PROMPT = ("id", "pair_id"), "prompt"
_EXPECTED = (
    "expected a CSV with the columns id and prompt, or a JSON object with these keys on each line"
)

# SHA-256 of uploads that a process of its own could read: a form asks for them at every click
_READ_APART: set[str] = set()


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


@dataclass(frozen=True, slots=True)
class _JsonRow:
    prompt: str
    id: str = ""
    pair_id: str = ""


def _json_rows(file: PromptFile) -> Iterator[tuple[int, str, str]]:
    """Yield line, id and prompt of every line that is not blank. Raise InputError for any other
    than an object with both."""
    for line, text in enumerate(file.content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if text.strip():
            row = parse(_JsonRow, text, f"{file.name}: line {line:,}", unknown="ignore")
            yield line, row.id or row.pair_id, row.prompt


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


def open_file(path: Path) -> PromptFile:
    """Return the file of prompts at a path. Raise InputError if it cannot be opened."""
    return PromptFile(path.name, read_file(path, MAX_BYTES))


def check(workspace: Workspace, spec: RunSpec, file: PromptFile | None) -> None:
    """Raise InputError if the prompts of a file cannot be those of the run that names it. A prompt
    that is too long fails its row; prompts for ids that the dataset lacks are not asked, see
    `describe_unknown`.

    file: None for the one that the workspace keeps; StateError if it is gone or has changed.
    """
    name, prompts = _named_prompts(workspace, spec.prompt_file, file)
    missing = [row for row in spec.rows if row not in prompts]
    if missing:
        got = (
            f"no prompt for {len(missing):,} of the run's {len(spec.rows):,} rows:"
            f" {list_names(missing)}"
        )
        raise InputError(f"{name}: {got}; expected one for each")
    unasked = [row for row in spec.rows if lacks_answer(prompts[row], spec.options)]
    if unasked:
        got = f"{len(unasked):,} prompts do not ask for <answer>X</answer>: {list_names(unasked)}"
        raise InputError(
            f"{name}: {got}; expected it in each, since log-probabilities are read there"
        )


def rows_of(
    workspace: Workspace, dataset: str, sha256: str, file: PromptFile | None
) -> tuple[str, ...]:
    """Return the rows of a dataset that a file has prompts for, in its order. Raise InputError if
    there is none.

    file: as in `check`.
    """
    name, prompts = _named_prompts(workspace, sha256, file)
    known = load_pairs(workspace.store, dataset)
    found = tuple(key for key in prompts if key in known)
    if not found:
        got = (
            f"{len(prompts):,} of {len(prompts):,} ids are not in dataset"
            f" {default_dataset(workspace, dataset).name}"
        )
        raise InputError(f"{name}: {got}: {list_names(list(prompts))}; expected ids of its rows")
    return found


def describe_unknown(workspace: Workspace, spec: RunSpec, file: PromptFile | None) -> str:
    """Return a sentence that lists the ids of a file that a run's dataset lacks and that are not
    asked; "" without any."""
    if not spec.prompt_file:
        return ""
    name, prompts = _named_prompts(workspace, spec.prompt_file, file)
    known = load_pairs(workspace.store, spec.dataset)
    unknown = [key for key in prompts if key not in known]
    if not unknown:
        return ""
    dataset = default_dataset(workspace, spec.dataset).name
    return (
        f"{name}: not asked, since {len(unknown):,} of {len(prompts):,} ids are not in dataset"
        f" {dataset}: {list_names(unknown)}"
    )


def _named_prompts(
    workspace: Workspace, sha256: str, file: PromptFile | None
) -> tuple[str, Mapping[str, str]]:
    """Return the name of a file of prompts for messages, and its prompts; of the one that is kept
    if `file` is None."""
    if file is None:
        return _content_name(sha256), read_kept(workspace, sha256)
    if workspace.settings.is_shared and file.sha256 not in _READ_APART:
        read_apart(workspace, "prompts", [(file.name, file.content)], {})
        _READ_APART.add(file.sha256)
    return file.name, read_prompts(file)


def prompts_task(
    workspace: Workspace,  # noqa: ARG001
    files: Sequence[tuple[str, bytes]],
    options: Options,  # noqa: ARG001
) -> int:
    """Read an upload in the process that does so (`core.runs.upload_process`)."""
    [(name, content)] = files
    return len(read_prompts(PromptFile(name, content)))


def keep(workspace: Workspace, file: PromptFile) -> None:
    """Store a file of prompts under its SHA-256, unless it is stored already."""
    workspace.refuse_if_read_only("prompts", file.name)
    path = _path(workspace, file.sha256)
    try:
        if path.is_file() and path.read_bytes() == file.content:
            return
        # under the store's lock, as backups expect
        with workspace.change("prompts", file.name) as (_, detail):
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, file.content, durable=True)
            detail |= {"sha256": file.sha256, "bytes": len(file.content)}
    except OSError as error:
        raise explain(error, path) from error


def read_kept(workspace: Workspace, sha256: str) -> Mapping[str, str]:
    """Return id → prompt of the file stored under this SHA-256. Raise StateError if it is missing
    or has changed."""
    path = _path(workspace, sha256)
    name = _content_name(sha256)
    try:
        file = PromptFile(name, read_file(path, MAX_BYTES))
    except InputError as error:
        raise StateError(f"{name}: {error}; request the run with that file again") from error
    if file.sha256 != sha256:
        now = f"{path}: has changed since, its hash is {file.sha256[:10]}"
        raise StateError(f"{name}: {now}; request the run with the unchanged file again")
    return read_prompts(file)


def _content_name(sha256: str) -> str:
    return f"file of prompts {sha256[:10]}"


def _path(workspace: Workspace, sha256: str) -> Path:
    # of a specification from elsewhere, which must not lead to another file
    if not is_sha256(sha256):
        raise StateError(f"file of prompts {sha256[:80]!r}: expected a SHA-256")
    return workspace.settings.data / "prompts" / sha256
