"""The shell of the app: what pages have in common.

shell             what every page has: its context, the sidebar, errors explained in words
server_workspace  the workspace as the server itself has it open, which pages only read
sign_in, accounts who is at the browser, and what they may do now
loaders/          what pages load from the store, cached until it changes; a feature's own loaders
                  stand in the feature
links             links between pages, and their query parameters
widgets           what several pages show: texts, figures with their tables
score_box         scores with intervals
run_browser       browsing a run's rows, and a button that copies the link to the view
filters           the order of a list of rows, and its filters
server_choice     the choice of a model server, with what it can do
background        results that take long, computed by one thread of the server
start             `make app`: the demo for an empty workspace, then the server
"""
