"""The fake servers are imported by tests and demos, never by a registry or the command line."""

from __future__ import annotations

import subprocess
import sys

from core.config import REPOSITORY

IMPORT_ALL = """
import importlib, pkgutil, sys
import core.cli

commands = [f"core.cli.{module.name}" for module in pkgutil.iter_modules(core.cli.__path__)]
registries = [f"core.{room.name}.registry" for room in pkgutil.iter_modules(core.__path__) if room.ispkg]
for name in commands + [name for name in registries if importlib.util.find_spec(name)]:
    importlib.import_module(name)
from core.evidence.registry import TOOLS
from core.methods.base import methods
assert len(TOOLS) >= 10 and len(methods()) >= 5
print(*(name for name in sys.modules if name.startswith("core.")))
"""


def test_no_registry_and_no_command_loads_a_fake_server() -> None:
    command = [sys.executable, "-c", f"import importlib.util\n{IMPORT_ALL}"]
    loaded = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout.split()
    assert {"core.evidence.registry", "core.methods.base", "core.cli.engine"} <= set(loaded)
    assert [name for name in loaded if "testing" in name or name.rpartition(".")[2].startswith("scripted")] == []
