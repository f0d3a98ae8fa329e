"""Uploads to a shared server are read by a separate process, which this one starts and waits for.

Only plain data are accepted from it. The process is `core.runs.upload_process`: it
has the person's name, no key and no network, and so much memory and time as the settings allow. It
writes to the store itself, as a command does, and leaves its result in a folder as JSON.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from core.base import errors
from core.base.archives import Content, open_content
from core.base.config import REPOSITORY, Settings
from core.base.errors import DeskError, InputError, SystemFailure
from core.base.file_io import read_file, temporary_folder
from core.base.file_limits import SMALL_MEMORY
from core.base.log import LOGGER
from core.base.system_errors import in_words
from core.base.texts import parse_json
from core.runs.workspace import Workspace

REQUEST, RESULT, LOG = "request.json", "result.json", "log.txt"
Upload = tuple[str, Content]
AT_ONCE: Final = 2  # processes: each may take the memory that one upload may
_MOST_RESULT_BYTES = 1 << 28
_LOOK_S = 1.0  # between two looks whether the person still has their role
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "SSL_CERT_FILE")
# Threads reserve memory that they do not use.
_FRUGAL = {
    **SMALL_MEMORY,
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "2"),
}
_places = threading.BoundedSemaphore(AT_ONCE)
_of_person: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)  # one of them at most


def read_apart(
    workspace: Workspace, task: str, files: Sequence[Upload], options: Mapping[str, Any]
) -> Any:
    """Return the result of a task of `core.runs.upload_process` on uploaded files, as
    plain data.

    Raise what the task raised, InputError for files that take more memory or time than an upload
    may, ReadOnly if the person may change nothing any more, and SystemFailure if the process ends
    in another way.
    """
    names = ", ".join(name for name, _ in files)
    workspace.refuse_if_read_only(task, names)
    with (
        _of_person[workspace.settings.author],
        _places,
        in_words(tempfile.gettempdir()),
        temporary_folder("upload") as folder,
    ):
        _write_request(workspace.settings, folder, task, files, options)
        workspace.refuse_if_read_only(task, names)  # others may have been read for long
        status = _run(workspace, folder, task, names)
        said = (folder / LOG).read_text("utf-8", "replace").strip()
        if said:
            LOGGER.warning(
                "upload %s %s: %s", task, names, " / ".join(said.splitlines()[-5:])[-1_000:]
            )
        if not (folder / RESULT).is_file():
            raise _explain_end(workspace.settings, status, names)
        found = parse_json(read_file(folder / RESULT, _MOST_RESULT_BYTES))
    if "error" in found:
        raise _as_error(workspace.settings, found["error"], names)
    return found["result"]


def _write_request(
    settings: Settings, folder: Path, task: str, files: Sequence[Upload], options: Mapping[str, Any]
) -> None:
    paths = []
    for number, (name, content) in enumerate(files):
        path = folder / str(number)
        with path.open("wb") as out:
            shutil.copyfileobj(open_content(content), out, 1 << 20)
        paths.append([name, str(path)])
    request = {
        "task": task,
        "files": paths,
        "options": dict(options),
        "settings": {
            "workspace": str(settings.workspace),
            "author": settings.author,
            "busy_timeout_s": settings.busy_timeout_s,
            "store_memory_mb": settings.store_memory_mb,
            "upload_memory_mb": settings.upload_memory_mb,
            "upload_time_s": settings.upload_time_s,
        },
    }
    (folder / REQUEST).write_text(json.dumps(request), "utf-8")


def _run(workspace: Workspace, folder: Path, task: str, names: str) -> int:
    """Run the process to its end and return its status. Raise InputError if it takes too long, and
    ReadOnly if the person's role is taken away; it is then ended."""
    settings = workspace.settings
    deadline = time.monotonic() + settings.upload_time_s
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    with (folder / LOG).open("wb") as log:
        process = subprocess.Popen(
            (sys.executable, "-m", "core.runs.upload_process", str(folder)),
            cwd=REPOSITORY,
            env={**environment, **_FRUGAL, "TMPDIR": str(folder)},
            # which closes when this process ends, however that is: then the other ends, too
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            while (left_s := deadline - time.monotonic()) > 0:
                with suppress(subprocess.TimeoutExpired):
                    return process.wait(min(_LOOK_S, left_s))
                workspace.refuse_if_read_only(task, names)
            raise _too_long(settings, names)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            if process.stdin is not None:
                process.stdin.close()


def _too_long(settings: Settings, names: str) -> InputError:
    return InputError(
        f"{names}: not read within {settings.upload_time_s:g} s, the limit for uploads here"
    )


def _too_large(settings: Settings, names: str) -> InputError:
    most = f"{settings.upload_memory_mb:,} MB of memory"
    return InputError(f"{names}: needs more than {most}, the limit for uploads here")


def _explain_end(settings: Settings, status: int, names: str) -> DeskError:
    """Return the error for a process that left no result. Libraries abort for want of memory as
    they do for damaged files."""
    if status == -signal.SIGXCPU:
        return _too_long(settings, names)
    if status == -signal.SIGKILL:
        return _too_large(settings, names)
    if status in (-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS):
        return InputError(
            f"{names}: a damaged file, or one that needs more than {settings.upload_memory_mb:,} MB"
            f" of memory. Its reader crashed ({signal.Signals(-status).name}); nothing else was"
            " affected"
        )
    return SystemFailure(
        f"{names}: its reader ended with status {status} and without a result; the log says more"
    )


def _as_error(settings: Settings, found: Mapping[str, str], names: str) -> DeskError:
    """Return the error that a process names."""
    if found["type"] == MemoryError.__name__:
        return _too_large(settings, names)
    kind = getattr(errors, found["type"], None)
    if not (isinstance(kind, type) and issubclass(kind, DeskError)):
        return SystemFailure(f"{names}: {found['type']}: {found['message']}")
    return kind(found["message"])
