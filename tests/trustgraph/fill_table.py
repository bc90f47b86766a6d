"""Puts rows into the librarian's table, run by the Python that has TrustGraph's driver: 6,000 take 5 s, through the gateway 200.

Of children of PARENT, or of documents where that is empty; none has bytes in the bucket.

python fill_table.py HOST WORKSPACE PARENT COUNT
"""

import sys
import uuid

from cassandra.cluster import Cluster
from cassandra.concurrent import execute_concurrent_with_args


def main(host: str, workspace: str, parent: str, count: str) -> None:
    cluster = Cluster([host])
    session = cluster.connect("librarian")
    insert = session.prepare(
        "INSERT INTO document (workspace, id, time, kind, title, object_id, parent_id, document_type) "
        "VALUES (?, ?, 1700000000000, 'text/plain', 'Page', ?, ?, ?)"
    )
    rows = [(workspace, f"urn:page:{number:06d}", uuid.uuid4(), parent, "page" if parent else "source") for number in range(int(count))]
    assert all(success for success, _ in execute_concurrent_with_args(session, insert, rows))
    cluster.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
