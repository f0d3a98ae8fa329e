"""Cohen's kappa of two readers of the same texts: their agreement beyond chance at their rates of
answers.

Source: Cohen 1960; the variance is from Fleiss, Cohen and Everitt (1969). It is written as the
influence of every text, so that texts that share a perturbation or a gene can be clustered.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from core.stats import validate
from core.stats.arrays import count_codes, sum_by_group
from core.stats.clustered_mean import Part, sum_of_parts
from core.stats.delong import Estimate


def cohens_kappa(first: ArrayLike, second: ArrayLike, pert: ArrayLike, gene: ArrayLike) -> Estimate:
    """Return kappa with all intervals.

    first, second: the readers' answers, names or codes of shape (n_texts,), like pert and gene. 1
    means that they always agree, and has no interval; 0 means no better than chance. NaN without
    texts, or if both give the same answer to every text.
    """
    a, b = np.asarray(first), np.asarray(second)
    n = validate.same_length(first=a, second=b, pert=pert, gene=gene)
    _, codes = validate.names_and_codes("answers", np.concatenate([a, b]))
    a, b = codes[:n], codes[n:]
    n_answers = count_codes(codes)
    rates_a, rates_b = (sum_by_group(each, n_answers) / max(n, 1) for each in (a, b))
    by_chance, agreed = float(rates_a @ rates_b), float((a == b).mean()) if n else float("nan")
    room = 1 - by_chance
    value = (agreed - by_chance) / room if n and room > 0 else float("nan")
    drift = rates_b[a] + rates_a[b] - 2 * by_chance  # a text's part of the agreement by chance
    influence = ((a == b) - agreed - (1 - value) * drift) / room / n if room > 0 else np.zeros(n)
    part = Part(value, influence, np.ones(n, dtype=np.bool_))
    return sum_of_parts([part], *validate.axes(pert, gene), (-1.0, 1.0))
