"""`bats clouds check`: an offering is tried for real, and what fails says why."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bats.common.money import money
from bats.common.offering import ClusterName, Offering
from bats.deploy import trial
from bats.deploy.endpoint import Endpoint
from bats.deploy.protocol import BackendError, Site
from bats.deploy.testing import opened
from bats.master.clouds.checking import check

HERE = Offering(ClusterName("here"), money("0.01"), 1.0, 1)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site("trial", str(tmp_path), (sys.executable, "-m", "bats.worker"))


async def test_each_step_of_a_machine_is_timed(site: Site) -> None:
    async with Endpoint() as master, opened(HERE, site) as backend:
        found = await trial.attempt(backend, master, trial.at(), 60)
        assert found.join_seconds > 0
        assert found.queued_seconds == 0
        assert found.charged_seconds is not None
        assert not await backend.list_ours()


async def test_a_machine_that_never_joins_is_explained_by_its_log_and_stopped(site: Site) -> None:
    mute = replace(
        site, worker_command=("/bin/sh", "-c", "echo the network is down >&2; exec sleep 99")
    )
    async with Endpoint() as master, opened(HERE, mute) as backend:
        with pytest.raises(BackendError, match=r"(?s)did not join within 1 s.*network is down"):
            await trial.attempt(backend, master, trial.at(), 1)
        assert not await backend.list_ours()


async def test_all_offerings_are_tried_and_what_they_cost_is_told(tmp_path: Path) -> None:
    lost = replace(HERE, name=ClusterName("lost"), backend="nowhere")
    good, bad = await check([HERE, lost], tmp_path, start=True, patience_seconds=60)
    assert (good.ok, bad.ok) == (True, False)
    assert good.cost is not None
    assert good.cost >= HERE.price
    assert "there is no back end `nowhere`" in bad.said
    assert not list(tmp_path.iterdir())


async def test_asking_only_starts_nothing_and_costs_nothing(tmp_path: Path) -> None:
    (only,) = await check([HERE], tmp_path, start=False, patience_seconds=60)
    assert (only.ok, only.trial, only.cost) == (True, None, None)
