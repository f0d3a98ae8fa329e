"""A fusion with movable weights in any browser: its data, and the script that computes and draws.

content      what the script gets: percentiles, labels, cells, the baseline's scores
prepare      a fusion and the noise of its cuts, ready for weights that change
travel       a fusion that travels in a file: its content and state, with or without labels
component    the script, its page and its style, for the app and for files that are opened from disk
assets/      the script in parts, which are one: numbers.js (AUROC and intervals), fusion.js (a fusion and its plane), texts.js,
             drawing.js (the plane), rows.js (the rows that move), explorer.js (the page and its controls)

The numbers are those of `core.transfer.live_fusion` to the last digits; tests compare them in a browser.
"""
