"""A few generated inputs for public entry points; ``tests/fuzzing/run.py`` tries thousands."""

import pytest
from fuzzing.targets import FUZZED
from hypothesis import HealthCheck, Phase, given, settings


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUZZED)
def test_whatever_is_passed_in(name):
    strategy, check, examples = FUZZED[name]
    options = settings(
        max_examples=max(2, examples // 3),
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    options(given(strategy)(check))()
