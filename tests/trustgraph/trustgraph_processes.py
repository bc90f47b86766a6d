"""Runs TrustGraph's own programs for the development stack, by the Python that has TrustGraph installed and nothing of this project.

    python trustgraph_processes.py control|data|gateway|workspace SETTINGS

SETTINGS is the stack's JSON file. Unmodified code of TrustGraph but for one thing: the gateway, which has no option for it, listens on
loopback only (2.9.12, 2.11.1).
"""

import asyncio
import functools
import json
import sys
from pathlib import Path


def main(what: str, file: str) -> None:
    settings = json.loads(Path(file).read_text())
    if what == "gateway":
        run_gateway(settings)
    elif what == "workspace":
        asyncio.run(register_workspace(settings))
    else:
        run_group(what, settings)


def run_group(name: str, settings: dict) -> None:
    """A group of services in one process."""
    from trustgraph.base.processor_group import run

    config = Path(settings["folder"], f"{name}.yaml")
    config.write_text(json.dumps({"processors": groups(settings)[name]}))  # JSON is YAML
    sys.argv = ["processor-group", "-c", str(config), "--no-metrics", "--no-loki-enabled"]
    run()


def groups(settings: dict) -> dict[str, list]:
    """The control plane starts first: a request that is sent before its consumer is there is lost, and asked again after 10 to 15 s."""
    broker = {
        "pubsub_backend": "rabbitmq",
        "rabbitmq_host": "127.0.0.1",
        "rabbitmq_port": settings["amqp_port"],
        "rabbitmq_username": "guest",
        "rabbitmq_password": "guest",
        "rabbitmq_vhost": "/",
    }
    tables = {**broker, "cassandra_host": settings["cassandra"]}

    def service(module: str, name: str, parameters: dict, **more: object) -> dict:
        return {"class": f"trustgraph.{module}.Processor", "params": {**parameters, "id": name, **more}}

    s3 = {
        "object_store_endpoint": settings["s3_endpoint"].removeprefix("http://"),
        "object_store_access_key": settings["s3_access"],
        "object_store_secret_key": settings["s3_secret"],
        "object_store_region": settings["s3_region"],
    }
    return {
        "control": [
            service("config.service", "config-svc", tables),
            service("iam.service", "iam-svc", tables, bootstrap_mode="token", bootstrap_token=settings["token"]),
        ],
        "data": [
            service("flow.service", "flow-svc", broker),
            service("librarian", "librarian", tables, **s3),
            service("cores.service", "knowledge", tables),
            service("storage.knowledge.store", "kg-store", tables),
            service("storage.triples.cassandra", "triples-write", tables),
            service("query.triples.cassandra", "triples-query", tables),
            service("chunking.recursive", "chunker", broker, chunk_size=2000, chunk_overlap=100),
        ],
    }


def run_gateway(settings: dict) -> None:
    from aiohttp import web

    web.run_app = functools.partial(web.run_app, host="127.0.0.1")
    from trustgraph.gateway.service import run

    sys.argv = ["api-gateway", "--pubsub-backend", "rabbitmq", "--rabbitmq-host", "127.0.0.1"]
    sys.argv += [
        "--rabbitmq-port",
        str(settings["amqp_port"]),
        "--port",
        str(settings["gateway_port"]),
        "--no-metrics",
        "--no-loki-enabled",
    ]
    run()


async def register_workspace(settings: dict) -> None:
    """Makes the workspace `default`, to which the administrator's key belongs: through the gateway that key may not do it before.

    TrustGraph's own bootstrap does the same, over the broker.
    """
    from trustgraph.base import RequestResponseClient
    from trustgraph.base.async_rabbitmq_backend import AsyncRabbitMQBackend
    from trustgraph.schema import IamRequest, IamResponse, WorkspaceInput, iam_request_queue, iam_response_queue

    broker = AsyncRabbitMQBackend(host="127.0.0.1", port=settings["amqp_port"])
    request = IamRequest(operation="create-workspace", workspace_record=WorkspaceInput(id="default", name="Default", enabled=True))
    for _ in range(10):  # a request before its consumer is there is lost
        client = await RequestResponseClient.create(
            backend=broker,
            request_topic=iam_request_queue,
            response_topic=iam_response_queue,
            request_schema=IamRequest,
            response_schema=IamResponse,
        )
        try:
            answer = await client.request(request, timeout=5)
        except TimeoutError:
            continue
        finally:
            await client.close()
        await broker.close()
        if answer.error and answer.error.type != "duplicate":
            sys.exit(f"create-workspace: {answer.error.message}")
        return
    sys.exit("create-workspace: no answer")


if __name__ == "__main__":
    main(*sys.argv[1:])
