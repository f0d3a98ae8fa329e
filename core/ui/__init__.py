"""What pages are made of; the only room of core that imports streamlit.

shell       the router's half of every page: sidebar, links, errors in words
loaders     cached frames from the store
links       addresses of views
widgets     small things that several pages show
filters     the row of filters over a run's rows
row         one row of a run: numbers, dossier, trace, notes
server      the hardened start: the app behind a content-security policy
start       what `make app` runs
"""
