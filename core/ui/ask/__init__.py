"""Ask: one pair that a person types, argued before their eyes; and any row of a run that is under way.

form         what is asked, of which method and server
live_row     a row as far as it has come: built from the events of its worker, or from the store once it is over
argued       one row: its title, what is said about it, what can be done with it
following    follows a row while the page is open
drawing      a row as HTML: cards of the dossier, texts side by side, the numbers
asked_list   what was asked before
"""
