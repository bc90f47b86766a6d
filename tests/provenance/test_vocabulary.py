from transforms.provenance import vocabulary


def test_every_iri_stands_there_once():
    iris = [value for name, value in vars(vocabulary).items() if name.isupper() and isinstance(value, str) and not name.endswith("_LABEL")]

    assert len(set(iris)) == len(iris)


def test_the_added_terms_are_trustgraphs_namespace_and_explained():
    assert all(iri.startswith("https://trustgraph.ai/ns/") for iri in vocabulary.ADDED_TERMS)
    assert {"Section", "Image", "elementTypes", "tableCount", "imageCount"} <= {iri.rsplit("/")[-1] for iri in vocabulary.ADDED_TERMS}
    assert all(
        meaning.startswith(("Class: ", "String: ", "xsd:integer: ")) and meaning.endswith(".")
        for meaning in vocabulary.ADDED_TERMS.values()
    )
