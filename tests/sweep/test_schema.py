"""Editors are told the truth about the sweep file."""

import json
import subprocess
import sys

from bats.master.sweep.schema import json_schema
from bats.master.sweep.sweep_model import SweepFile


def test_the_schema_is_the_models_own():
    schema = json_schema()
    assert schema["properties"] == SweepFile.model_json_schema()["properties"]
    assert set(schema["properties"]) == set(SweepFile.model_fields)
    assert schema["additionalProperties"] is False


def test_every_key_says_what_it_is_for():
    assert all(field.description for field in SweepFile.model_fields.values())


def test_it_can_be_printed_for_an_editor():
    printed = subprocess.run(
        [sys.executable, "-m", "bats.master.sweep.schema"], capture_output=True, check=True
    )
    assert json.loads(printed.stdout) == json_schema()
