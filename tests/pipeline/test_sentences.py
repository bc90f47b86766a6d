import pytest

from pipeline.sentences import nearest


@pytest.mark.parametrize(("word", "found"), [("--section_strategy", "--section-strategy"), ("--ouput", "--output"), ("--zzz", "")])
def test_nearest(word, found):
    assert nearest(word, ["--output", "--section-strategy"]) == found
