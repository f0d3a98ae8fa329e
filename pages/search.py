"""Search: where does this word or phrase occur in all runs?"""

from core.features.reading.search import results
from core.ui import shell

results.show(shell.open_page(__file__))
