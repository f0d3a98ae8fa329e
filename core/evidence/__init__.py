"""What is known about a perturbation and a gene: evidence tools, which answer with typed
`Evidence`.

tools/            one file per tool, each with a `TOOL`
tool              what a tool is, and how its answers become Evidence
registry          finds the tools; gathers the answers about a pair
render            the one place where evidence becomes prompt text
changed_cards     a dossier with cards left out or edited by hand
describe          the same as people read it
label_view        the labelled rows that a tool may see
packs             tables by gene symbol, and knowledge packs as such tables
retrieval         labelled rows that are most like a row to be predicted
pubmed            the requests of PubMed; those of the other sources are in their tools
sources           addresses, rates and requests of public sources
source_client     the client for them: cache, batches, retries
source_transport  one exchange with a source, at its rate
"""
