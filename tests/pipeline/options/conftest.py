import pytest

from transforms.errors import UsageError


@pytest.fixture
def sentence_of():
    """What a parse function says to arguments that it refuses."""

    def refused(parse, *arguments):
        with pytest.raises(UsageError) as caught:
            parse(list(arguments))
        return caught.value.sentence

    return refused
