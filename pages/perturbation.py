"""One perturbation: every row it is in, and what the runs say."""

from core.ui.shared import shell
from core.ui.symbol import panels

panels.show(shell.open_page(__file__), "pert")
