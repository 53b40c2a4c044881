"""A batch system is asked for the machine that its offering describes."""

from pathlib import Path
from typing import Any

from bats.common.money import NOTHING
from bats.common.offering import ClusterName, Offering
from bats.deploy.batch.slurm import Slurm
from bats.deploy.protocol import Site


def script(folder: Path, settings: dict[str, Any], **size: int) -> list[str]:
    offering = Offering(
        ClusterName("lab"), NOTHING, 60.0, 4, backend="slurm", settings=settings, **size
    )  # type: ignore[arg-type]
    return Slurm(offering, Site("id", str(folder), ("worker",))).script().splitlines()


def test_a_job_of_slurm_asks_for_cpus_memory_and_gpus(tmp_path: Path) -> None:
    lines = script(tmp_path, {}, slots=8, memory_bytes=64 << 30, gpus=2)
    for line in ("--cpus-per-task=8", "--mem=65536M", "--gres=gpu:2"):
        assert f"#SBATCH {line}" in lines


def test_what_is_not_said_is_not_asked_for_and_the_back_ends_own_memory_wins(
    tmp_path: Path,
) -> None:
    assert not [one for one in script(tmp_path, {}, slots=2) if "--mem" in one or "gres" in one]
    assert "#SBATCH --mem=4G" in script(tmp_path, {"memory": "4G"}, memory_bytes=64 << 30)
