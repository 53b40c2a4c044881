"""The Chromium bed is a real browser: it opens a page and paints it."""

import json
import subprocess
import urllib.request
from pathlib import Path

import pytest
from helpers.beds import Bed

pytestmark = pytest.mark.backend("chromium")


def test_the_browser_answers_on_its_devtools_address(chromium_bed: Bed) -> None:
    url = chromium_bed.environment["BATS_DEVTOOLS"] + "/json/version"
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url) as answer:
        assert "webSocketDebuggerUrl" in json.load(answer)


def test_the_program_paints_a_page(chromium_bed: Bed, tmp_path: Path) -> None:
    page, picture = tmp_path / "page.html", tmp_path / "page.png"
    page.write_text("<h1>hello</h1>")
    program = chromium_bed.environment["BATS_CHROMIUM"]
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/p"]
    size = ["--window-size=390,844", f"--screenshot={picture}"]
    subprocess.run([program, *options, *size, page.as_uri()], check=True, capture_output=True)
    assert picture.read_bytes().startswith(b"\x89PNG")
