"""What all tests share."""

pytest_plugins = ["beds"]
