"""unstructured as it came, to compare with, and the accelerated functions on the same language model."""

import pytest

from transforms.partition import nlp
from transforms.partition.acceleration import installation
from transforms.partition.acceleration.classification import Classifier


@pytest.fixture(scope="session")
def model():
    nlp.install_nlp()
    from unstructured.nlp import tokenize

    return tokenize._get_nlp()


@pytest.fixture(scope="session")
def classifier(model):
    return Classifier.of(model)


@pytest.fixture(autouse=True)
def _plain_unstructured(model):
    """Takes the accelerations out for a test: whoever tests them puts them in himself."""
    installation.restore()
    yield
    installation.restore()
    assert installation.accelerate(model).on
