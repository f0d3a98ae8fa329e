"""The command line: every action and every number, with the same effect as the pages.

`--json` prints one JSON object on standard output and nothing else. Exit 0: done; 1: the input or
the state is wrong (one line on standard error); 2: wrong usage; 130: interrupted.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from typer import Abort
from typer._click.exceptions import NoArgsIsHelpError  # which typer does not pass on
from typer.exceptions import TyperException

from core.base import log
from core.base.errors import DeskError, InputError
from core.base.file_limits import keep_memory_small
from core.base.system_errors import explain
from core.base.texts import printable, shorten
from core.cli.base import app, say

_LONGEST_REASON = 300  # characters of what is wrong with the usage, which quotes it
_LONGEST_WORD = 200
_LONG_WORD = re.compile(rf"\S{{{_LONGEST_WORD + 1},}}")


def main() -> None:
    """Entry point: an error is one line and exit 1; usage (2) and interruption (130) are typer's.

    Every error is in the workspace's log with its traceback; unexpected errors are left to Python
    if there is no log.
    """
    try:
        keep_memory_small()
        with _quiet_libraries():
            _run()
    except DeskError as error:
        log.record_error("failed", error)
        say(f"error: {_in_one_line(str(error))}")
        sys.exit(1)
    except Exception as error:
        if not log.record_error("failed", error):
            raise
        text = _in_one_line(" ".join(str(error).split()))
        say(
            f"error: {type(error).__name__}: {text}; this is a bug, please report it with the end"
            " of the log"
        )
        sys.exit(1)
    finally:
        log.close()


@contextmanager
def _quiet_libraries() -> Iterator[None]:
    """Keep what libraries warn of and log off standard error, where it would stand beside the one
    line of an error."""
    silent, root = logging.NullHandler(), logging.getLogger()
    logging.captureWarnings(True)
    root.addHandler(silent)
    try:
        yield
    finally:
        root.removeHandler(silent)
        logging.captureWarnings(False)


def _run() -> None:
    """Run the command. Raise DeskError, also for what the operating system refuses."""
    try:
        for i, argument in enumerate(sys.argv[1:], 1):
            byte = next(
                (
                    ord(character) - 0xDC00
                    for character in argument
                    if "\udc80" <= character <= "\udcff"
                ),
                None,
            )
            if byte is not None:
                shown = argument.encode("utf-8", "backslashreplace").decode()
                raise InputError(
                    f"argument {i}, {shown[:80]!r}: byte 0x{byte:02X} is not UTF-8, expected text;"
                    " rename the file"
                )
        # of a terminal that lacks a character
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        status = _run_command()
        _flush()
        sys.exit(status)
    except SystemExit:
        _flush()
        raise
    except (OSError, MemoryError) as error:
        raise explain(error) from error


def _run_command() -> int:
    """Run the command; return its exit status. Wrong usage is one line, which names the command
    whose help says more."""
    try:
        return int(app(standalone_mode=False) or 0)
    except NoArgsIsHelpError as error:
        print(error.format_message())
        return error.exit_code
    except TyperException as error:
        context = getattr(error, "ctx", None)
        help_of = f"; see {context.command_path} --help" if context is not None else ""
        say(
            "error:"
            f" {shorten(printable(error.format_message()), _LONGEST_REASON).rstrip('.')}{help_of}"
        )
        return error.exit_code
    except Abort:
        say("error: aborted")
        return 1


def _flush() -> None:
    """Flush the output while a failure can still be reported; Python would fail later, with a
    traceback."""
    try:
        sys.stdout.flush()
    except OSError as error:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise explain(error) from error


def _in_one_line(text: str) -> str:
    """Return an error's text with its line breaks escaped, since they may belong to a quotation,
    and long words cut."""
    return _LONG_WORD.sub(lambda word: shorten(word[0], _LONGEST_WORD), printable(text.strip()))
