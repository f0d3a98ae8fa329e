"""What pages are made of, a folder a page; the only room of core that imports streamlit.

shared/  what several pages use: the shell (sidebar, links, errors in words), loaders (cached frames), links, widgets
server   the hardened start: the app behind a content-security policy
start    what `make app` runs
overview/, debates/, neighbours/, breakdown/, what_if/, compare/, submit/, launch/, data/, symbol/: one page's parts each
"""
