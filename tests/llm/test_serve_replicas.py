"""Several servers of one model: their ports, GPUs and threads, and the watch over all of them."""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
import threading
from pathlib import Path

import pytest

from core.errors import InputError, StateError
from core.llm.serve import HOST, ServerOptions, SupervisionLimits
from core.llm.serve_replicas import Replica, free_ports, plan_replicas, supervise_all, visible_gpus
from tests.llm.test_serve import PYTHON, SERVER, free_port, gone, started

OPTIONS = ServerOptions("some/model", port=18_000)


def test_each_server_has_gpus_of_its_own() -> None:
    planned = plan_replicas(ServerOptions("some/model", port=18_000, tensor_parallel=2), 2, PYTHON, "gpu", ("3", "4", "6", "7"))
    assert [replica.environment["CUDA_VISIBLE_DEVICES"] for replica in planned] == ["3,4", "6,7"]
    for replica in planned:
        assert replica.command[replica.command.index("--port") + 1] == str(replica.options.port)
    assert len({replica.options.port for replica in planned}) == 2
    with pytest.raises(InputError, match="3 replicas of 1 GPU each, expected no more than fit on 2 GPUs"):
        plan_replicas(OPTIONS, 3, PYTHON, "gpu", ("0", "1"))
    with pytest.raises(InputError, match="0 replicas, expected 1 or more"):
        plan_replicas(OPTIONS, 0, PYTHON, "cpu")


def test_the_gpus_are_those_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2, 5")
    assert visible_gpus(PYTHON) == ("2", "5")


def test_servers_on_a_cpu_share_its_cores() -> None:
    cores = len(os.sched_getaffinity(0))
    planned = plan_replicas(OPTIONS, cores + 1, PYTHON, "cpu")
    assert {replica.environment["OMP_NUM_THREADS"] for replica in planned} == {"1"}
    [alone] = plan_replicas(OPTIONS, 1, PYTHON, "cpu")
    assert alone.environment["OMP_NUM_THREADS"] == str(cores)
    assert alone.environment["VLLM_CPU_OMP_THREADS_BIND"] == "nobind"


def test_ports_that_are_taken_are_passed_over() -> None:
    with socket.socket() as other:
        other.bind((HOST, 0))
        other.listen()
        taken = other.getsockname()[1]
        found = free_ports((HOST, taken), 2)
    assert len(set(found)) == 2
    assert min(found) > taken
    with pytest.raises(StateError, match=r"ports from 65535: .* expected 2"):
        free_ports((HOST, 65_535), 2)


@pytest.mark.parametrize("host", ["198.51.100.1", "a..b"])  # of no machine, by RFC 5737
def test_an_address_that_this_machine_does_not_have_is_named_and_no_port_is_looked_for(host: str) -> None:
    with pytest.raises(StateError, match=rf"{re.escape(host)}, port 8000: cannot be listened on \("):
        free_ports((host, 8000), 2)


def replica(tmp_path: Path, name: str, how: str) -> Replica:
    port = free_port()
    command = (sys.executable, "-c", SERVER, str(port), str(tmp_path / name), how)
    return Replica(ServerOptions("some/model", port=port), command, os.environ)


def test_a_signal_ends_all_and_one_that_dies_is_started_again(tmp_path: Path) -> None:
    said: list[str] = []
    announced: list[str] = []
    replicas = [replica(tmp_path, "well", "well"), replica(tmp_path, "dying", "die")]
    before = set(threading.enumerate())

    def say(text: str) -> None:
        said.append(text)
        if "giving up" in text:
            os.kill(os.getpid(), signal.SIGINT)

    assert supervise_all(replicas, announced.append, SupervisionLimits(restarts=1), say) is signal.SIGINT
    assert announced == [",".join(one.options.base_url for one in replicas)]
    assert [len(started(tmp_path / name)) for name in ("well", "dying")] == [1, 2]
    assert gone(tmp_path / "well")
    assert gone(tmp_path / "dying")
    assert any(f"the server on port {replicas[1].options.port} ended with status 7; starting it again" in text for text in said)
    assert set(threading.enumerate()) <= before


def test_the_addresses_of_servers_that_did_not_come_up_are_left_out(tmp_path: Path) -> None:
    well = replica(tmp_path, "well", "well")
    bad = Replica(ServerOptions("some/model", port=free_port()), ("sh", "-c", "exit 3"), os.environ)

    def announce(text: str) -> None:
        assert text == well.options.base_url
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()

    assert supervise_all([bad, well], announce, say=lambda _: None) is signal.SIGTERM
    with pytest.raises(StateError, match=r"no server is left: the server on port .* ended with status 3 before it answered"):
        supervise_all([bad, bad], lambda _: None, say=lambda _: None)


def test_no_server_is_left_if_its_address_cannot_be_announced(tmp_path: Path) -> None:
    replicas = [replica(tmp_path, "one", "well"), replica(tmp_path, "two", "well")]

    def announce(_text: str) -> None:
        raise BrokenPipeError("nobody reads it")

    before = set(threading.enumerate())
    with pytest.raises(BrokenPipeError, match="nobody reads it"):
        supervise_all(replicas, announce, say=lambda _: None)
    assert set(threading.enumerate()) <= before  # of other tests some may have ended
    assert [len(started(tmp_path / name)) for name in ("one", "two")] == [1, 1]
    assert gone(tmp_path / "one")
    assert gone(tmp_path / "two")
