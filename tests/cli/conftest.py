"""A user for each test."""

from pathlib import Path

import pytest
from programs import User


@pytest.fixture
def user(tmp_path: Path) -> User:
    home = tmp_path / "a user"  # with a blank, as homes have
    home.mkdir()
    return User(home)
