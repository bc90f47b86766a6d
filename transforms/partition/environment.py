"""The process environment of every decode. It must stand before unstructured, numpy or onnxruntime are first imported."""

import os
from collections.abc import Mapping
from types import MappingProxyType

DECODE_ENVIRONMENT: Mapping[str, str] = MappingProxyType(
    {
        # unstructured 0.27.35 reports each partition to its vendor from a thread, and prints a notice, unless these say no.
        "DO_NOT_TRACK": "1",
        "SCARF_NO_ANALYTICS": "1",
        "UNSTRUCTURED_DISABLE_NOTICE": "1",
        # A decode never downloads: a model that is not installed is a sentence in the dead letter, not a request to a hub.
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        # One thread a child: the pool has a child per CPU, and the zygote must not own threads when it forks.
        "OMP_NUM_THREADS": "1",
        "OMP_THREAD_LIMIT": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        # pyarrow 25.0.1 starts a thread at its import, whichever memory pool it uses.
        "JE_ARROW_MALLOC_CONF": "background_thread:false",
    }
)


def apply_decode_environment() -> None:
    """Sets `DECODE_ENVIRONMENT` in this process; call it before the first import of unstructured."""
    os.environ.update(DECODE_ENVIRONMENT)
