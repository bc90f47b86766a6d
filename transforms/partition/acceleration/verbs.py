"""Whether a text has a verb, by spaCy's tagger over as few words as it takes.

unstructured (0.27.35) has spaCy tag every word of a text and parse its sentences (5.5 ms a paragraph), to ask whether one tag is a verb's.
Most texts have one among their first dozen words. Three things make the answer cheap, and none changes it:

1. *Windows.* The tagger sees a word through a convolutional network: 4 layers, each of which looks one word to the left and one to the
   right. So a word's tag is a function of that word and 4 on either side, and of nothing else: a window of 8 + 4 words has the tags of its
   first 8 exactly. The 4 is read from the model's own configuration, and its layers are checked against it (`_Layers`).
2. *Its own arithmetic.* The layers are the model's, multiplied by numpy (94 GFLOP/s here, one core, where thinc's blis has 31), for all
   windows of all texts together, and only where a later layer still looks. A word's embedding, which depends on the word alone, is made
   once by the model itself and kept.
3. *A margin.* Sums of floats in another order differ in their last digits (1e-5 of scores around 10), which could only matter where a
   verb's score and another tag's are as good as equal. Where they are closer than `MARGIN`, spaCy's own tagger is asked.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import IS_SPACE, NORM, ORTH, PREFIX, SHAPE, SPACY, SUFFIX

from transforms.partition.acceleration.words import Words

VERBS = frozenset(("VB", "VBG", "VBD", "VBN", "VBP", "VBZ"))
"""unstructured's POS_VERB_TAGS."""

MARGIN = 1e-3
"""Of scores; the largest difference between numpy's and spaCy's that was seen is 1e-5."""

FIRST_WINDOW = 8
LATER_WINDOW = 24
"""Words that a window decides. Two of three paragraphs have a verb in the first 8 words, and most of the rest in the next 24."""

BATCH = 128
"""Windows that are multiplied together: 128 of 16 rows of 288 floats are 2.4 MB, about the size of a core's cache."""

CHARACTERS_PER_WORD = 8
"""With the blank; an English word has 5 to 6, so that one cut is mostly enough."""

EMBEDDINGS = 16_384
"""Words whose embedding is kept, 384 bytes each: 6 MB."""

PIECES = 3
"""Linear pieces of each layer."""

_COLUMNS = ("NORM", "PREFIX", "SUFFIX", "SHAPE", "SPACY", "IS_SPACE")
"""What the model embeds a word by."""

_FEATURES = (NORM, PREFIX, SUFFIX, SHAPE, SPACY, IS_SPACE, ORTH)

Floats = NDArray[np.float32]
Features = NDArray[np.uint64]


class UnknownModelError(Exception):
    """The model is not built as this module takes for granted."""


