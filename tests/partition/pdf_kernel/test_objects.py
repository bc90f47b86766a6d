import io

import pytest
from examples import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pdfminer.cmapdb import CMapParser, FileUnicodeMap
from pdfminer.pdfparser import PDFStreamParser
from pdfminer.psparser import PSEOF, PSStackParser

objects = pytest.importorskip("transforms.partition.pdf_kernel.objects", reason="the PDF kernel is not compiled")

FRAGMENTS = (
    rb"( ) < > << >> [ ] / # % \ { } 1 0 R 12 -1.5 /Name (text) <0041> true null endobj obj stream endstream xref def "
    rb"<< /A 1 /B [ 2 3 ] >> << /A >> [ << /X null /Y 7 >> ] { 1 2 } ] >> } (a\(b\)) \101 #41"
).split()
FRAGMENTS += [b"\r\n", b"\x00", b"\\\r\n", b" " * 700, b"x" * 900, b"(" + b"y" * 1500 + b")"]
BLANKS = st.sampled_from([b" ", b"\n", b""])
texts = st.lists(st.tuples(st.sampled_from(FRAGMENTS), BLANKS), max_size=60).map(lambda pairs: b"".join(map(b"".join, pairs)))


class Stack(PSStackParser):
    def do_keyword(self, pos, token):
        self.push((pos, token))

    def flush(self):
        self.add_results(*self.popall())


class KernelStack(Stack):
    nexttoken = objects.next_token
    nextobject = objects.next_object


class KernelStreamParser(PDFStreamParser):
    nexttoken = objects.next_token
    nextobject = objects.next_object


class KernelCMapParser(CMapParser):
    nexttoken = objects.next_token
    nextobject = objects.next_object


def read_all(parser, method):
    found = []
    try:
        while len(found) < 10_000:
            found.append(repr(getattr(parser, method)()))
    except PSEOF:
        found.append("end")
    except Exception as error:
        found.append(f"{type(error).__name__}: {error}")
    return found


@settings(max_examples=examples(500), deadline=None)
@given(texts)
@example(b"<</Root 1 0 R/ID[<aa><bb>]>>")
@example(b"<< /A 1 /B >>")
@example(b"[ 1 >> ] } { 2 } << /A null >>")
@example(b"(" + b"a" * 5000 + b") 1")
@example(b" " * 4094 + b"12 34")
@example(b" " * 4093 + b"(\\\r\n)")
@example(b"")
def test_tokens_and_objects_are_pdfminer_s(data):
    assert read_all(KernelStack(io.BytesIO(data)), "nexttoken") == read_all(Stack(io.BytesIO(data)), "nexttoken")
    assert read_all(KernelStack(io.BytesIO(data)), "nextobject") == read_all(Stack(io.BytesIO(data)), "nextobject")


@settings(max_examples=examples(300), deadline=None)
@given(texts)
@example(b"1 0 R")
@example(b"R")
def test_objects_of_an_object_stream_are_pdfminer_s(data):
    assert read_all(KernelStreamParser(data), "nextobject") == read_all(PDFStreamParser(data), "nextobject")


MAPS = (
    rb"begincmap endcmap beginbfchar endbfchar beginbfrange endbfrange begincidrange endcidrange begincidchar endcidchar usecmap def "
    rb"/A /Identity-H /CMapName 1 (x) <00> <0041> <ff> <00410042> <d83dde00> <g>"
).split()
MAPS += [b"[<0041> <0042>]"]


@settings(max_examples=examples(500), deadline=None)
@given(st.lists(st.sampled_from(MAPS), max_size=40).map(b" ".join))
@example(b"beginbfchar <0001> <0041> endbfchar beginbfrange <0002> <0005> <0042> <0006> <0007> [<0061> <0062>] endbfrange")
@example(b"beginbfrange <00> <ff> 1 endbfrange")
def test_character_maps_are_pdfminer_s(data):
    def read(parser_class):
        found = FileUnicodeMap()
        try:
            parser_class(found, io.BytesIO(data)).run()
        except Exception as error:
            return f"{type(error).__name__}: {error}", found.cid2unichr, found.attrs
        return "", found.cid2unichr, found.attrs

    assert repr(read(KernelCMapParser)) == repr(read(CMapParser))


def test_reading_goes_on_after_a_seek():
    data = b"1 2 3 (four) /Five\n" * 600
    found, expected = KernelStack(io.BytesIO(data)), Stack(io.BytesIO(data))
    for place in (0, 7000, 12, 4094, 11_000, 0):
        found.seek(place)
        expected.seek(place)
        assert [found.nexttoken() for _ in range(40)] == [expected.nexttoken() for _ in range(40)]
        assert found.nextobject() == expected.nextobject()
        assert found.nextline() == expected.nextline()
