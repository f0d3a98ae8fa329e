"""How many examples property tests take: few in the suite, all that they ask for in `make soak PART=variants`."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

ON_COMMIT = 20
# How long an example takes says nothing on a busy machine.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def register() -> None:
    """Register the profiles commit and soak, and load commit; --hypothesis-profile chooses the other."""
    settings.register_profile("soak", _PATIENT)
    settings.register_profile("commit", _PATIENT, max_examples=ON_COMMIT, database=None)
    settings.load_profile("commit")


def skip_constants() -> None:
    """Have no process of the suite parse all of core/ for constants to try, which takes it longer than the twenty examples."""
    if settings.get_current_profile_name() == "commit":
        providers._get_local_constants = lambda: providers._local_constants


def examples(number: int) -> settings:
    """Return the settings of a property test that takes this number at full strength."""
    full = settings.get_current_profile_name() == "soak"
    return settings(max_examples=number if full else min(number, ON_COMMIT))
