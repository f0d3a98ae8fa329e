"""The example for clusters with Slurm: its syntax, its #SBATCH lines, and that the commands in it take what it gives them."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

from tests.commands import every_command, options_of

SCRIPT = Path(__file__).resolve().parent.parent / "docs" / "slurm" / "run.sbatch"
# Options of sbatch(1) → what their values look like.
OPTIONS = {
    "job-name": r"\w+",
    "nodes": r"\d+",
    "ntasks": r"\d+",
    "gpus-per-node": r"\d+",
    "cpus-per-task": r"\d+",
    "mem": r"\d+[KMGT]?",
    "time": r"(\d+-)?\d\d:\d\d:\d\d",
    "signal": r"(B:)?(TERM|INT|USR1)(@\d+)?",
    "output": r"[\w%.-]+",
}


def test_the_script_is_bash() -> None:
    done = subprocess.run(["bash", "-n", str(SCRIPT)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert SCRIPT.read_text("utf-8").startswith("#!/bin/bash\n")


def test_every_line_for_sbatch_is_one_and_stands_before_the_first_command() -> None:
    lines = SCRIPT.read_text("utf-8").splitlines()
    first = next(i for i, line in enumerate(lines) if line and not line.startswith("#"))
    found = {i: line for i, line in enumerate(lines) if line.startswith("#SBATCH")}
    assert max(found) < first  # sbatch reads no further
    names = set()
    for line in found.values():
        parsed = re.fullmatch(r"#SBATCH --([a-z-]+)=(\S+)", line)
        assert parsed is not None, line
        assert re.fullmatch(OPTIONS[parsed[1]], parsed[2]), line
        names.add(parsed[1])
    assert len(names) == len(found)
    assert {"nodes", "gpus-per-node", "time", "signal"} <= names


def test_the_commands_in_it_take_their_options() -> None:
    commands, seen = every_command(), []
    for line in SCRIPT.read_text("utf-8").splitlines():
        found = re.search(
            r"(?:\bperturbdesk|\bworker) (?:--workspace \S+ )?(serve|jobs log|run|jobs resume) .*",
            line,
        )
        if found is None or line.lstrip().startswith("#"):
            continue
        known = options_of(commands[found[1]])
        given = [
            word
            for word in shlex.split(found[0].partition(" -- ")[0], comments=True)
            if re.fullmatch(r"--[a-z-]+", word)
        ]
        assert set(given) - {"--workspace"} <= known, line
        seen.append(found[1])
    assert sorted(seen) == ["jobs log", "jobs resume", "run", "serve"]
    of_all = options_of(commands["run"]) | options_of(commands["jobs resume"])
    assert {"--endpoint", "--concurrency"} <= of_all
