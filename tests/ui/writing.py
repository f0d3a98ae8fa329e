"""One of several processes that write to a workspace at once: `python -m tests.ui.writing app|command WORKSPACE SECONDS NAME`.

It writes notes on a row until its time is over, an app by its page, a command as people type it, and prints what it wrote.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from core.base.config import REPOSITORY
from core.store import Cursor, Store
from tests import commands

RUN, ROW = "debate", "Pa_Gb"
APPS, COMMANDS = ("app 1", "app 2"), ("command",)


@dataclass(frozen=True)
class Written:
    """What one process wrote: the texts of its notes, and the seconds that each write took, the wait for the store included."""

    notes: list[str]
    seconds: list[float]


def write_at_once(workspace: Path, seconds: float) -> list[Written]:
    """Let two apps and a command write to a workspace for so many seconds; returns what each wrote. Raises their errors."""
    environment = os.environ | {
        "PERTURBDESK_WORKSPACE": str(workspace),
        "PERTURBDESK_AUTHOR": "tester",
    }
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.ui.writing", kind, str(workspace), str(seconds), name],
            cwd=REPOSITORY,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for kind, names in (("app", APPS), ("command", COMMANDS))
        for name in names
    ]
    found = []
    for process in processes:
        out, err = process.communicate(timeout=seconds + 120)
        assert process.returncode == 0, err
        found.append(Written(**json.loads(out.splitlines()[-1])))
    return found


@contextmanager
def timed_writes() -> Iterator[list[float]]:
    """The seconds of every write transaction of this process, from the wish to the end."""
    taken = []
    write = Store.write

    @contextmanager
    def timed(self: Store) -> Iterator[Cursor]:
        start = time.perf_counter()
        with write(self) as db:
            yield db
        taken.append(time.perf_counter() - start)

    Store.write = timed  # type: ignore[method-assign]
    try:
        yield taken
    finally:
        Store.write = write  # type: ignore[method-assign]


def write_by_page() -> Callable[[str], None]:
    """Return what writes a note by the page Rows and looks at Overview after every fifth."""
    from streamlit.testing.v1 import AppTest, app_test

    from tests.ui.conftest import RoutedPages, app_at

    app_test.PagesManager = RoutedPages  # type: ignore[misc]
    app = app_at("rows")
    app.query_params.update({"run": RUN, "row": ROW})
    app.run()
    overview = AppTest.from_file(REPOSITORY / "app.py", default_timeout=60)
    written = 0

    def write(text: str) -> None:
        nonlocal written
        app.text_area(key="note_text").input(text)
        [button] = [button for button in app.button if button.label == "Add note"]
        button.click().run()
        shown = [app]
        if written % 5 == 4:
            shown.append(overview.run())
        for page in shown:
            problems = [*page.exception, *page.error, *page.warning]
            assert not problems, problems
        written += 1

    return write


def write_by_command(workspace: Path) -> Callable[[str], None]:
    """Return what writes a note by the command."""

    def write(text: str) -> None:
        commands.core_json(workspace, "note", "add", RUN, text, "--row", ROW)

    return write


def main(kind: str, workspace: str, seconds: str, name: str) -> int:
    """Write until the time is over."""
    write = write_by_page() if kind == "app" else write_by_command(Path(workspace))
    notes = []
    with timed_writes() as taken:
        end = time.monotonic() + float(seconds)
        while time.monotonic() < end:
            notes.append(f"{name}: note {len(notes)}")
            write(notes[-1])
    print(json.dumps({"notes": notes, "seconds": taken}))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
