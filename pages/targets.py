"""Targets: which gene was perturbed?"""

from core.features.targets.page import choose, show_evaluation, show_training
from core.ui import shell, widgets

context = shell.open_page(__file__)
folder, shown = choose(context.workspace)


def show_table() -> None:
    """Show an evaluated ranking, or its training, which ends with an evaluation."""
    if shown is None:
        show_training(context.workspace, folder)
    else:
        show_evaluation(context.workspace, shown)


widgets.show_tabs(
    "tab", {"Table": show_table, "Training": lambda: show_training(context.workspace, folder)}
)
