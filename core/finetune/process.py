"""Starts the process that trains, by an interpreter that has the packages for it, in a session of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from core.config import REPOSITORY, Settings
from core.environment import HUB_VARIABLES, bare_environment, environment_of, keys_needed
from core.errors import MissingPackage
from core.finetune.job_folder import FinetuneFolder
from core.jobs import start as jobs

OWN_PYTHON = REPOSITORY / ".venv-train" / "bin" / "python"
PACKAGES = ("torch", "transformers", "trl", "peft", "datasets", "filelock", "psutil")
_TO_INSTALL = "make .venv-train/ok installs what requirements-train.txt pins"
_LIST_MISSING = "import importlib.util as u, sys; print(*(name for name in sys.argv[1:] if u.find_spec(name) is None))"


def default_python() -> Path:
    """The interpreter of .venv-train if there is one, else this one."""
    return OWN_PYTHON if OWN_PYTHON.exists() else Path(sys.executable)


def refuse_missing_packages(python: Path) -> None:
    """Raises MissingPackage if an interpreter lacks what a fine-tune needs; imports none of it."""
    try:
        found = subprocess.run(
            (str(python), "-c", _LIST_MISSING, *PACKAGES), capture_output=True, text=True, check=False, env=bare_environment()
        )
    except OSError as error:
        raise MissingPackage(f"{python}: cannot be run ({error}); {_TO_INSTALL}") from error
    missing = found.stdout.split() if found.returncode == 0 else [*PACKAGES]
    if missing:
        raise MissingPackage(f"fine-tuning needs {', '.join(missing)}, which {python} does not have; {_TO_INSTALL}")


def start(folder: FinetuneFolder, settings: Settings, python: Path) -> int:
    """Starts a fine-tune's process and waits for its first heartbeat; returns its process id.

    It goes on from the last whole checkpoint. Raises StateError if it ends before its first heartbeat.
    """
    command = (str(python), "-m", "core.finetune.train", str(folder.path))
    environment = environment_of(keys_needed(settings, "", sources=False), HUB_VARIABLES)
    return jobs.start(folder.worker, command, environment, what="fine-tune")
