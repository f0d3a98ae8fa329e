"""kNN priors, evaluation protocols, rank fusion and its inverse. Arrays in, arrays out.

labelled_rows         rows as codes, labelled rows, which row may see which   row_index         a
                      dataset's rows as codes
similarity            cosines of genes in one space or several         knn               priors from
                      similar rows
label_sums            the weighted label sums behind priors
protocols             test, leave one out, folds                       evaluation        a kNN's
                      score and its null
prior_provenance      a prior's neighbours                             run_cells         how a run
                      is scored
prior_support         shrinking and weighting by support
fusion                rank-percentile fusion                           knn_settings      a kNN's
                      settings as plain data
live_knn              kNN priors while settings change                 live_fusion       scores
                      while weights change
cut_priors        priors of several cuts of folds
cuts                  the mean score over ten cuts             permutation_null  the same with
                      permuted vectors
constant_components   components of a fusion that change no order
"""
