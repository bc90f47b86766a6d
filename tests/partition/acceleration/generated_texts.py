"""Texts of many kinds, for hypothesis: what a classifier, a tokenizer or a language detector could trip over."""

from hypothesis import strategies as st

WORDS = """
The company said it will pay a dividend of the annual report and its subsidiaries were sold last year running quickly
RISK FACTORS ITEM 1A. REVENUE Quarterly Report On Form Chief Executive Officer McDonald iPhone NASA eBay
Die Gesellschaft hat im Geschäftsjahr Straße größer ÄNDERUNG le président a été élu à l’assemblée ŒUVRE
Компания объявила ПРИБЫЛЬ 東京都は日本の首都です 회사는 배당금을 שלום עולם مرحبا بالعالم नमस्ते ελληνικά ΑΘΗΝΑ ǅungla ǆ
a.m. U.S. e.g. don't can't o'clock cannot gonna :-) :) (-: ;D <3 C++ y'all 'Cause dont im Mr. Ph.D. vs.
1 12 3.14 1,000 $5.00 45% ½ ² Ⅳ ٣ 2024-01-31 10:30 (a) (1) 1. 1.2.3 - – — … . .. ... , ; : ! ? " « » “ ” # @ & * / \\ | _ ~
😀 👩‍👩‍👧 ✓ • ● ▪ © ™ Ⓐ ﬁ ß ı İ ŉ a@b.org http://x.org/y?z=1 www.example.com end.Next one/two co-operate x=1 a,b
"""

PIECES = (*WORDS.split(), "word " * 40, "WORD " * 30, "It rains. It pours. ")

SPACES = ("", " ", " ", " ", " ", "  ", "\n", "\t", "\u00a0", "\u2003", "\r\n", ". ", ", ", "\x1c")

texts = st.one_of(
    st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(SPACES)), max_size=40).map(lambda parts: "".join(a + b for a, b in parts)),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=16).map(" ".join),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=12).map(lambda parts: " ".join(parts).upper()),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=12).map(lambda parts: " ".join(parts).title()),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
)
"""Without lone surrogates: spaCy takes none, and unstructured cannot make an identifier of them."""
