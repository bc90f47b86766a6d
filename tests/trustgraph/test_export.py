import json
import subprocess
import sys

import pyoxigraph as ox
import pytest
from handmade_run import TEXT, decode, make_run, paragraphs, publish

from pipeline import cli
from transforms.model import Element
from transforms.trustgraph.export import Export, export, msgpack, trig_statement
from transforms.trustgraph.run_documents import shards_of
from transforms.trustgraph.wire import triple_from_line


def exported(run, to, form, **options):
    return export(Export(str(run.output), str(to), form, **options), shards_of(run.manifest, str(run.folder)))


def statements(paths, form):
    return {statement for path in paths for statement in ox.parse(path.read_bytes(), format=form)}


def test_trig_holds_the_quads_of_the_run(tmp_path):
    run = make_run(tmp_path, 12)
    done = exported(run, tmp_path / "to", "trig")
    files = sorted((tmp_path / "to").glob("*.trig"))
    found = statements(files, ox.RdfFormat.TRIG)
    wanted = set(ox.parse(b"".join(run.quads()), format=ox.RdfFormat.N_QUADS))
    assert found == wanted
    assert {str(quad.graph_name) for quad in found} == {"<urn:graph:source>"}
    assert (done.files, done.documents, done.quads) == (len(files), 14, len(run.quads()))
    script = (tmp_path / "to" / "load.sh").read_text()
    assert [line.split()[-1] for line in script.splitlines() if line.startswith("tg-load-knowledge")] == [file.name for file in files]


def test_a_trig_file_is_of_one_collection_and_of_a_size_that_can_be_parsed(tmp_path):
    library = tmp_path / "library"
    groups = [
        [decode(library / f"{n}.txt", b"%d" % n, paragraphs(1), TEXT, collection="law & order" if n % 3 else "art")] for n in range(9)
    ]
    run = publish(tmp_path / "decoded", groups, shards=1)
    each = len(run.quads()) // 9
    exported(run, tmp_path / "to", "trig", quads_a_file=2 * each)
    sizes = {file.name: file.read_bytes().count(b"\n") - 2 for file in (tmp_path / "to").glob("*.trig")}
    assert sorted(sizes.values()) == [each, *[2 * each] * 4]  # 3 of art, 6 of the other
    named = {}
    for line in (tmp_path / "to" / "load.sh").read_text().splitlines():
        if line.startswith("tg-load-knowledge"):
            named[line.split()[-1]] = "art" if "-C art " in line else "law" if "-C 'law & order' " in line else line
    assert sorted(named) == sorted(sizes)
    assert sorted(named.values()) == ["art", "art", "law", "law", "law"]


def test_a_quad_of_another_graph_is_not_smuggled_in():
    with pytest.raises(ValueError, match="not a quad of urn:graph:source"):
        trig_statement(b"<urn:a> <urn:b> <urn:c> <urn:d> .\n")


def test_json_lines_are_the_messages_of_the_import_socket(tmp_path):
    run = make_run(tmp_path, 12)
    done = exported(run, tmp_path / "to", "jsonl")
    messages = [json.loads(line) for file in sorted((tmp_path / "to").iterdir()) for line in file.read_text().splitlines()]
    assert [triple for message in messages for triple in message["triples"]] == [triple_from_line(line) for line in run.quads()]
    assert {message["metadata"]["collection"] for message in messages} == {"default"}
    assert {message["metadata"]["root"] for message in messages} == {row["document_id"] for row in run.rows("documents")}
    assert done.documents == 14


@pytest.mark.parametrize(
    ("value", "head"),
    [
        ("", b"\xa0"),
        ("ü", b"\xa2\xc3\xbc"),
        ("a" * 31, b"\xbf" + b"a" * 31),
        ("a" * 32, b"\xd9\x20" + b"a" * 32),
        ("a" * 256, b"\xda\x01\x00" + b"a" * 256),
        ("a" * 65536, b"\xdb\x00\x01\x00\x00" + b"a" * 65536),
        ([], b"\x90"),
        (["a"] * 16, b"\xdc\x00\x10" + b"\xa1a" * 16),
        ([""] * 65536, b"\xdd\x00\x01\x00\x00" + b"\xa0" * 65536),
        ({"a": ["b"]}, b"\x81\xa1a\x91\xa1b"),
    ],
)
def test_message_pack_is_as_its_specification_has_it(value, head):
    assert msgpack(value) == head


