"""The evidence tools: one file per tool, each with a `TOOL`. A new file here is a new tool; it is listed nowhere else."""
