"""`make app`: make the simulated demo in an empty workspace, then run the server."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

from core.base import log
from core.base.config import REPOSITORY, default_import_roots
from core.base.errors import DeskError, InputError
from core.features import hooks
from core.runs.workspace import open_workspace
from core.store import datasets

# of the feature server, which may be gone
SERVER = REPOSITORY / "core" / "features" / "server" / "server.py"
# the server closes a session without a tab before that; Streamlit itself would forget it without
# freeing memory
_MORE_S = 60


def main(server: Path = SERVER) -> None:
    """Make the demo in an empty workspace, then replace this process by the server; arguments are
    passed to Streamlit."""
    try:
        workspace = open_workspace()
        log.scrub_output(workspace.settings)
        log.configure(workspace.settings, "start")
    except InputError as error:  # without readable settings, there is nothing to serve
        sys.exit(f"error: {error}")
    try:
        with workspace.store.read() as db:
            empty = not datasets.list_all(db)
        if empty and not workspace.settings.read_only:
            print("An empty workspace: making the simulated demo …", flush=True)
            # Meanwhile another process compiles what the server imports: a first start has no
            # bytecode.
            compiling = [sys.executable, "-c", "import core.ui.shell"]
            # Without a server, Streamlit warns of each cache: nothing that somebody at a first
            # start should read.
            with subprocess.Popen(compiling, cwd=REPOSITORY, stderr=subprocess.DEVNULL):
                # only a new workspace waits for these imports
                for fill in hooks("empty_workspace"):
                    fill(workspace)
    except DeskError as error:  # the app shows it again with a remedy
        log.record_error("the simulated demo", error)
        print(f"error: {error}", file=sys.stderr)
    if not workspace.settings.import_roots:
        roots = [
            str(folder)
            for folder in default_import_roots(workspace.settings)
            if folder.is_dir() and os.pathsep not in str(folder)
        ]
        os.environ["PERTURBDESK_IMPORT_ROOTS"] = os.pathsep.join(roots)
    if not server.exists():
        print("Without the feature server: no content-security policy, no sign-in.", flush=True)
        server = REPOSITORY / "app.py"
    os.chdir(REPOSITORY)  # where .streamlit/config.toml is
    os.environ.setdefault(
        "MALLOC_ARENA_MAX", "2"
    )  # each run of a page is a thread, and glibc does not release a thread's memory pool
    options = ["--secrets.files", str(workspace.settings.secrets_file)]
    options += ["--server.maxUploadSize", str(workspace.settings.upload_file_mb)]
    options += [
        "--server.disconnectedSessionTTL",
        str(math.ceil(workspace.settings.tab_kept_s) + _MORE_S),
    ]
    os.execv(
        sys.executable,
        [sys.executable, "-m", "streamlit", "run", str(server), *options, *sys.argv[1:]],
    )


if __name__ == "__main__":
    main()
