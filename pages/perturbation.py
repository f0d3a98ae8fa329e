"""One perturbation: all its rows, and the runs' predictions for them."""

from core.features.reading import symbol
from core.ui import shell

symbol.show(shell.open_page(__file__), "pert")
