"""Data: what do we have, and can it be trusted?"""

from core.ui import shell, widgets

context = shell.open_page(__file__)
widgets.show_tabs("tab", shell.tabs_of("data", context))
