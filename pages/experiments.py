"""Experiments: what does one change do, and can it be told from asking again?"""

from core.features.experiments import page
from core.ui import shell, widgets

context = shell.open_page(__file__)
widgets.show_tabs(
    "tab",
    {
        "Start": lambda: page.show_start(context),
        "Results": lambda: page.show_results(context),
        "Ledger": lambda: page.show_ledger(context),
    },
)
