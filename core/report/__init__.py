"""A self-contained report, and slides: figures, tables, methods, provenance and chosen debates, in one file without requests.

captioned   a figure with its table, title, caption and sentence; results: a result as one
figure_kind a kind of figure, and what makes it
figures     one file for each kind of figure
selection   what a report is to show, as it is saved under a name
material    all that a report is made from; material_loader reads it
question    what a report answers: the finding, the answer and the abstract, drafted from verdicts
parts       what the report and its slides consist of, in order; byline: who made it, and when
walk        walk-throughs: their stops in slides and in a report
build       the report and the slides as bytes
markup      HTML in which all text is escaped
document    what both files have in common: styles, scripts, policy
page        the report
slides      the slides; deck: what all slides have in common
row_texts   what is read of a row, in a report and on a site
debates     the chosen rows in full
tables      frames as HTML tables
methods     the definitions that were used
provenance  files, runs and versions
printing    the report as a PDF, drawn by a browser
"""
