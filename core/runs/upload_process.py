"""The process that reads what people upload to a shared server: it confines itself, carries out one
task, and leaves its result.

It gets a folder with a request and the files, and nothing from the environment.
"""

from __future__ import annotations

import json
import os
import signal
import site
import sys
import sysconfig
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.runs.confinement import Limits, confine

if TYPE_CHECKING:
    from core.base.feature import UploadTask

# `core.base.config` would bring more than is wanted before the limits hold
REPOSITORY = Path(__file__).resolve().parents[2]
_SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/localtime")
_STATE = ("/proc", "/sys/devices/system/cpu", "/sys/fs/cgroup", "/dev/urandom", "/dev/shm")
_COMMIT = (".git/HEAD", ".git/refs", ".git/packed-refs")


def main(folder: Path) -> None:
    """Carry out the request in a folder; write its result, or its error, beside it."""
    request = json.loads((folder / "request.json").read_text("utf-8"))
    settings = request["settings"]
    workspace = Path(settings["workspace"])
    for place in (workspace / "data", workspace / "cache"):
        place.mkdir(parents=True, exist_ok=True)
    confine(
        Limits(settings["upload_memory_mb"], settings["upload_time_s"]),
        readable=_code(),
        writable=[folder, workspace / "data", workspace / "cache", Path("/dev/null")],
    )
    threading.Thread(target=_end_with_the_starter, daemon=True).start()
    found = _carry_out(request)
    part = folder / "result.part"
    part.write_text(json.dumps(found), "utf-8")
    part.replace(folder / "result.json")


def _end_with_the_starter() -> None:
    """Wait until the process that started this one ends, and end at once: nobody would take the
    result."""
    # not sys.stdin, whose lock a thread would hold while Python ends, which aborts it
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGKILL)


def _code() -> list[Path]:
    """Return where the code and its libraries lie, and what the system says of itself; neither
    settings nor secrets."""
    libraries = [
        sys.prefix,
        sys.base_prefix,
        *site.getsitepackages(),
        *sysconfig.get_paths().values(),
    ]
    own = [REPOSITORY / "core", *(REPOSITORY / name for name in _COMMIT)]
    return [*map(Path, dict.fromkeys((*libraries, *_SYSTEM, *_STATE))), *own]


def _carry_out(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of a request, or its error by type and message."""
    from core.base import log
    from core.base.config import Settings
    from core.base.errors import DeskError, InputError, SettingError
    from core.base.system_errors import explain
    from core.runs.workspace import open_workspace

    given = request["settings"]
    settings = Settings(**{**given, "workspace": Path(given["workspace"])})
    log.configure(settings, "upload")
    try:
        files = [(name, Path(path).read_bytes()) for name, path in request["files"]]
        return {
            "result": task_named(request["task"])(
                open_workspace(settings), files, request["options"]
            )
        }
    except DeskError as error:
        # which a message alone makes
        kind = InputError if isinstance(error, SettingError) else type(error)
        return {"error": {"type": kind.__name__, "message": str(error)}}
    except MemoryError:
        return {"error": {"type": MemoryError.__name__, "message": ""}}
    except OSError as error:
        log.record_error("upload", error)
        return {"error": {"type": "SystemFailure", "message": str(explain(error))}}


def task_named(name: str) -> UploadTask:
    """Return what a feature does with uploads under this name (`Feature.upload_tasks`)."""
    from core.base.feature import resolve
    from core.features import features

    tasks = {name: task for each in features().values() for name, task in each.upload_tasks.items()}
    task: UploadTask = resolve(tasks[name])
    return task


if __name__ == "__main__":
    main(Path(sys.argv[1]))
