"""The Dataflow flex template: its parameters against the command's options, both ways."""

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pipeline.options.backfill import backfill_parser, parse_backfill
from pipeline.preflight import check_beam_arguments

TEMPLATE = Path(__file__).parents[2] / "templates" / "dataflow"
METADATA = json.loads((TEMPLATE / "metadata.json").read_text())
PARAMETERS: dict[str, dict[str, Any]] = {parameter["name"]: parameter for parameter in METADATA["parameters"]}
NOT_OF_A_TEMPLATE = {"help", "runner", "dry-run", "no-wait"}
OF_BEAM = {"sdk_container_image"}


@pytest.fixture(scope="module")
def main() -> ModuleType:
    specification = importlib.util.spec_from_file_location("dataflow_main", TEMPLATE / "main.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def options() -> dict[str, Any]:
    """Long name -> action, without the hidden and the negative ones."""
    found = {action.option_strings[-1].removeprefix("--"): action for action in backfill_parser()._actions if action.option_strings}
    return {name: action for name, action in found.items() if not name.startswith("no-")}


def test_every_option_is_a_parameter_and_every_parameter_an_option() -> None:
    assert {name.replace("-", "_") for name in options().keys() - NOT_OF_A_TEMPLATE} | OF_BEAM == set(PARAMETERS)


def test_the_help_is_the_options_own() -> None:
    for name, action in options().items():
        parameter = PARAMETERS.get(name.replace("-", "_"))
        if parameter:
            told = action.help.replace("%(default)s", str(action.default)).replace("%%", "%")
            assert parameter["helpText"] == f"{told[0].upper()}{told[1:]}."


def test_the_fields_are_those_that_dataflow_knows() -> None:
    assert set(METADATA) == {"name", "description", "parameters"}
    for parameter in PARAMETERS.values():
        assert parameter.keys() <= {"name", "label", "helpText", "isOptional", "regexes", "paramType"}
        assert parameter["paramType"] in ("TEXT", "GCS_WRITE_FOLDER")


def example(name: str) -> str:
    """A value that the option takes, its default where it has one."""
    default = options()[name].default
    if isinstance(default, bool):
        return str(default).lower()
    if default is None or isinstance(default, list | tuple):
        return {"run-id": "one", "started-at": "2026-01-31T10:00:00Z", "max-failures": "0.05", "languages": "eng"}.get(name, "4")
    return f"{getattr(default, 'value', default):g}" if isinstance(default, float) else str(getattr(default, "value", default))


def test_a_template_with_every_parameter_is_a_command_that_is_understood(main: ModuleType) -> None:
    places = {
        "input": "gs://bucket/library/**",
        "references": "gs://bucket/r.jsonl",
        "output": "gs://bucket/out",
        "librarian": "http://gateway",
    }
    meant = options().keys() - NOT_OF_A_TEMPLATE - {"librarian-store"}  # instead of librarian
    values = {name.replace("-", "_"): places.get(name) or example(name) for name in meant}
    for name, value in values.items():
        assert all(re.search(expression, value) for expression in PARAMETERS[name].get("regexes", ())), name

    given = [*(f"--{name}={value}" for name, value in values.items()), "--sdk_container_image=image", "--region=europe-west1", "--runner=x"]
    command = main.arguments(given)

    assert command[0] == "backfill"
    settings, beam = parse_backfill(command[1:])
    assert (settings.runner, settings.no_wait, settings.force, settings.decode.images) == ("DataflowRunner", True, False, True)
    assert settings.inputs == ("gs://bucket/library/**",)
    assert settings.library is not None
    assert (settings.library.place, settings.library.kinds) == ("http://gateway", ("4",))
    assert beam == ["--runner=DataflowRunner", "--sdk_container_image=image", "--region=europe-west1"]
    check_beam_arguments(beam)


def test_switches_have_values_in_a_template(main: ModuleType) -> None:
    base = ["--input=a", "--output=b"]
    on, _ = parse_backfill(main.arguments([*base, "--force=true", "--images=true", "--retry_failed=True"])[1:])
    off, _ = parse_backfill(main.arguments([*base, "--force=false", "--images=false", "--retry_failed=false"])[1:])

    assert (on.force, on.decode.images, on.retry_failed) == (True, True, True)
    assert (off.force, off.decode.images, off.retry_failed) == (False, False, False)
