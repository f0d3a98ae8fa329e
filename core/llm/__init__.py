"""Language models: sending requests and reading answers. Knows no rows, evidence or store."""
