"""A model server of the user's own: vLLM with the flags that a run needs, supervised and stopped
with all its processes.

It listens on this machine only, unless it is given another address and a key. vLLM has a virtual
environment of its own (requirements-serve.txt), since it pins packages to other versions than the
app.
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
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Literal

from core.base.config import REPOSITORY
from core.base.environment import HUB_VARIABLES, bare_environment
from core.base.errors import InputError, MissingPackage, StateError
from core.base.net.addresses import is_loopback
from core.llm.health import FLAGS, PORT

Device = Literal["cpu", "gpu"]
Say = Callable[[str], None]
Place = tuple[str, int]  # host and port

HOST = "127.0.0.1"
KEY_VARIABLE = "VLLM_API_KEY"  # vLLM reads the key that requests must carry from this variable
OWN_PYTHON = REPOSITORY / ".venv-serve" / "bin" / "python"
# On a CPU vLLM crashes on a request with a seed whose prompt it reads in several steps ("CPU
# Generator does not use offset").
CPU_FLAGS = ("--no-enable-chunked-prefill",)
CPU_MODEL_LEN = 4096  # tokens; what fits into the 1 GB that a CPU's cache gets
_TO_INSTALL = "make .venv-serve/ok installs it as pinned in requirements-serve.txt"
_POLL_S = 0.2
_REPORT_S = 15.0
_STDERR = 2
_EVERYWHERE = ("", "0.0.0.0", "*")  # which is not an address that a run could ask


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The model to serve, and how to serve it.

    model: a name that vLLM can fetch, or a folder. python: the interpreter that has vLLM; None
    takes that of .venv-serve if there is one, else this one. tensor_parallel: GPUs to spread the
    model over. max_model_len: the longest context in tokens; None takes the model's own on a GPU,
    and CPU_MODEL_LEN without one. extra: further options of vLLM. host: the address to listen at,
    by which others reach it. api_key: that requests have to bring, unless only this machine reaches
    it.
    """

    model: str
    port: int = PORT
    python: Path | None = None
    tensor_parallel: int = 1
    max_model_len: int | None = None
    extra: tuple[str, ...] = ()
    host: str = HOST
    api_key: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        length = self.max_model_len
        for name, is_right, expected in (
            ("model", self.model and not self.model.startswith("-"), "a name or a folder"),
            ("port", 0 < self.port < 1 << 16, "1 to 65535"),
            ("tensor_parallel", self.tensor_parallel >= 1, "1 or more GPUs"),
            ("max_model_len", length is None or length >= 1, "1 or more tokens"),
            (
                "host",
                self.host not in _EVERYWHERE and ":" not in self.host,
                "the name or the IPv4 address of one interface",
            ),
        ):
            if not is_right:
                value = getattr(self, name)
                raise InputError(f"serve: {name} is {value!r}, expected {expected}")
        if any(word == "--api-key" or word.startswith("--api-key=") for word in self.extra):
            raise InputError(
                "serve: --api-key would show the key to every user of this machine; set"
                " PERTURBDESK_API_KEY instead"
            )
        if not self.api_key and not is_loopback(self.host):
            raise InputError(
                f"serve: {self.host} can be reached from other machines, so requests need a key:"
                " set PERTURBDESK_API_KEY"
            )

    @property
    def place(self) -> Place:
        """Where it listens."""
        return self.host, self.port

    @property
    def base_url(self) -> str:
        """Its address, for an `Endpoint`."""
        return f"{_origin(self.place)}/v1"


@dataclass(frozen=True, slots=True)
class SupervisionLimits:
    """The patience of `supervise`.

    restarts: how often a server that has answered is started again. ready_s: seconds that it may
    take until it answers. stop_s: seconds that it may take to end.
    """

    restarts: int = 3
    ready_s: float = 1800.0  # a large model is fetched and loaded first
    stop_s: float = 30.0


def _origin(place: Place) -> str:
    return f"http://{place[0]}:{place[1]}"


def say_on_stderr(text: str) -> None:
    """Print a line of progress to standard error."""
    print(text, file=sys.stderr, flush=True)


def serve(
    options: ServerOptions,
    limits: SupervisionLimits = SupervisionLimits(),
    say: Say = say_on_stderr,
) -> signal.Signals:
    """Run the server in the foreground until SIGINT or SIGTERM, and return that signal.

    Its output goes to standard error. Call this only in the main thread, where signals arrive.
    Raise MissingPackage if the interpreter has no vLLM, and the errors of `supervise`.
    """
    python = options.python or default_python()
    device = device_of(python)
    return supervise(
        command_of(options, python, device),
        environment_of(options, device),
        options.place,
        limits,
        say,
    )


def default_python() -> Path:
    """Return the interpreter of .venv-serve if there is one, otherwise this one."""
    return OWN_PYTHON if OWN_PYTHON.exists() else Path(sys.executable)


