"""A model server of one's own: vLLM with the flags that a run needs, watched over and stopped whole.

It listens on this machine alone. vLLM lives in a virtual environment of its own (requirements-serve.txt), since it pins
packages that the app has in other versions.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Literal

from core.config import REPOSITORY
from core.errors import InputError, MissingPackage, StateError

Device = Literal["cpu", "gpu"]
Say = Callable[[str], None]

HOST = "127.0.0.1"
PORT = 8000
OWN_PYTHON = REPOSITORY / ".venv-serve" / "bin" / "python"
# Without eager mode GPT-OSS returned null content after the first requests; prefixes are few and short here.
FLAGS = ("--enforce-eager", "--no-enable-prefix-caching")
# On a CPU vLLM dies of a request with a seed whose prompt it reads in several steps ("CPU Generator does not use offset").
CPU_FLAGS = ("--no-enable-chunked-prefill",)
CPU_MODEL_LEN = 4096  # tokens; what fits into the 1 GB that a CPU's cache gets
_TO_INSTALL = "make .venv-serve/ok installs it as pinned in requirements-serve.txt"
_LOOK_S = 0.2
_SAY_EVERY_S = 15.0
_STDERR = 2


@dataclass(frozen=True, slots=True)
class Serving:
    """What is served, and how.

    model: a name that vLLM can fetch, or a folder. python: the interpreter that has vLLM; None takes the one of .venv-serve
    where there is one, else this one. tensor_parallel: GPUs to spread the model over. max_model_len: the longest context in
    tokens; None takes the model's on a GPU and CPU_MODEL_LEN without one. extra: more options of vLLM, as they are.
    """

    model: str
    port: int = PORT
    python: Path | None = None
    tensor_parallel: int = 1
    max_model_len: int | None = None
    extra: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check("model", self.model, bool(self.model) and not self.model.startswith("-"), "a name or a folder")
        _check("port", self.port, 0 < self.port < 1 << 16, "1 to 65535")
        _check("tensor_parallel", self.tensor_parallel, self.tensor_parallel >= 1, "1 or more GPUs")
        _check("max_model_len", self.max_model_len, self.max_model_len is None or self.max_model_len >= 1, "1 or more tokens")

    @property
    def base_url(self) -> str:
        """Its address as an Endpoint takes it."""
        return f"http://{HOST}:{self.port}/v1"


@dataclass(frozen=True, slots=True)
class Patience:
    """restarts: how often a server that was up may die. ready_s: how long it may take to answer. stop_s: to end by itself."""

    restarts: int = 3
    ready_s: float = 1800.0  # a large model is fetched and loaded first
    stop_s: float = 30.0


def say_on_stderr(text: str) -> None:
    """Progress where nobody else takes it."""
    print(text, file=sys.stderr, flush=True)


def serve(serving: Serving, patience: Patience = Patience(), say: Say = say_on_stderr) -> signal.Signals:
    """Start the server in the foreground and keep it running; the signal (SIGINT or SIGTERM) that told it to end.

    Its output goes to standard error. Only in the main thread, where signals arrive. Raises MissingPackage where the
    interpreter has no vLLM, and what `supervise` raises.
    """
    python = serving.python or default_python()
    device = device_of(python)
    return supervise(command_of(serving, python, device), environment_of(serving, device), serving.port, patience, say)


def default_python() -> Path:
    """The interpreter of .venv-serve where there is one, else this one."""
    return OWN_PYTHON if OWN_PYTHON.exists() else Path(sys.executable)


def device_of(python: Path) -> Device:
    """What the vLLM of an interpreter computes on, in its own words; takes some seconds.

    Raises MissingPackage where it cannot be imported there, with the last line of why.
    """
    look = "from vllm.platforms import current_platform as p; print('cpu' if p.is_cpu() else 'gpu')"
    try:
        found = subprocess.run((str(python), "-c", look), capture_output=True, text=True, check=False)
    except OSError as error:
        raise MissingPackage(f"{python}: cannot be run ({error}); {_TO_INSTALL}") from error
    said = found.stdout.split()[-1:]
    if found.returncode == 0 and said in (["cpu"], ["gpu"]):
        return "cpu" if said == ["cpu"] else "gpu"
    why = (found.stderr.strip().splitlines() or [f"exit status {found.returncode}"])[-1]
    raise MissingPackage(f"serving needs vllm, which {python} cannot import ({why}); {_TO_INSTALL}")


def command_of(serving: Serving, python: Path, device: Device) -> tuple[str, ...]:
    """The command line of vLLM."""
    length = serving.max_model_len or (CPU_MODEL_LEN if device == "cpu" else None)
    return (
        # The vllm command of the CPU's package looks for a package of another name and ends.
        *((str(python), "-m", "vllm.entrypoints.openai.api_server", "--model") if device == "cpu" else ()),
        *((str(python.parent / "vllm"), "serve") if device == "gpu" else ()),
        serving.model,
        *("--host", HOST, "--port", str(serving.port)),
        *FLAGS,
        *(CPU_FLAGS if device == "cpu" else ()),
        *(("--tensor-parallel-size", str(serving.tensor_parallel)) if serving.tensor_parallel > 1 else ()),
        *(("--max-model-len", str(length)) if length else ()),
        *serving.extra,
    )


def environment_of(serving: Serving, device: Device) -> Mapping[str, str]:
    """This process's environment, handed on: nobody is told of the use, and a folder needs no network.

    On a CPU the cache gets 1 GB, unless VLLM_CPU_KVCACHE_SPACE says otherwise.
    """
    space = {"VLLM_CPU_KVCACHE_SPACE": "1"} if device == "cpu" else {}
    offline = {"HF_HUB_OFFLINE": "1"} if Path(serving.model).is_dir() else {}
    return {**space, **os.environ, "VLLM_NO_USAGE_STATS": "1", **offline}


def supervise(command: Sequence[str], environment: Mapping[str, str], port: int, patience: Patience, say: Say) -> signal.Signals:
    """Run a server until SIGINT or SIGTERM, and start it again when it dies; the signal.

    The server is a process group of its own, of which nothing is left in the end, however this returns. Raises StateError
    where the port is taken, where the first start brings no answer (no second one mends that), or where the server died
    once more than it may.
    """
    with _told() as told:
        watch = _Watch(command, environment, port, patience, say, told)
        status = watch.run_once()
        if not told and not watch.was_up:
            raise StateError(f"the server on port {port} {_ended(status, patience)} before it answered; its output says why")
        for restart in range(1, patience.restarts + 1):
            if told:
                break
            say(f"the server {_ended(status, patience)}; starting it again ({restart} of {patience.restarts} times at most)")
            status = watch.run_once()
        if told:
            return told[0]
    raise StateError(f"the server on port {port} {_ended(status, patience)}, giving up after {patience.restarts} restarts")


def _ended(status: int | None, patience: Patience) -> str:
    return f"was silent for {patience.ready_s:g} s" if status is None else f"ended with status {status}"


@dataclass(slots=True)
class _Watch:
    """Runs one server after another. was_up: whether any has answered. told: the signals that came."""

    command: Sequence[str]
    environment: Mapping[str, str]
    port: int
    patience: Patience
    say: Say
    told: Sequence[signal.Signals]
    was_up: bool = False

    def run_once(self) -> int | None:
        """The exit status of one server; None where it was told to end, or did not answer in time."""
        _refuse_taken(self.port)
        self.say(f"starting: {' '.join(self.command)}")
        process = subprocess.Popen(
            self.command, env=self.environment, stdin=subprocess.DEVNULL, stdout=_STDERR, stderr=_STDERR, start_new_session=True
        )
        try:
            if self._answers(process):
                self.was_up = True
                while not self.told and process.poll() is None:
                    time.sleep(_LOOK_S)
            return process.poll()
        finally:
            _end(process, self.patience.stop_s)

    def _answers(self, process: subprocess.Popen[bytes]) -> bool:
        """Wait until /health answers; False where the server ends or is silent for too long, or somebody says to end."""
        start, next_word_s = time.monotonic(), _SAY_EVERY_S
        while not self.told and process.poll() is None:
            waited_s = time.monotonic() - start
            if _is_healthy(self.port):
                self.say(f"ready: http://{HOST}:{self.port}/v1 after {waited_s:.0f} s")
                return True
            if waited_s > self.patience.ready_s:
                return False
            if waited_s > next_word_s:
                next_word_s += _SAY_EVERY_S
                self.say(f"waiting for http://{HOST}:{self.port}/health, {waited_s:.0f} s so far")
            time.sleep(_LOOK_S)
        return False


def _is_healthy(port: int) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://{HOST}:{port}/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _end(process: subprocess.Popen[bytes], stop_s: float) -> None:
    """End the server, which ends its own workers; then whatever is left of its group."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(stop_s)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _refuse_taken(port: int) -> None:
    """Raises StateError where somebody listens on the port already."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise StateError(f"port {port}: cannot be listened on ({error}), expected a free one") from error


@contextmanager
def _told() -> Iterator[list[signal.Signals]]:
    """The signals that have told this process to end, in order; they do nothing else meanwhile."""
    told: list[signal.Signals] = []

    def note(number: int, _frame: FrameType | None) -> None:
        told.append(signal.Signals(number))

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield told
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _check(name: str, value: object, holds: bool, expected: str) -> None:
    if not holds:
        raise InputError(f"serve: {name} is {value!r}, expected {expected}")
