"""Finds every evidence tool in `core/evidence/tools`, and asks tools about a pair."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING

from core.base.feature import declared_in, find_named
from core.base.types import Evidence, Pair
from core.evidence import tools
from core.evidence.label_view import LabelView
from core.evidence.packs import PACK_NAMES, PackName, Packs
from core.evidence.tool import Tool

if TYPE_CHECKING:
    from core.evidence.source_client import SourceClient


def load_tools(package: ModuleType) -> Mapping[str, Tool]:
    """Import every module of a package and return their `TOOL`s by name; a module without one adds
    nothing."""
    return MappingProxyType(
        {tool.name: tool for tool in declared_in(package, "TOOL") if isinstance(tool, Tool)}
    )


TOOLS: Mapping[str, Tool] = load_tools(tools)


def tool_named(name: str) -> Tool:
    """Return the tool of that name. Raise NotFound, which lists the known names."""
    return find_named(TOOLS, "evidence tool", name)


def packs_read_by(used: Iterable[Tool]) -> tuple[PackName, ...]:
    """Return the knowledge packs that one of these tools reads, in the order of PACK_NAMES."""
    read = {name for tool in used for name in tool.reads}
    return tuple(name for name in PACK_NAMES if name in read)


def tool_file(name: str) -> Path:
    """Return the source file of the tool of that name: each tool is defined in the file of its
    name."""
    return Path(tools.__path__[0]) / f"{tool_named(name).name}.py"


async def gather(
    pair: Pair,
    packs: Packs,
    view: LabelView,
    names: Sequence[str],
    client: SourceClient | None = None,
    on_answer: Callable[[Evidence], object] | None = None,
) -> tuple[Evidence, ...]:
    """Return the named tools' answers about a pair, in the order of the names, each once.

    A tool about single symbols is asked about the perturbation and about the gene. All questions
    are asked concurrently. on_answer: called with each answer when it arrives. Raise NotFound for
    an unknown name.
    """
    calls = [
        (tool, arguments)
        for tool in map(tool_named, names)
        for arguments in tool.calls(pair.pert, pair.gene)
    ]

    async def ask(tool: Tool, arguments: tuple[str | None, str | None]) -> Evidence:
        answer = await tool.run(*arguments, packs, view, client)
        if on_answer is not None:
            on_answer(answer)
        return answer

    answers = await asyncio.gather(*(ask(tool, arguments) for tool, arguments in calls))
    distinct: dict[tuple[str, str], Evidence] = {}
    for item in answers:
        distinct.setdefault((item.tool, item.key), item)
    return tuple(distinct.values())