class Verbs:
    """Answers `contains_verb` for a spaCy pipeline.

    Raises:
      UnknownModelError: its tagger is of another architecture.
    """

    def __init__(self, nlp: Any, words: Words) -> None:
        self._nlp = nlp
        self._words = words
        self._layers = _Layers(nlp)
        self._embeddings = _Embeddings(nlp)

    def contain_verb(self, texts: Sequence[str]) -> list[bool]:
        """For each text, whether spaCy's tagger calls one of its words a verb (a text all in capitals is read in lower case)."""
        answers = [False] * len(texts)
        searches = [_Search(number, self._words.limited(text.lower() if text.isupper() else text)) for number, text in enumerate(texts)]
        while searches:
            undecided: list[_Search] = []
            for first in range(0, len(searches), BATCH):
                for search, found in self._step(searches[first : first + BATCH]):
                    if found is None:
                        undecided.append(search)
                    else:
                        answers[search.number] = found
            searches = undecided
        return answers

    def scores(self, text: str) -> Floats:
        """The scores of all tags for each word of a text, (words, tags), by windows of varying size: for comparison with spaCy's own."""
        search = _Search(0, text)
        rows = [np.zeros((0, self._layers.tags), np.float32)]
        for size in itertools.cycle((FIRST_WINDOW, LATER_WINDOW)):
            self._read(search, search.position + size + self._layers.reach)
            size = min(size, search.known(self._layers.reach) - search.position)
            if not size:
                return np.concatenate(rows)
            rows.append(self._layers.scores(self._window([search], [size]))[0])
            search.position += size
        raise AssertionError

    def _step(self, searches: Sequence["_Search"]) -> Iterator[tuple["_Search", bool | None]]:
        """Looks at the next window of each text: there is a verb, there is none, or None where the text goes on."""
        sizes: list[int] = []
        for search in searches:
            size = FIRST_WINDOW if search.position == 0 else LATER_WINDOW
            self._read(search, search.position + size + self._layers.reach)
            sizes.append(min(size, search.known(self._layers.reach) - search.position))
        verbs, unsure = self._layers.verbs(self._window(searches, sizes))
        decided = np.arange(verbs.shape[1]) < np.array(sizes)[:, None]
        found: list[bool] = np.any(verbs & ~unsure & decided, axis=1).tolist()
        doubtful: list[bool] = np.any(unsure & decided, axis=1).tolist()
        for search, size, is_found, is_doubtful in zip(searches, sizes, found, doubtful, strict=True):
            search.position += size
            if is_found:
                yield search, True
            elif is_doubtful:
                yield search, self._ask_spacy(search.text)
            else:
                yield search, False if search.is_over else None

    def _read(self, search: "_Search", words: int) -> None:
        """Tokenizes so much of a text that at least so many words are there."""
        while not search.whole and len(search.features) < words:
            search.characters = max(words * CHARACTERS_PER_WORD, 2 * search.characters)
            doc, search.whole = self._words.first_tokens(search.text, search.characters)
            search.features = doc.to_array(_FEATURES).reshape(-1, len(_FEATURES))

    def _window(self, searches: Sequence["_Search"], sizes: Sequence[int]) -> Floats:
        """The embeddings of each window and of what its tags depend on: (windows, reach + words + reach, width); zeros beyond a text.

        The model itself pads a text with zeros, as many as its layers reach.
        """
        reach = self._layers.reach
        pieces = [
            search.features[max(0, search.position - reach) : search.position + size + reach]
            for search, size in zip(searches, sizes, strict=True)
        ]
        numbers = self._embeddings.numbers(np.concatenate(pieces))
        places = np.zeros((len(searches), max(sizes) + 2 * reach), np.intp)
        taken = 0
        for row, search, piece in zip(places, searches, pieces, strict=True):
            offset = max(0, reach - search.position)
            row[offset : offset + len(piece)] = numbers[taken : taken + len(piece)]
            taken += len(piece)
        return self._embeddings.table[places]

    def _ask_spacy(self, text: str) -> bool:
        doc = self._words.tokens(text)
        for name in ("tok2vec", "tagger"):
            doc = self._nlp.get_pipe(name)(doc)
        return any(token.tag_ in VERBS for token in doc)


@dataclass
class _Search:
    """How far one text has been looked through."""

    number: int
    text: str
    features: Features = field(default_factory=lambda: np.zeros((0, len(_FEATURES)), np.uint64))
    """Of the words that were tokenized so far."""
    whole: bool = False
    characters: int = 0
    position: int = 0

    def known(self, reach: int) -> int:
        """Words whose tags the words tokenized so far settle."""
        return len(self.features) if self.whole else max(self.position, len(self.features) - reach)

    @property
    def is_over(self) -> bool:
        """Whether there is no word left."""
        return self.whole and self.position == len(self.features)


