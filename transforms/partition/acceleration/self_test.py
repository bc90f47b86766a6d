"""Compares the accelerated functions with the original ones on a few texts, before they take their place: 0.15 s, once a zygote."""

from typing import Any

import numpy as np
from langdetect import DetectorFactory, LangDetectException, detect_langs
from unstructured.partition import text_type

from transforms.partition.acceleration import languages
from transforms.partition.acceleration.classification import Classifier
from transforms.partition.acceleration.verbs import MARGIN

TEXTS = (
    "",
    "Risk Factors",
    "ITEM 1A. RISK FACTORS. THE COMPANY IS EXPOSED TO RISKS.",
    "The quick brown fox jumps over the lazy dog near the river bank.",
    "In the third quarter of the year, after a long, cold and unusually wet summer in the north of the country, prices rose.",
    "Annual Report On Form 10-K For The Fiscal Year. Commission File Number One Of Many.",
    "Prix de vente conseillé: 12,50 €. Les commandes sont expédiées sous 48 heures.",
    "東京都は日本の首都です。人口は約1400万人です。",
    "- 1.2.3 ... 45 %",
    "John Smith. Jane Doe. CEO and CFO, acting.",
)
"""Titles, narratives, capitals, two sentences, other scripts, nothing."""

FLOAT_NOISE = MARGIN / 10
"""Largest difference of scores that leaves the margin of `verbs` a margin."""


def find_difference(nlp: Any, classifier: Classifier) -> str:
    """A sentence on the first difference, or nothing. The functions of `text_type` must still be the original ones."""
    if not _is_batching_exact(nlp):
        return "On this machine spaCy gives texts that it reads together other numbers than texts that it reads alone."
    for text in TEXTS:
        if text and not _are_scores_equal(nlp, classifier, text):
            return f"The tagger's scores differ from spaCy's for {text!r}."
        for name in ("contains_verb", "exceeds_cap_ratio", "is_possible_narrative_text", "is_possible_title"):
            if getattr(classifier, name)(text) != getattr(text_type, name)(text):
                return f"{name} differs from unstructured's for {text!r}."
        if _languages(languages.detect_langs, text) != _languages(detect_langs, text):
            return f"The language differs from langdetect's for {text!r}."
    return ""


def _is_batching_exact(nlp: Any) -> bool:
    """Whether a text's vectors are the same bits alone and among others: so it is with thinc's blis, whose sums of a row do not depend on
    the number of rows. Sentence boundaries rest on it, as the parser's choices leave no trace of how close they were."""
    model = nlp.get_pipe("tok2vec").model
    docs = [nlp.make_doc(text) for text in TEXTS if text]
    return all(
        np.array_equal(alone, together)
        for alone, together in zip([model.predict([doc])[0] for doc in docs], model.predict(docs), strict=True)
    )


def _are_scores_equal(nlp: Any, classifier: Classifier, text: str) -> bool:
    doc = nlp.get_pipe("tok2vec")(nlp.make_doc(text))
    expected = nlp.get_pipe("tagger").model.predict([doc])[0]
    found = classifier.verbs.scores(text)
    return found.shape == expected.shape and float(np.abs(found - expected).max()) < FLOAT_NOISE


def _languages(detect: Any, text: str) -> Any:
    DetectorFactory.seed = 0
    try:
        return [(language.lang, language.prob) for language in detect(text)]
    except LangDetectException as error:
        return str(error)
