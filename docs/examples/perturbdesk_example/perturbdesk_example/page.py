"""The page Flags."""

from __future__ import annotations

from perturbdesk_example.flags import count_flags

from core.ui import results, run_browser, shell


def show() -> None:
    """Show the flags of the run that is chosen in the sidebar."""
    context = shell.open_page(__file__)
    if context.run is None:
        run_browser.show_no_run(context)
        return
    with context.workspace.store.read() as db:
        counts = count_flags(db, context.run.id)
    results.show_result(counts, context.run.name, "flags")
