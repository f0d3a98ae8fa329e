"""The command line: every action and every number, with the same effect as the pages.

`--json` prints one JSON object on standard output and nothing else. Exit 0: done; 1: the input or the state is wrong
(one line on standard error); 2: wrong usage; 130: interrupted.

base        the application, its workspace, how results are printed
commands    every command with its heading and its module
settings    options for the settings of a record
lazy_group  imports the module of the command that is run
files       demo, import, fetch, undo, export
runs        runs, set, rename, note, delete
search      search
numbers     score, compare, bench
controls    controls
baselines   baselines
benchmark   benchmark, plan
again       again, seeds
ask         ask
attribute   attribute
audit       audit: debates, leakage
clusters    clusters
ablation    ablation: list, run
cells       cells: describe, labels, predictions, evaluate
embed       embed: gene spaces
label       label: draws texts to read, exports and imports answers
ledger      ledger: list, add, result, import
report      report: new, list, build, delete
transfer    knn, neighbours, fuse, decompose
submission  check, package, bundle
reproduce   reproduce
doctor      doctor
backup      backup, restore
finetune    finetune
serve_app   serve-app
targets     targets: train, evaluate, table, list, delete
gene_sets   gene-sets
rubric      rubric: list, add, run, rate, worth
engine      run, worker, pause, cancel, resume, retry, log, endpoint, serve
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from core import log
from core.cli.base import app, say
from core.errors import DeskError, InputError
from core.system_errors import explain


def main() -> None:
    """Entry point: an error is one line and exit 1; usage (2) and interruption (130) are typer's.

    Every error is in the workspace's log with its traceback; one that nobody foresaw is left to Python if there is no log.
    """
    try:
        _run()
    except DeskError as error:
        log.record_error("failed", error)
        say(f"error: {_in_one_line(error)}")
        sys.exit(1)
    except Exception as error:
        if not log.record_error("failed", error):
            raise
        say(
            f"error: {type(error).__name__}: {_in_one_line(error)}; nobody foresaw this, please report it with the end of the log"
        )
        sys.exit(1)
    finally:
        log.close()


def _run() -> None:
    """Runs the command. Raises DeskError, also for what the operating system refuses."""
    try:
        _refuse_undecodable(sys.argv[1:])
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # of a terminal that lacks a character
        app()
    except SystemExit:
        _flush()
        raise
    except (OSError, MemoryError) as error:
        raise explain(error) from error


def _flush() -> None:
    """Writes what waits to be printed while its failure can still be said; Python would do so later, with a traceback."""
    try:
        sys.stdout.flush()
    except OSError as error:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise explain(error) from error


def _refuse_undecodable(arguments: list[str]) -> None:
    """Raises InputError for an argument that is not UTF-8: no name here can hold it."""
    for i, argument in enumerate(arguments, 1):
        byte = next((ord(character) - 0xDC00 for character in argument if "\udc80" <= character <= "\udcff"), None)
        if byte is not None:
            shown = argument.encode("utf-8", "backslashreplace").decode()
            raise InputError(f"argument {i}, {shown[:80]!r}: byte 0x{byte:02X} is not UTF-8, expected text; rename the file")


def _in_one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
