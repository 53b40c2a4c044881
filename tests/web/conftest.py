"""A master with its page, a tab of a real browser, and what judges a page."""

import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from helpers.beds import REPOSITORY, Bed
from helpers.browser import Page, opened
from helpers.service import client, free
from helpers.workers import end_workers

from bats.master.service.master import Master, serving
from bats.master.service.options import Options

__all__ = ["axe", "client", "master", "page"]


@pytest.fixture
async def master(tmp_path: Path) -> AsyncIterator[Master]:
    """One that serves its page, with this computer's processes for machines."""
    options = Options(state=tmp_path / "state", offerings=(free(),), web_port=0)
    async with serving(options) as made:
        yield made
    end_workers(tmp_path)


@pytest.fixture
async def page(chromium_bed: Bed) -> AsyncIterator[Page]:
    async with opened(chromium_bed.environment["BATS_DEVTOOLS"]) as tab:
        yield tab


@pytest.fixture(scope="session")
def axe() -> str:
    """The accessibility checker axe-core as a script; kept out of the repository."""
    folder = REPOSITORY / ".cache" / "axe"
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        folder.mkdir(parents=True, exist_ok=True)
        install = ["npm", "install", "--silent", "--no-audit", "--prefix", folder, "axe-core@4"]
        try:
            done = subprocess.run(install, check=False, capture_output=True, text=True, timeout=120)
        except (FileNotFoundError, subprocess.TimeoutExpired) as error:
            pytest.skip(f"axe-core cannot be had: {error}")
        if done.returncode:
            pytest.skip(f"axe-core cannot be had: {done.stderr.strip()[-300:]}")
    return script.read_text()
