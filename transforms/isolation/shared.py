"""The one pool of decoding children of this process: whoever decodes here uses it, and whoever starts a job may begin it early.

Beam is not needed for it, and not imported, so that the zygote warms while Beam is being imported (`pipeline.head_start`).
"""

import atexit
import json
import threading

from transforms.isolation.pool import ChildPool
from transforms.partition.environment import ACCELERATION, DECODE_ENVIRONMENT
from transforms.settings import Limits

DECODE_FILE = "transforms.decode:decode_file"
"""module:function that a child runs for a document; another one only in tests."""

_pools: dict[str, ChildPool] = {}
_pools_lock = threading.Lock()


def shared_pool(children: int, limits: Limits, decoder: str = DECODE_FILE, *, accelerated: bool = True) -> ChildPool:
    """The pool for these limits: made, and its zygote started, by the first call; one serves every bundle.

    Args:
      accelerated: whether faster code may take the place of other packages' code.
    """
    name = json.dumps([children, repr(limits), decoder, accelerated])
    # The zygote decides before it sees a request, once for all of its children: so it is told by its environment.
    environment = DECODE_ENVIRONMENT if accelerated else {**DECODE_ENVIRONMENT, ACCELERATION: "off"}
    with _pools_lock:
        if name not in _pools:
            _pools[name] = ChildPool(children, limits, decoder=decoder, environment=environment)
        return _pools[name]


@atexit.register
def close_pools() -> None:
    """Ends all children of this process."""
    with _pools_lock:
        for pool in _pools.values():
            pool.close()
        _pools.clear()
