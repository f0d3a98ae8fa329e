"""Search: where does this word or phrase occur in all runs?"""

from core.ui.search import results
from core.ui.shared import shell

results.show(shell.open_page(__file__))
