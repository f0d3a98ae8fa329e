"""What the documents say is true: paths and commands exist, diagrams name rooms that are there, and examples run."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
EXAMPLES = ROOT / "docs" / "extending.md"
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
A_FILE = re.compile(r"# ((?:core|pages|tests|app)[\w/]*\.py)\n")
ADDED_BEFORE = '            st.Page("pages/data.py"'  # where a page of the examples is put in app.py
COPIED = ("core", "pages", "tests", ".streamlit")


def blocks(document: Path, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return [code for found, code in FENCED.findall(document.read_text("utf-8")) if found == language]


def example_files() -> dict[str, str]:
    """Path → content of every file that the examples consist of."""
    found = {}
    for code in blocks(EXAMPLES, "python"):
        name = A_FILE.match(code)
        assert name, f"a block of {EXAMPLES.name} does not begin with its path: {code[:60]!r}"
        found[name[1]] = code
    return found


def test_the_examples_run(tmp_path: Path) -> None:
    """In a copy of the repository, by their own tests and the test of who imports whom."""
    copy = tmp_path / "copy"
    for name in COPIED:
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("app.py", "pyproject.toml"):
        shutil.copy(ROOT / name, copy / name)
    files = example_files()
    router, line = (copy / "app.py").read_text("utf-8"), files.pop("app.py").partition("\n")[2].strip()
    assert ADDED_BEFORE in router
    (copy / "app.py").write_text(router.replace(ADDED_BEFORE, f"            {line},\n{ADDED_BEFORE}"), "utf-8")
    for name, code in files.items():
        assert not (copy / name).exists(), f"{name} is there already: the example needs another name"
        (copy / name).write_text(code, "utf-8")
    tests = [name for name in files if name.startswith("tests/")]
    assert len(tests) == 4
    command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:randomly", *tests, "tests/test_imports.py"]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
