from pipeline.options.doctor import parse_doctor
from pipeline.options.report import parse_report
from pipeline.options.trace import TraceSettings, parse_trace


def test_what_is_missing_is_named(sentence_of):
    assert sentence_of(parse_trace) == "ID and --output are missing: universal-decoder trace --help shows how to give them."


def test_an_option_of_another_command_is_refused_with_the_nearest(sentence_of):
    assert sentence_of(parse_doctor, "--jsn") == "--jsn is not an option of universal-decoder doctor: did you mean --json?"
    assert (
        sentence_of(parse_report, "out", "more") == "'more' belongs to no option: universal-decoder report --help shows what can be given."
    )


def test_trace_takes_an_iri_as_it_stands_in_n_quads():
    assert parse_trace(["<urn:page:1>", "--output", "o"]) == TraceSettings("urn:page:1", "o", None, False)