def device_of(python: Path) -> Device:
    """Return the device that an interpreter's vLLM computes on, as vLLM says; takes some seconds.

    Raise MissingPackage, with the last line of the cause, if the interpreter cannot import vLLM.
    """
    program = (
        "from vllm.platforms import current_platform as p; print('cpu' if p.is_cpu() else 'gpu')"
    )
    try:
        process = subprocess.run(
            (str(python), "-c", program),
            capture_output=True,
            text=True,
            check=False,
            env=bare_environment(),
        )
    except OSError as error:
        raise MissingPackage(f"{python}: cannot be run ({error}); {_TO_INSTALL}") from error
    words = process.stdout.split()[-1:]
    if process.returncode == 0 and words in (["cpu"], ["gpu"]):
        return "cpu" if words == ["cpu"] else "gpu"
    why = (process.stderr.strip().splitlines() or [f"exit status {process.returncode}"])[-1]
    raise MissingPackage(f"serving needs vllm, which {python} cannot import ({why}); {_TO_INSTALL}")


def command_of(options: ServerOptions, python: Path, device: Device) -> tuple[str, ...]:
    """Return the command line of vLLM."""
    length = options.max_model_len or (CPU_MODEL_LEN if device == "cpu" else None)
    command = [str(python.parent / "vllm"), "serve", options.model]
    if device == "cpu":
        # The vllm command of the CPU's package looks for a package of another name and ends.
        command = [
            str(python),
            "-m",
            "vllm.entrypoints.openai.api_server",
            "--model",
            options.model,
        ]
    command += ["--host", options.host, "--port", str(options.port), *FLAGS]
    if device == "cpu":
        command += CPU_FLAGS
    if options.tensor_parallel > 1:
        command += ["--tensor-parallel-size", str(options.tensor_parallel)]
    if length:
        command += ["--max-model-len", str(length)]
    # A folder's own name, because its path would appear in every run and submission
    path = Path(options.model)
    if path.is_dir() and "--served-model-name" not in options.extra:
        command += ["--served-model-name", path.resolve().name]
    return (*command, *options.extra)


def environment_of(options: ServerOptions, device: Device) -> Mapping[str, str]:
    """Return the server's environment: without usage statistics, offline if the model is a folder,
    and with its key.

    On a CPU the cache gets 1 GB unless VLLM_CPU_KVCACHE_SPACE says otherwise.
    """
    environment = {"VLLM_CPU_KVCACHE_SPACE": "1"} if device == "cpu" else {}
    environment |= {**bare_environment(keep=HUB_VARIABLES), "VLLM_NO_USAGE_STATS": "1"}
    if Path(options.model).is_dir():
        environment["HF_HUB_OFFLINE"] = "1"
    if not is_loopback(options.host):
        environment[KEY_VARIABLE] = options.api_key
    return environment


def supervise(
    command: Sequence[str],
    environment: Mapping[str, str],
    place: Place,
    limits: SupervisionLimits,
    say: Say,
) -> signal.Signals:
    """Run a server until SIGINT or SIGTERM, start it again when it dies, and return the signal.

    The server is a process group of its own, of which no process is left when this returns or
    raises. Raise StateError if the port is taken, if the first start brings no answer (a restart
    would not help), or if no restarts are left.
    """
    where, restarts, has_answered = f"the server on port {place[1]}", 0, False
    with termination_signals() as signals:
        while True:
            status, is_ready = _run_once(command, environment, place, limits, say, signals)
            if signals:
                return signals[0]
            has_answered |= is_ready
            ended = (
                f"was silent for {limits.ready_s:g} s"
                if status is None
                else f"ended with status {status}"
            )
            if not has_answered:
                raise StateError(f"{where} {ended} before it answered; its output says why")
            if restarts == limits.restarts:
                raise StateError(f"{where} {ended}, giving up after {restarts} restarts")
            restarts += 1
            again = f"{restarts} of {limits.restarts} times at most"
            say(f"{where} {ended}; starting it again ({again})")


def _run_once(
    command: Sequence[str],
    environment: Mapping[str, str],
    place: Place,
    limits: SupervisionLimits,
    say: Say,
    signals: Sequence[signal.Signals],
) -> tuple[int | None, bool]:
    """Run one server; return its exit status, None if a signal or its silence ended it, and whether
    it answered."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(place)
        except (OSError, UnicodeError) as error:  # of a host that cannot be one, such as a..b
            raise StateError(
                f"{place[0]}, port {place[1]}: cannot be listened on ({error}), expected a free one"
            ) from error
    say(f"starting: {' '.join(command)}")
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=_STDERR,
        stderr=_STDERR,
        start_new_session=True,
    )
    start, next_report_s, is_ready = time.monotonic(), _REPORT_S, False
    try:
        while not signals and process.poll() is None:
            waited_s = time.monotonic() - start
            if not is_ready:
                if is_ready := _is_healthy(place):
                    say(f"ready: {_origin(place)}/v1 after {waited_s:.0f} s")
                elif waited_s > limits.ready_s:
                    break
                elif waited_s > next_report_s:
                    next_report_s += _REPORT_S
                    say(f"waiting for {_origin(place)}/health, {waited_s:.0f} s so far")
            time.sleep(_POLL_S)
        return process.poll(), is_ready
    finally:  # the server ends its own workers; then the rest of its process group is killed
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(limits.stop_s)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _is_healthy(place: Place) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{_origin(place)}/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


@contextmanager
def termination_signals() -> Iterator[list[signal.Signals]]:
    """A list of the SIGINT and SIGTERM that arrive during the block; they have no other effect
    meanwhile."""
    signals: list[signal.Signals] = []

    def note(number: int, _frame: FrameType | None) -> None:
        signals.append(signal.Signals(number))

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