class _Embeddings:
    """The first part of the model, which depends on a word alone: on its norm, prefix, suffix and shape, and whether a blank follows."""

    def __init__(self, nlp: Any) -> None:
        embed = nlp.get_pipe("tok2vec").model.layers[0]
        extract, _, self._hashes, self._mix, _ = embed.layers
        if extract.attrs["columns"] != [*_COLUMNS]:
            raise UnknownModelError(f"words are embedded by {extract.attrs['columns']}")
        self._width = embed.get_dim("nO")
        self._forget()

    def _forget(self) -> None:
        self._numbers: dict[int, int] = {}
        self.table: Floats = np.zeros((EMBEDDINGS // 16, self._width), np.float32)
        """An embedding a row; row 0 stands for no word."""

    def numbers(self, features: Features) -> NDArray[np.intp]:
        """For each word its row of `table`, until the next call."""
        if len(self._numbers) > EMBEDDINGS:
            self._forget()
        # A word's features follow from its text, its norm (special cases have one of their own) and the blank; the first two are 64-bit
        # hashes for spaCy, too, which takes two words of the same hash for one.
        keys = (features[:, 6] * np.uint64(0x9E3779B97F4A7C15)) ^ (features[:, 0] * np.uint64(0xC2B2AE3D27D4EB4F)) ^ features[:, 4]
        unique, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        known = self._numbers
        rows = [known.get(key, 0) for key in unique.tolist()]
        missing = [place for place, row in enumerate(rows) if not row]
        if missing:
            made = self._mix.predict(self._hashes.predict(features[first[missing], :6]))
            start = len(known) + 1
            while start + len(missing) > len(self.table):
                self.table = np.concatenate([self.table, np.zeros_like(self.table)])
            self.table[start : start + len(missing)] = made
            for row, place in enumerate(missing, start=start):
                rows[place] = known[int(unique[place])] = row
        return np.array(rows, np.intp)[inverse]


class _Layers:
    """The layers from the embeddings to the tags, with the model's own weights."""

    def __init__(self, nlp: Any) -> None:
        components = nlp.config["components"]
        tok2vec, tagger = nlp.get_pipe("tok2vec").model, nlp.get_pipe("tagger")
        encode = components["tok2vec"]["model"]["encode"]
        listener = components["tagger"]["model"]["tok2vec"]
        if (encode["@architectures"], encode["window_size"], listener["@architectures"]) != (
            "spacy.MaxoutWindowEncoder.v2",
            1,
            "spacy.Tok2VecListener.v1",
        ):
            raise UnknownModelError(f"the tagger is built on {encode['@architectures']}")
        self.reach: int = encode["depth"] * encode["window_size"]
        blocks = [block for block in tok2vec.layers[1].walk() if block.name.startswith("residual(") and ">>residual" not in block.name]
        if len(blocks) != encode["depth"] or tok2vec.layers[1].attrs["pad"] != self.reach:
            raise UnknownModelError(f"its network has {len(blocks)} layers and a padding of {tok2vec.layers[1].attrs['pad']}")
        self._convolutions = [_Convolution.of(block) for block in blocks]
        softmax = tagger.model.layers[-1].layers[0]
        self._weights = np.ascontiguousarray(softmax.get_param("W").T)
        self._bias = softmax.get_param("b")
        is_verb = np.array([label in VERBS for label in tagger.labels])
        self._verbs, self._others = np.flatnonzero(is_verb), np.flatnonzero(~is_verb)
        self.tags = len(is_verb)

    def scores(self, embeddings: Floats) -> Floats:
        """The scores of all tags, (windows, words, tags), for embeddings of (windows, reach + words + reach, width)."""
        for convolution in self._convolutions:
            embeddings = convolution(embeddings)
        scores: Floats = embeddings @ self._weights + self._bias
        return scores

    def verbs(self, embeddings: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """For each word of each window, whether its best tag is a verb's, and whether the next best is too close to say so."""
        scores = self.scores(embeddings)
        lead = scores[..., self._verbs].max(axis=-1) - scores[..., self._others].max(axis=-1)
        return lead > 0, np.abs(lead) < MARGIN


@dataclass(frozen=True)
class _Convolution:
    """One layer: a word and its neighbours, three linear pieces of which the largest counts, normalised, and added to the word."""

    weights: Floats
    """(3 · width, pieces · width)"""
    bias: Floats
    scale: Floats
    shift: Floats

    @classmethod
    def of(cls, block: Any) -> "_Convolution":
        nodes = {node.name: node for node in block.walk()}
        maxout, norm = nodes["maxout"], nodes["layernorm"]
        if "expand_window" not in nodes or maxout.get_dim("nI") != 3 * maxout.get_dim("nO") or maxout.get_dim("nP") != PIECES:
            raise UnknownModelError(f"a layer of its network is {block.name}")
        width = maxout.get_dim("nO")
        weights = np.ascontiguousarray(maxout.get_param("W").transpose(2, 1, 0).reshape(3 * width, PIECES * width))
        bias = np.ascontiguousarray(maxout.get_param("b").T.reshape(PIECES * width))
        return cls(weights, bias, norm.get_param("G"), norm.get_param("b"))

    def __call__(self, rows: Floats) -> Floats:
        """(windows, words, width) to (windows, words - 2, width)."""
        neighbourhood = np.concatenate([rows[:, :-2], rows[:, 1:-1], rows[:, 2:]], axis=2)
        windows, words, triple = neighbourhood.shape
        width = triple // 3
        pieces = neighbourhood.reshape(-1, triple) @ self.weights
        pieces += self.bias
        best = np.maximum(pieces[:, :width], pieces[:, width : 2 * width])
        np.maximum(best, pieces[:, 2 * width :], out=best)
        best -= best.mean(axis=1, keepdims=True)
        variance = np.einsum("ij,ij->i", best, best)[:, None] / width + np.float32(1e-8)
        best *= variance ** np.float32(-0.5)
        best *= self.scale
        best += self.shift
        return best.reshape(windows, words, width) + rows[:, 1:-1]
