"""Commands in this process, with the effect and the output of `python -m core`, without its start."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from core.cli import main


@dataclass(frozen=True)
class Done:
    """What a command left behind: its exit status, standard output and standard error."""

    status: int
    out: str
    err: str


def core(workspace: Path, *arguments: str) -> Done:
    """Run a command on a workspace."""
    out, err = (
        io.TextIOWrapper(io.BytesIO(), "utf-8", newline="", write_through=True) for _ in range(2)
    )
    status: Any = 0
    with (
        mock.patch.object(sys, "argv", ["core", "--workspace", str(workspace), *arguments]),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
    return Done(status, *(stream.buffer.getvalue().decode() for stream in (out, err)))


def core_json(workspace: Path, *arguments: str) -> Any:
    """The JSON that a command prints, which has to succeed; NaN is none."""
    done = core(workspace, *arguments, "--json")
    assert done.status == 0, done.err
    return json.loads(done.out, parse_constant=_no_number)


def _no_number(found: str) -> None:
    raise AssertionError(f"{found} in JSON, expected null")
