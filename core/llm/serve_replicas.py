"""Several vLLM servers of one model on this machine: one for each GPU, or small ones that share the cores of a CPU."""

from __future__ import annotations

import errno
import os
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from signal import Signals

from core.environment import bare_environment
from core.errors import DeskError, InputError, StateError
from core.llm.serve import (
    Device,
    Place,
    Say,
    ServerOptions,
    SupervisionLimits,
    Supervisor,
    check_port_free,
    command_of,
    default_python,
    device_of,
    environment_of,
    say_on_stderr,
    termination_signals,
)

_POLL_S = 0.2
_MOST_PORTS = 1000  # ports that are tried
_TAKEN = (errno.EADDRINUSE, errno.EACCES)  # in use by another process, or reserved for root: try the next port
_LIMITS = SupervisionLimits()


@dataclass(frozen=True, slots=True)
class Replica:
    """One of the servers: its options with its port, its command line and its environment."""

    options: ServerOptions
    command: Sequence[str]
    environment: Mapping[str, str]


def serve_replicas(
    options: ServerOptions,
    replicas: int,
    announce: Say,
    limits: SupervisionLimits = _LIMITS,
    say: Say = say_on_stderr,
) -> Signals:
    """Run several servers in the foreground until SIGINT or SIGTERM, and return that signal.

    announce: called with the addresses, joined by commas, as soon as every server has answered or ended. Works in the main thread
    only. Raise what `plan_replicas` and `supervise_all` raise.
    """
    python = options.python or default_python()
    device = device_of(python)
    visible = visible_gpus(python) if device == "gpu" else ()
    return supervise_all(plan_replicas(options, replicas, python, device, visible), announce, limits, say)


def visible_gpus(python: Path) -> tuple[str, ...]:
    """Return the GPUs that servers may use, as CUDA_VISIBLE_DEVICES names them. Raise StateError if they cannot be counted."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named:
        return tuple(part.strip() for part in named.split(","))
    program = "import torch; print(torch.cuda.device_count())"
    process = subprocess.run((str(python), "-c", program), capture_output=True, text=True, check=False, env=bare_environment())
    if process.returncode != 0 or not process.stdout.split():
        raise StateError(f"{python}: cannot count the GPUs, expected a number of torch.cuda; set CUDA_VISIBLE_DEVICES")
    return tuple(map(str, range(int(process.stdout.split()[-1]))))


def plan_replicas(
    options: ServerOptions, replicas: int, python: Path, device: Device, gpus: Sequence[str] = ()
) -> tuple[Replica, ...]:
    """Return the servers to start: each with a port, and with its own GPUs or share of the CPU's cores.

    gpus: those that may be used. Raise InputError for less than one server and for more servers than the GPUs suffice for.
    """
    if replicas < 1:
        raise InputError(f"serve: {replicas} replicas, expected 1 or more")
    each = options.tensor_parallel
    if device == "gpu" and replicas * each > len(gpus):
        raise InputError(f"serve: {replicas} replicas of {each} GPU each, expected no more than fit on {len(gpus)} GPUs")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    planned = []
    for i, port in enumerate(free_ports(options.place, replicas)):
        own = replace(options, port=port)
        shares = (
            {"CUDA_VISIBLE_DEVICES": ",".join(gpus[i * each : (i + 1) * each])}
            if device == "gpu"
            # By default, vLLM binds threads to cores, and all servers would share the same cores.
            else {"VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": str(max(1, cores // replicas))}
        )
        planned.append(Replica(own, command_of(own, python, device), {**environment_of(own, device), **shares}))
    return tuple(planned)


def free_ports(first: Place, number: int) -> tuple[int, ...]:
    """Return this number of free ports, from `first_port` on.

    Raise StateError if there are fewer, or if this machine does not have the address.
    """
    host, first_port = first
    found: list[int] = []
    for port in range(first_port, min(first_port + _MOST_PORTS, 1 << 16)):
        try:
            check_port_free((host, port))
        except StateError as error:
            if not isinstance(error.__cause__, OSError) or error.__cause__.errno not in _TAKEN:
                raise
            continue
        found.append(port)
        if len(found) == number:
            return tuple(found)
    raise StateError(f"ports from {first_port}: {len(found)} are free, expected {number}")


def supervise_all(
    replicas: Sequence[Replica], announce: Say, limits: SupervisionLimits = _LIMITS, say: Say = say_on_stderr
) -> Signals:
    """Run the servers until SIGINT or SIGTERM, restart each that dies, and return the signal.

    A server that keeps dying is reported, and the others continue. Raise StateError if all of them do, and what `announce`
    raises; all servers have ended then.
    """
    addresses = [replica.options.base_url for replica in replicas]
    problems: dict[str, str] = {}
    with termination_signals() as signals:
        supervisors = [Supervisor(r.command, r.environment, r.options.place, limits, say, signals) for r in replicas]

        def run(supervisor: Supervisor, address: str) -> None:
            try:
                supervisor.run()
            except (DeskError, OSError) as error:
                problems[address] = str(error)
                say(f"{address}: {error}")

        threads = [threading.Thread(target=run, args=pair) for pair in zip(supervisors, addresses, strict=True)]
        try:
            for thread in threads:
                thread.start()
            _wait_for(threads, lambda: not signals and _have_started(supervisors, threads))
            alive = [address for address, thread in zip(addresses, threads, strict=True) if thread.is_alive()]
            if not signals and (left := [address for address in alive if address not in problems]):
                announce(",".join(left))
            _wait_for(threads)
        except BaseException:
            signals.append(Signals.SIGTERM)  # ends the servers like a signal
            raise
        finally:
            for thread in threads:
                if thread.ident is not None:  # the server has started
                    thread.join()
        if signals:
            return signals[0]
    raise StateError(f"no server is left: {'; '.join(problems.values())}")


def _have_started(supervisors: Sequence[Supervisor], threads: Sequence[threading.Thread]) -> bool:
    """Return whether each server has answered or failed for good."""
    return all(one.has_answered or not thread.is_alive() for one, thread in zip(supervisors, threads, strict=True))


def _wait_for(threads: Sequence[threading.Thread], holds: Callable[[], bool] = lambda: False) -> None:
    """Wait until a condition is true, or all threads have ended."""
    while any(thread.is_alive() for thread in threads) and not holds():
        time.sleep(_POLL_S)
