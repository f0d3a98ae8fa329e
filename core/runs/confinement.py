"""Confinement of a process that reads other people's files: limited memory and time, no network,
and few folders.

Memory, time and open files are limited by the system (setrlimit). Folders and TCP are closed by
Landlock, the network as a whole by a namespace of its own; both are Linux, and neither is there in
every container. Python's own sockets are refused everywhere.
"""

from __future__ import annotations

import ctypes
import os
import resource
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_OPEN_FILES = 512
# Landlock's system calls, the same on every architecture
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_RULE_PATH_BENEATH = 1
# the first versions of Landlock that know of moves between folders, and of TCP
_ABI_MOVES, _ABI_TCP = 2, 4
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_FOLDER = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_READ = _EXECUTE | _READ_FILE | _READ_FOLDER
_EVERYTHING = (1 << 13) - 1  # that version 1 knows of
_MOVE = 1 << 13
_BIND_AND_CONNECT = 0b11
_NO_NEW_PRIVILEGES = 38  # of prctl
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000  # of unshare
# version 3; to change owners, to pass permissions, to act as an owner
_CAPABILITIES, _ON_FILES = 0x20080522, 0b1011
_SOCKETS = (
    "socket.connect",
    "socket.bind",
    "socket.sendto",
    "socket.sendmsg",
    "socket.getaddrinfo",
    "socket.gethostbyname",
)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a process. memory_mb: of data. time_s: processor time, and elapsed time, which the
    starter watches."""

    memory_mb: int
    time_s: float


def confine(limits: Limits, readable: Iterable[Path], writable: Iterable[Path]) -> list[str]:
    """Confine this process and all that it starts, for good; call it before threads begin. Return
    in words what the system enforces.

    readable, writable: the folders that stay open; those that are not there are left out.
    """
    _limit(limits)
    enforced = ["memory", "time"]
    if _leave_network():
        enforced.append("no network")
    _drop_capabilities()
    tcp = _close_folders(readable, writable)
    if tcp is not None:
        enforced += ["no other folders", *(["no TCP"] if tcp else [])]
    sys.addaudithook(_refuse_sockets)
    return enforced


def _limit(limits: Limits) -> None:
    n_bytes, seconds = limits.memory_mb << 20, max(1, round(limits.time_s))
    for kind, most in (
        (resource.RLIMIT_DATA, n_bytes),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (allowed, allowed))


def _refuse_sockets(event: str, _: Sequence[Any]) -> None:
    if event in _SOCKETS:
        raise PermissionError(f"{event}: refused to a process that reads uploads")


def _leave_network() -> bool:
    """Move into a network without interfaces. Return whether the system allowed it.

    Root keeps its own users: in others it could not write to folders of theirs.
    """
    uid, gid = os.getuid(), os.getgid()
    flags = _NEW_NETWORK if uid == 0 else _NEW_NETWORK | _NEW_USER
    if (
        not sys.platform.startswith("linux")
        or ctypes.CDLL(None, use_errno=True).unshare(flags) != 0
    ):
        return False
    if uid != 0:
        with suppress(OSError):
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
            Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    return True


def _drop_capabilities() -> None:
    """Leave root only its rights on files; with others it could read the environment of any
    process."""
    if not sys.platform.startswith("linux"):
        return
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES, 0)
    # effective, permitted, inheritable, twice
    kept = (ctypes.c_uint32 * 6)(_ON_FILES, _ON_FILES, 0, 0, 0, 0)
    system = ctypes.CDLL(None, use_errno=True)
    if system.capset(header, kept) != 0:  # whoever is not root has none to keep
        system.capset(header, (ctypes.c_uint32 * 6)())


class _Ruleset(ctypes.Structure):
    """Landlock's landlock_ruleset_attr: what is refused unless a rule allows it."""

    _fields_ = (("folders", ctypes.c_uint64), ("tcp", ctypes.c_uint64))


class _Rule(ctypes.Structure):
    """Landlock's landlock_path_beneath_attr: what is allowed below a folder."""

    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def _close_folders(readable: Iterable[Path], writable: Iterable[Path]) -> bool | None:
    """Close every folder but these. Return whether TCP is closed too, None if the system has no
    Landlock."""
    if not sys.platform.startswith("linux"):
        return None
    system = ctypes.CDLL(None, use_errno=True)
    version = system.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1)
    if version < 1:
        return None
    tcp = version >= _ABI_TCP
    everything = _EVERYTHING | (_MOVE if version >= _ABI_MOVES else 0)
    attributes = _Ruleset(everything, _BIND_AND_CONNECT if tcp else 0)
    size = ctypes.sizeof(attributes) if tcp else ctypes.sizeof(ctypes.c_uint64)
    ruleset = system.syscall(_CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(size), 0)
    if ruleset < 0:
        return None
    try:
        for folders, allowed in ((readable, _READ), (writable, everything)):
            for folder in folders:
                _allow(system, ruleset, folder, allowed)
        system.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        return tcp if system.syscall(_RESTRICT_SELF, ruleset, 0) == 0 else None
    finally:
        os.close(ruleset)


def _allow(system: Any, ruleset: int, place: Path, allowed: int) -> None:
    if not place.exists():
        return
    if not place.is_dir():
        allowed &= _EXECUTE | _WRITE_FILE | _READ_FILE  # the others are about what a folder holds
    opened = os.open(place, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = _Rule(allowed, opened)
        system.syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(opened)
