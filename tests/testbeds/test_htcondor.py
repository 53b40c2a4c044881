"""The HTCondor bed is a real pool, and the example back end keeps the contract there."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from helpers.beds import REPOSITORY, Bed

pytestmark = pytest.mark.backend("htcondor")
EXAMPLE = REPOSITORY / "scripts" / "examples" / "htcondor"


@pytest.fixture
def home() -> Iterator[Path]:
    """Open to the user who submits; pytest's own folders are not."""
    with TemporaryDirectory(prefix="bats-condor-") as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


def test_the_example_back_end_keeps_the_contract(htcondor_bed: Bed, home: Path) -> None:
    """Installed as a package of its own, and run as a user who may submit jobs."""
    installed, package = home / "site", home / "package"
    shutil.copytree(EXAMPLE, package)  # building leaves things behind
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps"]
    subprocess.run([*pip, "--target", installed, package], check=True)
    as_user = f"{htcondor_bed.environment['BATS_CONDOR_BIN']}/as_user"
    environment = [f"HOME={home}", f"PYTHONPATH={installed}", "PATH=/usr/bin:/bin:/usr/sbin"]
    pytest_ = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    folders = [f"--basetemp={home}/tests", f"--rootdir={package}", package / "tests"]
    done = subprocess.run(
        [as_user, "env", *environment, *pytest_, *folders],
        cwd=home,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
