import os
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from transforms.references.listing import MissingInput, list_files


def write(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())


def names(folder: Path, pattern: str = "", exclude: str = "") -> list[str]:
    """URIs relative to the folder, a problem marked by a !."""
    prefix = f"{folder.as_uri()}/"
    listed = list_files(str(folder / pattern) if pattern else str(folder), exclude=exclude)
    return [("!" if reference.problem else "") + reference.uri.removeprefix(prefix) for reference in listed]


def test_a_folder_is_listed_to_its_depth_in_the_order_of_uris(tmp_path: Path) -> None:
    write(tmp_path, "b.txt", "a/z.txt", "a-b.txt", "a/a/a.txt", "a0.txt", ".hidden", ".config/x", "B.txt")
    listed = names(tmp_path)
    assert listed == [".config/x", ".hidden", "B.txt", "a-b.txt", "a/a/a.txt", "a/z.txt", "a0.txt", "b.txt"]
    uris = [reference.uri for reference in list_files(str(tmp_path))]
    assert uris == sorted(uris)


def test_order_is_that_of_the_encoded_names(tmp_path: Path) -> None:
    write(tmp_path, "é.txt", "z.txt", "a b", "a.b", "a", "0")
    listed = names(tmp_path)
    assert listed == ["%C3%A9.txt", "0", "a", "a%20b", "a.b", "z.txt"]
    assert listed == sorted(listed)


def test_size_and_version_are_those_of_the_file(tmp_path: Path) -> None:
    write(tmp_path, "abc")
    os.utime(tmp_path / "abc", ns=(5, 1_700_000_000_123_456_789))
    (reference,) = list_files(str(tmp_path / "abc"))
    assert (reference.uri, reference.size, reference.version) == ((tmp_path / "abc").as_uri(), 3, "3-1700000000123456789")


@pytest.mark.parametrize(
    ("name", "segment"),
    [
        (b"two words.pdf", "two%20words.pdf"),
        (b"50% #1?.pdf", "50%25%20%231%3F.pdf"),
        (b"line\nfeed\t.pdf", "line%0Afeed%09.pdf"),
        (b"[a]*.pdf", "%5Ba%5D%2A.pdf"),
        (b"%41.pdf", "%2541.pdf"),
        (b"caf\xe9.pdf", "caf%E9.pdf"),
        ("日本.pdf".encode(), "%E6%97%A5%E6%9C%AC.pdf"),
        (b"a;b:c\\d'e\".pdf", "a%3Bb%3Ac%5Cd%27e%22.pdf"),
        (b" ", "%20"),
    ],
)
def test_any_name_has_a_uri_and_is_found_by_it_again(tmp_path: Path, name: bytes, segment: str) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_bytes(b"1234")
    (by_folder,) = list_files(str(tmp_path))
    assert by_folder.uri == f"{tmp_path.as_uri()}/{segment}"
    assert by_folder.problem == ""
    assert list(list_files(by_folder.uri)) == [by_folder]
    assert list(list_files(os.path.join(tmp_path, os.fsdecode(name)))) == [by_folder]


def test_a_path_that_exists_is_no_glob(tmp_path: Path) -> None:
    write(tmp_path, "[ab].pdf", "a.pdf", "2024*/x.pdf", "2024-05/y.pdf")
    assert names(tmp_path, "[ab].pdf") == ["%5Bab%5D.pdf"]
    assert names(tmp_path, "2024*") == ["2024%2A/x.pdf"]
    assert names(tmp_path, "[a]*.pdf") == ["a.pdf"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.pdf", ["a.pdf", "é.pdf"]),
        ("?.pdf", ["a.pdf", "é.pdf"]),
        ("*/*.pdf", ["d/b.pdf", "e/b.pdf"]),
        ("**/*.pdf", ["a.pdf", "d/b.pdf", "d/e/c.pdf", "e/b.pdf", "é.pdf"]),
        ("**/e/*", ["d/e/c.pdf", "e/b.pdf"]),
        ("d/**", ["d/.h", "d/b.pdf", "d/e/c.pdf"]),
        ("**/**/c.pdf", ["d/e/c.pdf"]),
        ("[!d]/*", ["e/b.pdf"]),
        ("d/*", ["d/.h", "d/b.pdf"]),
        ("d*/**/e/**/c*", ["d/e/c.pdf"]),
    ],
)
def test_globs(tmp_path: Path, pattern: str, expected: list[str]) -> None:
    write(tmp_path, "a.pdf", "é.pdf", "a.txt", "d/b.pdf", "d/.h", "d/e/c.pdf", "e/b.pdf")
    assert names(tmp_path, pattern) == [
        name.replace("é", "%C3%A9") for name in sorted(expected, key=lambda name: name.replace("é", "%C3%A9"))
    ]


