"""Every tool of this room, and what they say of a pair. A new file with a `TOOL` is in without being listed anywhere."""

from __future__ import annotations

import asyncio
import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING

import core.evidence as room
from core.errors import NotFound
from core.evidence.label_view import LabelView
from core.evidence.packs import Packs
from core.evidence.tool import Tool
from core.types import Evidence, Pair

if TYPE_CHECKING:
    from core.evidence.source_client import SourceClient


def tools_in(package: ModuleType) -> Mapping[str, Tool]:
    """The tools among a package's modules, by name."""
    modules = (importlib.import_module(f"{package.__name__}.{found.name}") for found in pkgutil.iter_modules(package.__path__))
    found = (getattr(module, "TOOL", None) for module in modules)
    return MappingProxyType({tool.name: tool for tool in found if isinstance(tool, Tool)})


TOOLS: Mapping[str, Tool] = tools_in(room)


def tool_named(name: str) -> Tool:
    """The tool of a name; raises NotFound, naming those there are."""
    if name not in TOOLS:
        raise NotFound(f"evidence tool {name!r}: not known, expected one of {', '.join(TOOLS)}")
    return TOOLS[name]


async def gather(
    pair: Pair, packs: Packs, view: LabelView, names: Sequence[str], web: SourceClient | None = None
) -> tuple[Evidence, ...]:
    """What the named tools say of a pair, in the order of their names; each answer once.

    A tool about single symbols is asked about the perturbation, then about the gene; all are asked at the same time.
    Raises NotFound for an unknown name.
    """
    asked = [(tool, about) for tool in map(tool_named, names) for about in tool.calls(pair.pert, pair.gene)]
    answers = await asyncio.gather(*(tool.run(*about, packs, view, web) for tool, about in asked))
    found: dict[tuple[str, str], Evidence] = {}
    for item in answers:
        found.setdefault((item.tool, item.key), item)
    return tuple(found.values())
