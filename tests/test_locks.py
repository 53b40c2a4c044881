"""Versions are locked with the hashes of their files, and the locks are of what is asked for."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCKS = ROOT / "scripts" / "locks"

pytestmark = pytest.mark.checkout


def asked() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    more = [one for extra in project["optional-dependencies"].values() for one in extra]
    return [Requirement(one) for one in [*project["dependencies"], *more]]


def locked(path: Path) -> dict[str, set[str]]:
    """The versions of each package; several where they depend on the Python."""
    found: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([\w.-]+)==([\w.]+)", path.read_text(), re.MULTILINE):
        found.setdefault(canonicalize_name(name), set()).add(version)
    return found


@pytest.mark.parametrize("lock", ["tested.txt", "lowest.txt"])
def test_a_lock_has_a_version_of_everything_that_is_asked_for(lock: str) -> None:
    there = locked(LOCKS / lock)
    wrong = [
        str(one)
        for one in asked()
        if not there.get(canonicalize_name(one.name))
        or not all(one.specifier.contains(v) for v in there[canonicalize_name(one.name)])
    ]
    assert wrong == [], "run scripts/lock"


def test_the_lowest_are_those_that_pyproject_names() -> None:
    there = locked(LOCKS / "lowest.txt")
    for one in asked():
        (bound,) = one.specifier
        (version,) = there[canonicalize_name(one.name)]
        assert bound.operator == ">="
        assert version == bound.version or version.startswith(f"{bound.version}."), "scripts/lock"


@pytest.mark.parametrize("lock", [LOCKS / "tested.txt", LOCKS / "lowest.txt",
                                  ROOT / "deploy" / "requirements.txt"])  # fmt: skip
def test_every_package_comes_with_hashes(lock: Path) -> None:
    entries = re.split(r"^(?=[a-z])", lock.read_text(), flags=re.MULTILINE)[1:]
    assert entries
    assert all("--hash=sha256:" in entry for entry in entries)


def test_what_a_worker_is_given_is_what_was_tested() -> None:
    given, tested = locked(ROOT / "deploy" / "requirements.txt"), locked(LOCKS / "tested.txt")
    assert given == {name: tested[name] for name in ("msgpack", "pyzmq")}
