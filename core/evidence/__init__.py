"""What is known of a pair: one file a tool, each answering with typed `Evidence`. Opens no file and no connection.

view         the labelled rows that a tool may see        packs        knowledge packs, indexed once
table        symbols found as spelled, else by case       tool         what a tool is, how its answers become Evidence
registry     every tool of this room; a pair's dossier    render       the one place where evidence becomes text
programs     curated lists of genes that move together

A module with a `TOOL` is a tool: gene_info, gene_class, base_rates, pathway_neighbours, protein_interactions,
train_lookup, regulators, pathways, lps_response.
"""
