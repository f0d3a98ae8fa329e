"""Prompt texts: Markdown files with fields in braces; a field without a value is an error."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from importlib.resources import files
from string import Formatter

from core.errors import InputError

_GAP = re.compile(r"\n{3,}")


@cache
def prompt_text(name: str) -> str:
    """Returns the text of core/llm/prompts/NAME.md, without the newline at its end."""
    return (files("core.llm") / "prompts" / f"{name}.md").read_text("utf-8").strip()


def fill(template: str, **values: str) -> str:
    """Returns a template with its fields filled in; braces inside values are never read as fields.

    Empty values leave no gap of blank lines. Raises InputError for a field without a value, see `check_fields`.
    """
    check_fields("prompt", template, values)
    return _GAP.sub("\n\n", template.format_map(values)).strip()


def check_fields(what: str, template: str, allowed: Collection[str]) -> frozenset[str]:
    """Returns the fields of a template. Raises InputError if braces hold anything but an allowed name.

    A literal brace is doubled, as in Python. what: the name of the template in the message.
    """
    expected = f"expected {', '.join(f'{{{name}}}' for name in allowed)}, and {{{{ or }}}} for a brace itself"
    try:
        parts = [part[1:] for part in Formatter().parse(template) if part[1] is not None]
    except ValueError as error:
        raise InputError(f"{what}: braces that do not match ({error}), {expected}") from None
    for name, spec, conversion in parts:
        if name not in allowed or spec or conversion:
            written = "".join((name or "", f"!{conversion}" if conversion else "", f":{spec}" if spec else ""))
            raise InputError(f"{what}: {{{written}}} is not known, {expected}")
    return frozenset(str(part[0]) for part in parts)
