"""One target gene: every row it is in, and what the runs say."""

from core.ui import shell, symbol

symbol.show(shell.enter(__file__), "gene")
