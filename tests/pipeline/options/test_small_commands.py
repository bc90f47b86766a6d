import pytest

from pipeline.options.doctor import parse_doctor
from pipeline.options.report import parse_report
from pipeline.options.trace import TraceSettings, parse_trace
from transforms.errors import UsageError


def test_what_is_missing_is_named(sentence_of):
    assert sentence_of(parse_trace) == "ID and --output are missing: universal-decoder trace --help shows how to give them."


def test_an_option_of_another_command_is_refused_with_the_nearest(sentence_of):
    assert sentence_of(parse_doctor, "--jsn") == "--jsn is not an option of universal-decoder doctor: did you mean --json?"
    assert (
        sentence_of(parse_report, "out", "more") == "'more' belongs to no option: universal-decoder report --help shows what can be given."
    )


@pytest.mark.parametrize(
    "read", [lambda name: parse_report(["out", *name]), lambda name: parse_trace(["urn:page:1", "--output", "o", *name])]
)
def test_a_name_that_no_run_has_is_told_with_the_option_that_was_given(read):
    with pytest.raises(UsageError, match=r"^--run '\.\./x' cannot name a folder"):
        read(["--run", "../x"])


def test_trace_takes_an_iri_as_it_stands_in_n_quads():
    assert parse_trace(["<urn:page:1>", "--output", "o"]) == TraceSettings("urn:page:1", "o", None, False)