def test_nothing_found_is_a_sentence(tmp_path: Path) -> None:
    write(tmp_path, "d/a.txt")
    (tmp_path / "empty").mkdir()
    for pattern, sentence in {
        "none": f"There is no file or folder {tmp_path}/none.",
        "d/a.txt/b": f"There is no file or folder {tmp_path}/d/a.txt/b.",
        "empty": f"The folder {tmp_path}/empty holds no file to decode.",
        "*.txt": f"{tmp_path}/*.txt matches no file; * stays within one folder, ** goes into all folders below.",
        "**/*.pdf": f"{tmp_path}/**/*.pdf matches no file.",
        "none/*.pdf": f"The folder {tmp_path}/none cannot be listed: no such file or directory.",
    }.items():
        with pytest.raises(MissingInput) as caught:
            list(list_files(str(tmp_path / pattern)))
        assert caught.value.sentence == sentence
    for pattern, sentence in {
        "": "An empty path names no documents.",
        "a\0b": "'a\\x00b' is no path: it holds a NUL character.",
        "file://elsewhere/a": "file://elsewhere/a names the file of another host: use file:///, or a plain path.",
    }.items():
        with pytest.raises(MissingInput) as caught:
            list(list_files(pattern))
        assert caught.value.sentence == sentence


def test_what_is_no_file_is_explained_and_the_rest_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.txt", "z.txt")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "broken").symlink_to("nowhere")
    (tmp_path / "self").symlink_to("self")
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(tmp_path)  # a socket's path has at most 108 bytes
        listener.bind("socket")
        listed = list(list_files(str(tmp_path)))
    prefix = tmp_path.as_uri()
    assert [(reference.uri.removeprefix(prefix), reference.problem.removeprefix(prefix)) for reference in listed] == [
        ("/a.txt", ""),
        ("/broken", "/broken is a link whose file cannot be read: no such file or directory."),
        ("/pipe", "/pipe is a pipe, not a file."),
        ("/self", "/self is a link whose file cannot be read: too many levels of symbolic links."),
        ("/socket", "/socket is a socket, not a file."),
        ("/z.txt", ""),
    ]


def test_an_unreadable_folder_is_explained_and_the_rest_listed(
    open_folder: Path, not_root: Callable[[], AbstractContextManager[None]]
) -> None:
    write(open_folder, "a.txt", "closed/x.txt", "closed-too.txt", "z.txt")
    (open_folder / "closed").chmod(0)
    try:
        with not_root():
            listed = list(list_files(str(open_folder)))
            with pytest.raises(MissingInput) as caught:
                list(list_files(str(open_folder / "closed")))
    finally:
        (open_folder / "closed").chmod(0o755)
    prefix = open_folder.as_uri()
    assert [reference.uri.removeprefix(prefix) for reference in listed] == ["/a.txt", "/closed-too.txt", "/closed/", "/z.txt"]
    assert listed[2].problem == f"The folder {prefix}/closed/ cannot be listed, so its files are missing: permission denied."
    assert caught.value.sentence == f"The folder {open_folder}/closed cannot be listed: permission denied."


def test_a_folder_that_shows_names_only_has_a_problem_a_file(
    open_folder: Path, not_root: Callable[[], AbstractContextManager[None]]
) -> None:
    write(open_folder, "d/a.txt", "d/b.txt")
    (open_folder / "d").chmod(0o744)
    try:
        with not_root():
            listed = list(list_files(str(open_folder)))
    finally:
        (open_folder / "d").chmod(0o755)
    assert [reference.problem.rpartition(": ")[2] for reference in listed] == ["permission denied."] * 2


def test_circles_of_links_end_and_each_file_is_listed_once_by_its_own_name(tmp_path: Path) -> None:
    write(tmp_path, "2024/05/x.txt", "2024/06/y.txt")
    (tmp_path / "2024/06/up").symlink_to("../..")
    (tmp_path / "2024/here").symlink_to(".")
    (tmp_path / "a-latest").symlink_to("2024/06")
    assert names(tmp_path) == ["2024/05/x.txt", "2024/06/y.txt"]
    assert names(tmp_path, "**/y*") == ["2024/06/y.txt"]
    assert names(tmp_path, "*/*.txt") == ["a-latest/y.txt"]
    assert names(tmp_path, "a-latest") == ["a-latest/up/2024/05/x.txt", "a-latest/y.txt"]  # the link in it leads out of it


