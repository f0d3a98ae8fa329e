"""Whose workspace a page gets: no file of the interface reaches one but through the session of the person at the browser."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from core.runs.workspace import Workspace
from tests.test_imports import FILES, ROOT, imported, parsed, room_of

pytestmark = pytest.mark.soak

SERVER = "core/ui/server_workspace.py"
# What gives a workspace in which things can be changed, or the settings to make one of, and who may use it.
MAY_USE = {
    "open_workspace": {SERVER, "core/ui/start.py"},  # before there is a server
    "load_settings": {
        "core/features/server/server.py",
        "core/ui/sign_in.py",
    },  # how it is served; who has which role
    "_own_workspace": {SERVER},
    "open_for": {SERVER, "core/ui/sign_in.py"},
    "session_workspace": {"core/ui/sign_in.py", "core/ui/shell.py"},
    "for_person": {SERVER},
    "settle_runs": {SERVER, "core/ui/loaders/records.py"}
    | {
        "core/ui/shell.py",
        "core/features/predicting/page.py",
    },  # these two ask the loader, with nothing to choose
    "keep_null": {SERVER, "core/features/neighbours/page/loaders.py"},
    "open_store": set[str](),
    "closed_because": set[str](),
}
INTERFACE = [
    file
    for file in FILES
    if room_of(file) in ("ui", "pages", "app")
    or "streamlit" in imported(file)
    or (file.parent.name == "server" and "doctor" not in file.name)
]


def names_in(tree: ast.AST) -> Iterator[str]:
    """Every name that a file imports, defines, uses, or takes of something, also as a text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom | ast.Import):
            yield from (alias.name.rpartition(".")[2] for alias in node.names)
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_a_page_gets_the_workspace_of_its_session() -> None:
    for file in INTERFACE:
        place = str(file.relative_to(ROOT))
        used = set(names_in(parsed(file))) & MAY_USE.keys()
        assert not {name for name in used if place not in MAY_USE[name]}, place
        calls = [node for node in ast.walk(parsed(file)) if isinstance(node, ast.Call)]
        made = [node for node in calls if ast.unparse(node.func).endswith("Workspace")]
        assert not made, f"{place}: makes a workspace of its own"


def test_the_list_names_no_file_that_does_without() -> None:
    found = {str(file.relative_to(ROOT)): set(names_in(parsed(file))) for file in INTERFACE}
    assert not {
        (name, place)
        for name, places in MAY_USE.items()
        for place in places
        if name not in found[place]
    }


def test_only_a_workspace_writes_to_its_store() -> None:
    """And what a worker does after the workspace has let it begin: it brings its journal into the store."""
    writes = {
        str(file.relative_to(ROOT))
        for file in FILES
        for node in ast.walk(parsed(file))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "write"
        if ast.unparse(node.func.value).endswith("store")
    }
    assert writes == {"core/runs/workspace.py", "core/runs/ingest.py"}


def test_what_is_loaded_for_everybody_is_read_in_a_closed_workspace(
    small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    from core.base.errors import ReadOnly
    from core.runs import actions as runs
    from core.ui import server_workspace
    from tests.ui.conftest import forget

    monkeypatch.setenv("PERTURBDESK_WORKSPACE", str(small_workspace.settings.workspace))
    monkeypatch.setenv("PERTURBDESK_API_KEY", "sk-secret")
    forget()
    closed = server_workspace.read_workspace()
    with pytest.raises(ReadOnly, match="what all visitors see is only read"):
        runs.add_note(closed, "debate", None, "by nobody")
    assert closed.settings.server_access.key_for(closed.settings.endpoint) == ""
    with closed.store.read() as db:
        assert db.execute("SELECT count(*) FROM run").fetchone() == (1,)
    forget()
