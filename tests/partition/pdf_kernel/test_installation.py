import io
import logging
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from transforms.partition import pdf_kernel
from transforms.partition.pdf_kernel import installation, self_test

ROOT = Path(__file__).parents[3]
COMPILED = all(Path(installation.__file__).parent.glob(f"{name}.*.so") for name in installation.MODULES) and pdf_kernel.availability().on
needs_kernel = pytest.mark.skipif(not COMPILED, reason="the PDF kernel is not compiled")


@pytest.fixture(autouse=True)
def as_it_came():
    pdf_kernel.uninstall()
    yield
    pdf_kernel.uninstall()


def replaced():
    from pdfminer.cmapdb import CMapParser
    from pdfminer.pdfparser import PDFParser
    from unstructured.partition import pdf

    return [
        PDFParser.nexttoken,
        PDFParser.nextobject,
        CMapParser.nexttoken,
        CMapParser.nextobject,
        pdf._process_pdfminer_pages,
    ]


@needs_kernel
def test_it_installs_once_and_puts_everything_back():
    before = replaced()
    state = pdf_kernel.install()
    assert str(state) == "on: proven against pdfminer.six 20260107, unstructured 0.27.35"
    during = replaced()
    assert all(one is not other for one, other in zip(before, during, strict=True))
    assert pdf_kernel.install() is state
    assert replaced() == during
    assert pdf_kernel.state() is state
    pdf_kernel.uninstall()
    assert replaced() == before
    assert str(pdf_kernel.state()) == "off: not installed in this process"


def assert_steps_aside(caplog, why):
    before = replaced()
    with caplog.at_level(logging.WARNING):
        state = pdf_kernel.install()
        pdf_kernel.install()
    assert state.on is False
    assert state.why == why
    assert replaced() == before
    assert [record.message for record in caplog.records] == [f"PDFs are read by pdfminer alone, which takes several times as long: {why}."]


@pytest.mark.parametrize("distribution", ["pdfminer.six", "unstructured"])
def test_it_steps_aside_for_another_version(distribution, monkeypatch, caplog):
    version = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "9.9" if name == distribution else version(name))
    proven = installation.PROVEN[distribution]
    assert_steps_aside(caplog, f"it was proven against {distribution} {proven}, and 9.9 is installed")


def test_it_steps_aside_where_it_is_not_compiled(monkeypatch, caplog):
    monkeypatch.setattr(installation, "MODULES", (*installation.MODULES, "no_such_module"))
    assert_steps_aside(caplog, "it is not compiled: install a C compiler (Debian: apt-get install gcc python3-dev) and the decoder again")


@needs_kernel
def test_it_steps_aside_when_an_element_differs(monkeypatch, caplog):
    from transforms.partition.pdf_kernel import pages

    monkeypatch.setattr(pages, "clean_extra_whitespace", lambda text: text.strip().replace("007", "008"))
    assert_steps_aside(caplog, "its self-test gave other elements of operators, fonts, vertical")


@needs_kernel
def test_it_steps_aside_when_it_fails(monkeypatch, caplog):
    from transforms.partition.pdf_kernel import pages

    def fail(*_):
        raise ZeroDivisionError("of the kernel")

    monkeypatch.setattr(pages, "run_operators", fail)
    assert_steps_aside(caplog, "its self-test failed (ZeroDivisionError: of the kernel)")


@pytest.mark.parametrize(("variable", "value"), [("UNIVERSAL_DECODER_EXACT_PDF", "1"), ("UNIVERSAL_DECODER_ACCELERATION", "off")])
def test_it_can_be_switched_off_without_a_warning(variable, value, monkeypatch, caplog):
    monkeypatch.setenv(variable, value)
    with caplog.at_level(logging.WARNING):
        assert str(pdf_kernel.install()) == f"off: switched off ({variable}={value})"
    assert caplog.records == []


def test_asking_whether_it_is_there_imports_neither_pdfminer_nor_unstructured():
    program = (
        "import sys; from transforms.partition import pdf_kernel; pdf_kernel.availability()\n"
        "print(sorted({'pdfminer', 'unstructured', 'spacy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"


@needs_kernel
def test_a_file_with_a_syntax_error_is_repaired_as_by_unstructured():
    from unstructured.partition import pdf

    content = b"BT /F1 12 Tf 50 700 Td (4711) Tj << /A >> (0815) Tj ET"
    data = self_test.page_pdf([content])

    def read():
        return [self_test.described(page) for page in pdf._process_pdfminer_pages(io.BytesIO(data), "", None)]

    try:
        expected = read()
    except Exception as error:
        expected = f"{type(error).__name__}: {error}"
    pdf_kernel.install()
    try:
        found = read()
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    assert found == expected


@needs_kernel
def test_blocks_of_pages_give_the_elements_of_single_pages():
    from unstructured.partition import pdf

    contents = [
        b"BT /F1 12 Tf 50 700 Td (It was a dark night, and %d dogs were barking at the moon.) Tj 0 -40 Td (Title) Tj ET" % number
        for number in range(35)
    ]
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count 35/Kids[%s]>>" % b" ".join(b"%d 0 R" % (4 + 2 * number) for number in range(35)),
        self_test.HELVETICA,
    ]
    for number, content in enumerate(contents):
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>/Contents %d 0 R>>" % (5 + 2 * number)
        )
        objects.append(self_test.stream(content))
    data = self_test.write_pdf(objects)
    expected = [self_test.described(page) for page in pdf._process_pdfminer_pages(io.BytesIO(data), "", None)]
    pdf_kernel.install()
    found = [self_test.described(page) for page in pdf._process_pdfminer_pages(io.BytesIO(data), "", None)]
    assert found == expected
    assert [[kind for kind, _, _ in page] for page in found] == [["NarrativeText", "Title"]] * 35


def test_an_installation_without_a_compiler_succeeds(tmp_path):
    pytest.importorskip("Cython")
    environment = {**os.environ, "CC": "/bin/false"}
    command = [sys.executable, "setup.py", "-q", "build", "--build-base", tmp_path / "build", "--build-lib", tmp_path / "lib"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "lib/transforms/partition/pdf_kernel/installation.py").exists()
    assert list((tmp_path / "lib").rglob("*.so")) == []
