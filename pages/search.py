"""Search: where, in all runs, does this word or phrase stand?"""

from core.ui.search import results
from core.ui.shared import shell

results.show(shell.open_page(__file__))