def test_a_knowledge_core_holds_nothing_else_than_texts_lists_and_dictionaries():
    with pytest.raises(TypeError, match="a knowledge core holds no int"):
        msgpack({"a": 1})


def test_what_is_too_large_or_gone_is_left_out_with_all_below_it_and_told(tmp_path):
    library = tmp_path / "library"
    big = decode(library / "big.txt", b"big", paragraphs(100), TEXT)
    gone = decode(library / "gone.txt", b"gone", paragraphs(1), TEXT)
    run = publish(tmp_path / "decoded", [[big], [gone]])
    (library / "gone.txt").unlink()
    done = exported(run, tmp_path / "to", "kg-core", largest=32_000)
    letters = {letter["id"]: letter["message"] for letter in map(json.loads, (tmp_path / "to" / "left_out.jsonl").read_text().splitlines())}
    size = len(big.texts[0].text.encode())
    assert letters[big.texts[0].id].startswith(f"{big.texts[0].id} has {size} bytes, {-(-size // 3) * 4} as base64, over the 0 MiB")
    assert letters[gone.document_id].endswith("gone.txt: no such file or directory.")
    assert (done.left_out, done.documents, done.library_documents, done.files) == (2, 2, 2, 2)


def test_the_command_says_what_it_wrote_and_what_does_not_work_upstream(tmp_path, capsys):
    run = make_run(tmp_path, 6)
    assert cli.main(["export", str(run.folder), "--format", "kg-core", "--to", str(tmp_path / "cores")]) == 0
    told = capsys.readouterr().out
    assert f"Run first: 7 documents, {len(run.quads())} quads, 18 documents of the library in 7 files" in told
    assert "Knowledge cores with triples are broken in TrustGraph 2.10.0 to 2.11.1" in told
    assert f"sh {tmp_path / 'cores'}/load.sh" in told
    assert "broken in TrustGraph 2.10.0 to 2.11.1" in (tmp_path / "cores" / "load.sh").read_text()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--to", "x"], "--format is missing: universal-decoder export --help shows how to give them."),
        (["--format", "trigg", "--to", "x"], "--format 'trigg' is not known: use trig, kg-core or jsonl (did you mean trig?)."),
    ],
)
def test_mistakes_are_sentences(arguments, sentence, tmp_path, capsys):
    assert cli.main(["export", str(tmp_path), *arguments]) == 2
    assert capsys.readouterr().err == f"universal-decoder: {sentence}\n"


def test_an_output_or_a_run_in_it_can_be_named(tmp_path, capsys):
    run = make_run(tmp_path, 1)
    for number, place in enumerate((run.output, run.folder, f"{run.folder}/")):
        assert cli.main(["export", str(place), "--format", "jsonl", "--to", str(tmp_path / str(number))]) == 0
    assert cli.main(["export", str(run.output / "runs" / "other"), "--format", "jsonl", "--to", str(tmp_path / "x")]) == 2
    assert "holds no finished run other: the newest is first." in capsys.readouterr().err


def test_memory_does_not_grow_with_the_run(tmp_path):
    """In a process of its own, as its peak is what counts: one row group of texts (see `dataset.ROW_GROUP_BYTES`), and four.

    Allocators keep what they were given back: 1,620 documents peaked 32 to 67 MB over 270, and no more than 810 did. A run that were
    held would add the texts of three row groups, 200 MB, to the peak of one.
    """

    def peak(count):
        library = tmp_path / str(count) / "library"
        text = Element("NarrativeText", "Lenses bend light. " * 13_000, element_id="long")
        groups = [[decode(library / f"{n}.txt", b"%d" % n, (text,), TEXT)] for n in range(count)]
        run = publish(tmp_path / str(count) / "decoded", groups, shards=1)
        program = (
            "import sys; from pathlib import Path; from pipeline.cli import main; code = main(sys.argv[1:]);"
            "print(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0], code)"
        )
        arguments = ["export", str(run.output), "--format", "kg-core", "--to", str(tmp_path / str(count) / "to")]
        done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
        size, code = done.stdout.splitlines()[-1].split()
        assert code == "0"
        return int(size)

    one, four = peak(270), peak(1080)
    assert four < one + 130_000, f"{one:,} KiB for 270 documents, {four:,} KiB for 1,080"
