"""What is known of a pair: one file a tool, each answering with typed `Evidence`.

Knowledge packs and labels are given; public sources are asked only where a run says so, through one client.

view         the labelled rows that a tool may see        packs        knowledge packs, indexed once
table        symbols found as spelled, else by case       tool         what a tool is, how its answers become Evidence
registry     every tool of this room; a pair's dossier    render       the one place where evidence becomes text
programs     curated lists of genes that move together
http         the client for public sources                wire         one exchange with one of them
sites        their addresses and rates; requests          pace         who may ask when, also across processes
shelf        what they answered, on disk                  errors       how asking them can fail
passages     sentences, and which matter most             mimic        a server that stands in for all of them
mygene, string_db, pubmed: a source each

A module with a `TOOL` is a tool: gene_info, gene_class, base_rates, pathway_neighbours, protein_interactions,
train_lookup, regulators, pathways, lps_response, literature.
"""
