"""pyproject.toml, and the command that `make` installs."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from core.base.environment import describe

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
COMMAND = Path(sys.executable).with_name("perturbdesk")


def test_the_command_is_the_one_that_python_m_core_runs() -> None:
    module, _, name = PYPROJECT["project"]["scripts"]["perturbdesk"].partition(":")
    assert (
        getattr(importlib.import_module(module), name) is importlib.import_module("core.cli").main
    )


def test_version_and_dependencies_come_from_one_place() -> None:
    assert set(PYPROJECT["project"]["dynamic"]) == {"version", "dependencies"}
    dynamic = PYPROJECT["tool"]["setuptools"]["dynamic"]
    assert dynamic["version"] == {"attr": "core.__version__"}
    [file] = dynamic["dependencies"]["file"]
    lines = [
        line
        for line in (ROOT / file).read_text("utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    assert all(len(Requirement(line).specifier) == 1 for line in lines)  # each is pinned


def test_make_refuses_the_pythons_that_the_project_refuses() -> None:
    allowed = SpecifierSet(PYPROJECT["project"]["requires-python"])
    assert ("3.11" in allowed, "3.10" in allowed) == (True, False)
    assert "sys.version_info < (3, 11)" in (ROOT / "Makefile").read_text("utf-8")


def test_the_setuptools_that_make_installs_is_one_that_the_build_accepts() -> None:
    [wanted] = map(Requirement, PYPROJECT["build-system"]["requires"])
    pinned = {
        line.partition("==")[0]: line.partition("==")[2]
        for line in (ROOT / "requirements-setup.txt").read_text("utf-8").splitlines()
        if "==" in line
    }
    assert pinned[wanted.name] in wanted.specifier


@pytest.mark.skipif(not COMMAND.exists(), reason="needs the command that make installs")
def test_the_command_works_from_any_folder(tmp_path: Path) -> None:
    environment = {
        key: value for key, value in os.environ.items() if key != "PERTURBDESK_WORKSPACE"
    }

    def run(*arguments):
        done = subprocess.run(
            [str(COMMAND), *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        return done.stdout

    assert run("--version") == f"perturbdesk {describe()}\n"
    assert "--workspace" in run("--help")
    assert run("--workspace", str(tmp_path / "own"), "runs", "--json") == '{"runs": []}\n'
