"""A short mutation run: a long one is `make fuzz`."""

import mutations
import seeds


def test_broken_documents_of_all_formats_end_as_they_should(tmp_path):
    library = tmp_path / "library"
    library.mkdir()
    usual = [(name, data) for name, data in seeds.seeds() if not mutations._is_slow(name, data)]
    origins = mutations.make_documents(library, 60, 20260131, usual)
    run = mutations.run_job(library, tmp_path, "--document-timeout", "120")
    assert mutations.broken_promises(run, list(origins)) == []
    assert mutations.unexplained(run) == []


def test_the_same_seed_makes_the_same_documents(tmp_path):
    found = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        mutations.make_documents(folder, 20, 5, [("a.txt", b"one two three"), ("b.csv", b"a,b\n1,2\n")])
        found.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert found[0] == found[1]
    assert len(found[0]) == 20
