"""Power: the smallest difference that can be detected."""

from __future__ import annotations

import numpy as np

from core.stats import validate

POWER, LEVEL = 0.8, 0.05


def detectable_difference(
    se: float, power: float = POWER, level: float = LEVEL, df: float = float("inf")
) -> float:
    """Return the smallest true difference that a two-sided test at `level` detects with probability
    `power`.

    se: standard error of the difference, on as many rows as the claim will have. df: degrees of
    freedom of Student's t; infinite for the normal distribution. In standard errors it is the
    noncentrality of the t that exceeds t_{1 - level/2} with probability `power`: 2.80 at 80%, 5%
    and infinite df.
    """
    from scipy.special import nctdtrinc, ndtri, stdtrit

    validate.between("power", power, 0, 1)
    validate.between("level", level, 0, 1)
    needed = stdtrit(df, 1 - level / 2)
    return float((needed + ndtri(power) if np.isinf(df) else nctdtrinc(df, 1 - power, needed)) * se)
