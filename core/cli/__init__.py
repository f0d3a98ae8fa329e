"""The command line: every action and every number, with the same effect as the pages.

`--json` prints one JSON object on standard output and nothing else. Exit 0: done; 1: the input or the state is wrong
(one line on standard error); 2: wrong usage; 130: interrupted.

base        the application, its workspace, how results are printed
lazy_group  which module has which command; imports the one that is run
files       demo, import, fetch, undo, export
runs        runs, set, rename, note, delete
numbers     score, compare, bench
controls    controls, baselines
audit       audit: debates, leakage
embed       embed: gene spaces
transfer    knn, neighbours, fuse, decompose
submission  check, package, bundle
doctor      doctor
engine      run, worker, pause, cancel, resume, retry, log, endpoint, serve
"""

from __future__ import annotations

import sys

from core import log
from core.cli.base import app, say
from core.errors import DeskError


def main() -> None:
    """Entry point: a foreseen error is one line and exit 1; usage (2) and interruption (130) are typer's.

    Every error is in the workspace's log with its traceback.
    """
    try:
        app()
    except DeskError as error:
        log.record_error("failed", error)
        say(f"error: {error}")
        sys.exit(1)
    except Exception as error:
        log.record_error("failed", error)
        raise
    finally:
        log.close()
