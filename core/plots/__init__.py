"""One file per figure: a finished result in, a plotly Figure out.

theme             colours, signs and the plotly template     drawing           lines, error bars,
                  texts
label_signs       the signs of labels, and their key         forest_plot       rows of dots with
                  error bars
printed           a figure as a file, with a heading
offline_page      colours and policy of files opened from disk

scores            scores of runs, slices and baselines       rank_scatter      ranks in two runs
paired_changes    differences of two runs or groups          curves            losses or hits by
                  step, epoch or k
captioned         a figure with what stands beside it        results           of a result
"""
