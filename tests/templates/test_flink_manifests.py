"""The manifests for Kubernetes: against the operator's own schema, and against each other and the code."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipeline.flink.distribution import FLINK_VERSION
from pipeline.flink.submission import short
from pipeline.flink.worker import POOL_PORT
from pipeline.options.backfill import parse_backfill
from pipeline.options.runners import FLINK_RUNNER
from transforms.version import VERSION

TEMPLATES = Path(__file__).parents[2] / "templates"
SCHEMA = json.loads((Path(__file__).parent / "schemas" / "flinkdeployment-v1beta1.json").read_text())
CLUSTER = yaml.safe_load((TEMPLATES / "flink" / "session-cluster.yaml").read_text())
JOB = yaml.safe_load((TEMPLATES / "flink" / "submit-job.yaml").read_text())
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}


def problems(value: Any, schema: dict[str, Any], place: str) -> list[str]:
    """What a structural schema of Kubernetes says against a value. An unknown field is one: the API server drops it in silence."""
    if "$ref" in schema:
        schema = SCHEMA[schema["$ref"]]
    if schema.get("x-kubernetes-int-or-string"):
        return [] if isinstance(value, int | str) and not isinstance(value, bool) else [f"{place} is neither a number nor a text"]
    kind = TYPES.get(schema.get("type", ""))
    if kind and (not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)):
        return [f"{place} is {value!r}, no {schema['type']}"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{place} is {value!r}, none of {schema['enum']}"]
    if isinstance(value, list):
        return [found for number, item in enumerate(value) for found in problems(item, schema["items"], f"{place}[{number}]")]
    if not isinstance(value, dict) or schema.get("x-kubernetes-preserve-unknown-fields"):
        return []
    found = [f"{place}.{name} is missing" for name in schema.get("required", ()) if name not in value]
    for name, item in value.items():
        known = schema.get("properties", {}).get(name) or schema.get("additionalProperties")
        found += problems(item, known, f"{place}.{name}") if known else [f"{place}.{name} is not known"]
    return found


def test_the_session_cluster_is_what_the_operator_takes() -> None:
    assert (CLUSTER["apiVersion"], CLUSTER["kind"]) == ("flink.apache.org/v1beta1", "FlinkDeployment")
    assert problems(CLUSTER["spec"], SCHEMA["spec"], "spec") == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"flinkVersion": "1.19"}, "spec.flinkVersion is '1.19', none of"),
        ({"taskManagers": {}}, "spec.taskManagers is not known"),
        ({"taskManager": {"replicas": "4"}}, "spec.taskManager.replicas is '4', no integer"),
        ({"taskManager": {"podTemplate": {"spec": {"containers": [{"arg": []}]}}}}, "containers[0].arg is not known"),
    ],
)
def test_a_mistake_would_be_found(change: dict[str, Any], problem: str) -> None:
    [found] = problems({**CLUSTER["spec"], **change}, SCHEMA["spec"], "spec")

    assert problem in found


def test_flinks_settings_are_texts_as_the_operator_hands_them_on() -> None:
    assert all(isinstance(value, str) for value in CLUSTER["spec"]["flinkConfiguration"].values())


def test_the_cluster_is_the_flink_that_is_tested() -> None:
    assert CLUSTER["spec"]["image"].startswith(f"flink:{FLINK_VERSION}-")
    assert CLUSTER["spec"]["flinkVersion"] == "v" + short(FLINK_VERSION).replace(".", "_")
    pom = (TEMPLATES / "flink" / "job-server" / "pom.xml").read_text()
    assert f"<artifactId>beam-runners-flink-{short(FLINK_VERSION)}</artifactId>" in pom


def test_the_submitting_job_is_a_pod_that_kubernetes_takes() -> None:
    assert (JOB["apiVersion"], JOB["kind"]) == ("batch/v1", "Job")
    assert problems(JOB["spec"]["template"], SCHEMA["podTemplate"], "template") == []


def containers() -> dict[str, dict[str, Any]]:
    pods = [CLUSTER["spec"]["taskManager"]["podTemplate"]["spec"], JOB["spec"]["template"]["spec"]]
    return {container["name"]: container for pod in pods for container in pod["containers"]}


def test_the_submitters_arguments_are_options_and_fit_the_cluster() -> None:
    submitter, workers = containers()["submitter"], containers()["workers"]
    assert submitter["args"][0] == "backfill"
    settings, beam = parse_backfill(submitter["args"][1:])
    assert settings.runner == FLINK_RUNNER
    assert f"--flink_master={CLUSTER['metadata']['name']}-rest:8081" in beam
    assert f"--environment_config=localhost:{POOL_PORT}" in beam
    assert str(settings.children) == workers["resources"]["limits"]["cpu"]
    assert CLUSTER["spec"]["flinkConfiguration"]["taskmanager.numberOfTaskSlots"] == "1"


def test_the_worker_pool_is_ready_when_it_listens() -> None:
    workers = containers()["workers"]
    assert workers["args"] == ["--worker_pool", f"--service_port={POOL_PORT}"]
    assert workers["ports"] == [{"name": "workers", "containerPort": POOL_PORT}]
    assert workers["readinessProbe"]["tcpSocket"]["port"] == "workers"


def test_no_container_runs_as_root_or_holds_a_credential() -> None:
    dockerfile = (TEMPLATES / "docker" / "Dockerfile").read_text()
    for name, container in containers().items():
        if name == "flink-main-container":
            continue
        assert container["image"].endswith(f":{VERSION}")
        assert container["securityContext"]["runAsNonRoot"] is True
        assert f"--uid {container['securityContext'].get('runAsUser', 10001)} " in dockerfile
        assert [source["secretRef"]["name"] for source in container["envFrom"]] == ["object-store"]
        assert not any(re.search("KEY|SECRET|TOKEN", variable["name"]) for variable in container.get("env", ()))
