"""The parts of the pages, one folder per page; beside it, only a feature's own page imports
streamlit.

shared/shell               what every page has in common: router, sidebar, errors explained in words
shared/server_workspace    the workspace as the server itself has it open, which pages only read
shared/sign_in             who is at the browser, and what they may do now
shared/loaders/            what pages load from the store, cached until it changes
shared/links               links between pages, and their query parameters
shared/widgets             what several pages show: texts, figures with their tables
shared/score_box           scores with intervals
shared/run_browser         browsing a run's rows, and a button that copies the link to the view
shared/gene_cards          what a gene is, beside its name
shared/neighbour_controls  the settings of a kNN, and its neighbours
shared/space_numbers       the numbers of gene spaces, which are computed in the background
shared/filters             the order of a list of rows, and its filters
shared/server_choice       the choice of a model server, with what it can do
shared/background          results that take long, computed by one thread of the server
shared/cached_components   what fusions are made from, cached while their runs do not change
overview/, rows/, search/, arguments/, scores/, compare/, fuse/, neighbours/, run/, ask/, share/,
data/, targets/: one page each, by its name in the address
symbol/                    the pages of one perturbation and of one target gene
sessions                   what reaches the sessions of a shared server, message by message
start, server              `make app`: the demo for an empty workspace, then the server with its
                           security headers
sign_ins                   who is signed in at a browser, by its cookies
access                     who reaches what of a shared server
upload_limits, session_limits: what uploads and tabs may take
"""
