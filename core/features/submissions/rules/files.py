"""Rules about the file as a whole: the zip and its members, the CSV, the prompt and the tools."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Sequence

from core.base.texts import list_names
from core.features.submissions.parsed import File, Finding, is_tool
from core.features.submissions.rules.registry import rule
from core.features.submissions.tracks import CSV, MODEL, PROMPT, TOOLS
from core.llm.kept_answer import count_with_tiktoken
from core.methods.prompts import B_TOOLS
from core.runs.prompt_files import split_prompts

OPENING = (
    "zip_damaged",
    "zip_unsafe",
    "no_submission",
    "encoding",
    "not_csv",
    "ragged",
)  # rules whose faults are found when a file is opened
_MOST_TOOL_BYTES = 1 << 20


def _register_opening() -> None:
    for name in OPENING:

        def faults(file: File, fault: str = name) -> Sequence[Finding]:
            return file.faults.get(fault, ())

        rule(name, "error")(faults)


_register_opening()


@rule("unexpected_members", "warning")
def unexpected_members(file: File) -> Iterator[Finding]:
    """Members that do not belong in the track's zip."""
    inside = f"{file.folder}/" if file.folder else ""
    expected = {CSV, PROMPT}
    odd = [
        path
        for path in file.paths or ()
        if (short := path.removeprefix(inside)) not in expected
        and not (file.layout.has_tools and is_tool(short))
    ]
    if odd:
        tools = f", {TOOLS}*.py" if file.layout.has_tools else ""
        yield Finding((), f"members {list_names(odd)}, expected only {CSV}, {PROMPT}{tools}")


@rule("folder", "warning")
def folder(file: File) -> Iterator[Finding]:
    """A zip whose members are in a folder instead of at its top level."""
    if file.folder:
        yield Finding((), f"{CSV} is in folder {file.folder}, expected at the top level of the zip")


@rule("prompt_missing", "error")
def prompt_missing(file: File) -> Iterator[Finding]:
    """No prompt.txt in the zip, or an empty one."""
    if file.paths is not None and not (file.prompt or "").strip():
        state = "not in the zip" if file.prompt is None else "empty"
        yield Finding((), f"{PROMPT}: {state}, expected the prompt that was run")


@rule("prompt_too_long", "error", "A", "B")
def prompt_too_long(file: File) -> Iterator[Finding]:
    """A prompt with more tokens than allowed, if tiktoken can count them."""
    tokens, most = _tokens(file), _most(file)
    if tokens is not None and tokens > most:
        yield Finding(
            (), f"{PROMPT}: {tokens:,} tokens (counted by tiktoken), expected at most {most:,}"
        )


@rule("prompt_uncounted", "warning", "A", "B")
def prompt_uncounted(file: File) -> Iterator[Finding]:
    """A prompt that may be too long, if tiktoken cannot count its tokens."""
    size, most = (
        max((len(prompt.encode()) for prompt in split_prompts(file.prompt or "")), default=0),
        _most(file),
    )
    if size > most and _tokens(file) is None:
        bound = (
            f"at most {size:,} tokens, because no token is shorter than a byte; install tiktoken to"
            " count them"
        )
        yield Finding((), f"{PROMPT}: {bound}; expected at most {most:,}")


def _tokens(file: File) -> int | None:
    """Return the number of tokens of the longest prompt.

    Return None if tiktoken cannot count them, or if no prompt has enough bytes to exceed the limit.
    """
    long = [
        prompt for prompt in split_prompts(file.prompt or "") if len(prompt.encode()) > _most(file)
    ]
    counts = [count_with_tiktoken(MODEL, prompt) for prompt in long]
    known = [count for count in counts if count is not None]
    return max(known, default=None)


def _most(file: File) -> int:
    return file.layout.most_prompt_tokens or 0


@rule("tools_missing", "error", "B")
def tools_missing(file: File) -> Iterator[Finding]:
    """No Python file under tools/, or only empty ones."""
    if file.paths is not None and not any(content.strip() for content in file.tools.values()):
        state = f"{len(file.tools)} files, all empty" if file.tools else "no Python file"
        yield Finding((), f"{TOOLS}: {state}, expected the source of every tool")


@rule("too_many_tools", "error", "B")
def too_many_tools(file: File) -> Iterator[Finding]:
    """More tools than the track allows."""
    if len(file.tools) > B_TOOLS:
        yield Finding((), f"{TOOLS}: {len(file.tools):,} files, expected at most {B_TOOLS}")


@rule("tool_syntax", "error", "B")
def tool_syntax(file: File) -> Iterator[Finding]:
    """Tools that Python cannot parse."""
    for path, content in file.tools.items():
        if len(content) > _MOST_TOOL_BYTES:  # parsing takes fifty times the memory
            yield Finding(
                (), f"{path}: {len(content):,} bytes, expected at most {_MOST_TOOL_BYTES:,}"
            )
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # an unknown escape in a string is not an error
                ast.parse(content)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            yield Finding((), f"{path}: not Python ({error})")
