"""PROV-O for everything that the decoder makes: vocabulary, identifiers, triples, N-Quads."""
