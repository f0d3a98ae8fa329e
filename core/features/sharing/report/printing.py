"""A report as a PDF, printed by the browser that also draws exported figures."""

from __future__ import annotations

import subprocess

from core.base.environment import bare_environment
from core.base.errors import StateError
from core.base.file_io import temporary_folder
from core.plots.printed import find_browser

WAIT_S = 120
_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--no-first-run", "--no-pdf-header-footer"),
)


def as_pdf(page: bytes) -> bytes:
    """Return a report or slides as a PDF; its scripts draw the figures, and nothing else runs.

    Raise StateError without a browser.
    """
    browser = find_browser()
    if browser is None:
        raise StateError(
            "PDF: needs Chromium or Chrome, which is not installed here; open the HTML and print it"
        )
    with temporary_folder("pdf") as folder:
        source, target = folder / "report.html", folder / "report.pdf"
        source.write_bytes(page)
        profile = f"--user-data-dir={folder / 'profile'}"
        command = [
            browser,
            *_FLAGS,
            profile,
            "--virtual-time-budget=30000",
            f"--print-to-pdf={target}",
            source.as_uri(),
        ]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                check=False,
                timeout=WAIT_S,
                env=bare_environment(),
            )
        except subprocess.TimeoutExpired as error:
            raise StateError(
                f"PDF: {browser} has not printed within {WAIT_S} s; open the HTML and print it"
            ) from error
        if not target.is_file():
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise StateError(f"PDF: {browser} did not print (exit {done.returncode}): {last}")
        return target.read_bytes()
