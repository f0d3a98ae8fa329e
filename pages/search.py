"""Search: where does this word or phrase occur in all runs?"""

from core.features.reading import search
from core.ui import shell

search.show(shell.open_page(__file__))
