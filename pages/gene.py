"""One target gene: all its rows, and the runs' predictions for them."""

from core.ui.shared import shell
from core.ui.symbol import panels

panels.show(shell.open_page(__file__), "gene")
