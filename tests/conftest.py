"""What all tests share."""

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["beds"]
pytest.register_assert_rewrite("bats.deploy.testing")  # its assertions, too, say what was seen

# How long an example takes says more about the computer than about us. The examples are the same
# every time, so that a failure can be looked at.
settings.register_profile(
    "bats", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("bats")