def test_a_link_out_of_the_tree_is_followed_once(tmp_path: Path) -> None:
    write(tmp_path, "in/a.txt", "out/b.txt", "out/deep/c.txt")
    (tmp_path / "in/one").symlink_to("../out")
    (tmp_path / "in/two").symlink_to("../out")
    (tmp_path / "out/back").symlink_to("../in")
    (tmp_path / "in/linked.txt").symlink_to("../out/b.txt")
    listed = [reference.uri.removeprefix(tmp_path.as_uri()) for reference in list_files(str(tmp_path / "in"))]
    assert listed == ["/in/a.txt", "/in/linked.txt", "/in/one/b.txt", "/in/one/deep/c.txt"]


def test_a_star_pattern_finds_what_is_behind_a_link_that_it_does_not_list_itself(tmp_path: Path) -> None:
    write(tmp_path, "archive/a.txt", "2024/b.txt")
    (tmp_path / "2024/more").symlink_to("../archive")
    assert names(tmp_path, "20*/**") == ["2024/b.txt", "2024/more/a.txt"]


def test_the_output_folder_is_no_input(tmp_path: Path) -> None:
    write(tmp_path, "a.txt", "out/runs/b.txt", "deep/out/c.txt", "z/d.txt")
    (tmp_path / "link").symlink_to(tmp_path / "out")
    for exclude in (str(tmp_path / "out"), (tmp_path / "out").as_uri(), f"{tmp_path}/z/../out/"):
        assert names(tmp_path, exclude=exclude) == ["a.txt", "deep/out/c.txt", "z/d.txt"]
        assert names(tmp_path, "**/*.txt", exclude=exclude) == ["a.txt", "deep/out/c.txt", "z/d.txt"]


def test_input_inside_of_the_output_folder_is_meant(tmp_path: Path) -> None:
    write(tmp_path, "in/in/a.txt", "b.txt", "runs/c.txt")
    assert names(tmp_path, "in", exclude=str(tmp_path)) == ["in/in/a.txt"]
    assert names(tmp_path, "*.txt", exclude=str(tmp_path)) == ["b.txt"]
    with pytest.raises(MissingInput) as caught:
        list(list_files(str(tmp_path), exclude=str(tmp_path)))
    assert caught.value.sentence == f"{tmp_path} is the job's own output folder: give the documents, or the output, a folder of their own."


def test_a_tree_deeper_than_the_recursion_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(1200):
        os.mkdir("d")
        os.chdir("d")
    Path("f").write_bytes(b"x")
    try:
        (reference,) = list_files(str(tmp_path))
        assert reference.uri == f"{tmp_path.as_uri()}/{'d/' * 1200}f"
        assert reference.size == 1
    finally:
        os.unlink("f")
        for _ in range(1200):
            os.chdir("..")
            os.rmdir("d")


def test_an_object_store_is_listed_by_name_with_its_pseudo_folders_left_out(store: Any) -> None:
    store.objects.update({"shelf://b/z.pdf": b"12", "shelf://b/a/x y#1.pdf": b"123", "shelf://b/a/": b"", "shelf://b/a/deep/c.txt": b""})
    listed = list(list_files("shelf://b"))
    assert [(reference.uri, reference.size, reference.version) for reference in listed] == [
        ("shelf://b/a/deep/c.txt", 0, "0-1700000000.500"),
        ("shelf://b/a/x y#1.pdf", 3, "3-1700000000.500"),
        ("shelf://b/z.pdf", 2, "2-1700000000.500"),
    ]


def test_patterns_on_an_object_store(store: Any) -> None:
    store.objects.update(
        {f"shelf://b/{name}": b"" for name in ("a.pdf", "d/b.pdf", "d/e/c.pdf", "[x].pdf", "x.pdf", "out/runs/a.pdf", "dd.pdf")}
    )

    def found(pattern: str, exclude: str = "") -> list[str]:
        return [reference.uri.removeprefix("shelf://b/") for reference in list_files(pattern, exclude=exclude)]

    assert found("shelf://b/[x].pdf") == ["[x].pdf"]
    assert found("shelf://b/[a]*.pdf") == ["a.pdf"]
    assert found("shelf://b/d") == found("shelf://b/d/") == ["d/b.pdf", "d/e/c.pdf"]
    assert found("shelf://b/**/*.pdf", exclude="shelf://b/out") == ["[x].pdf", "a.pdf", "d/b.pdf", "d/e/c.pdf", "dd.pdf", "x.pdf"]
    assert found("shelf://b/out/runs/*", exclude="shelf://b/out/") == ["out/runs/a.pdf"]
    for pattern, sentence in {
        "shelf://b/none*": "shelf://b/none* matches no file.",
        "nowhere://b/a": "nowhere://b/a: there is no file system for nowhere:// here: use a local path, or one of gs://, s3://,",
    }.items():
        with pytest.raises(MissingInput) as caught:
            list(list_files(pattern))
        assert caught.value.sentence.startswith(sentence)
