"""A wheel that is not what stands in the folder is told, file by file."""

from pathlib import Path
from zipfile import ZipFile

import pytest
import wheel_contents
from helpers.pages import ROOT

pytestmark = pytest.mark.checkout


def wheel(folder: Path, files: dict[str, bytes]) -> Path:
    path = folder / "bats_scheduler-1-py3-none-any.whl"
    with ZipFile(path, "w") as packed:
        packed.writestr("bats_scheduler-1.dist-info/RECORD", "")
        for name, content in files.items():
            packed.writestr(name, content)
    return path


def test_a_wheel_of_all_files_does_not_differ(tmp_path: Path) -> None:
    files = dict(wheel_contents.shipped(ROOT))
    assert {"bats/__init__.py", "bats/master/web/static/style.css"} <= files.keys()
    assert wheel_contents.differences(wheel(tmp_path, files), ROOT) == []


def test_what_is_missing_too_much_or_another_is_named(tmp_path: Path) -> None:
    files = dict(wheel_contents.shipped(ROOT))
    del files["bats/common/money.py"]
    files |= {"bats/worker/py.typed": b"?", "bats/left.py": b""}
    assert sorted(wheel_contents.differences(wheel(tmp_path, files), ROOT)) == [
        "bats/common/money.py is not in the wheel",
        "bats/left.py is in the wheel and not in this folder",
        "bats/worker/py.typed differs",
    ]
