"""The quick way to the release agrees with the package's metadata."""

from importlib.metadata import version

from bats.common.release import NAME, release


def test_the_release_is_what_the_metadata_says() -> None:
    assert release() == version(NAME)
