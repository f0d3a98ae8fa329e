"""One file per figure: a finished result in, a plotly Figure out."""
