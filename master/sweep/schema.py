"""The JSON schema of the sweep file, for editors: `python -m bats.master.sweep.schema`."""

import json
from typing import Any

from bats.master.sweep.sweep_model import SweepFile


def json_schema() -> dict[str, Any]:
    """The schema that pydantic derives from the model, with what an editor wants to know too."""
    schema = SweepFile.model_json_schema(by_alias=True)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "BaTS sweep file",
    }


def main() -> None:
    print(json.dumps(json_schema(), indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
