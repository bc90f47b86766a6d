import codecs

import pytest

from transforms.model import DecodeError, Status
from transforms.partition.text_encoding import decode_text, looks_like_text

TEXT = "Grüße aus München: 12 € für den Käse.\nZweite Zeile.\n"
LATIN = "Plain letters, nothing else at all.\nAnd a second line.\n"


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (TEXT.encode("utf-8"), "utf-8"),
        (codecs.BOM_UTF8 + TEXT.encode("utf-8"), "utf-8-sig"),
        (TEXT.encode("utf-16"), "utf-16"),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), "utf-16"),
        (TEXT.encode("utf-32"), "utf-32"),
        (TEXT.encode("utf-16-le"), "utf-16-le"),
        (TEXT.encode("utf-16-be"), "utf-16-be"),
        (TEXT.encode("utf-32-le"), "utf-32-le"),
        (TEXT.encode("utf-32-be"), "utf-32-be"),
    ],
)
def test_unicode_is_read_with_and_without_a_mark(data, encoding):
    decoded = decode_text(data)
    assert (decoded.text, decoded.encoding, decoded.guessed) == (TEXT, encoding, False)


def test_the_declared_charset_is_used_and_iso_8859_1_means_its_windows_superset():
    decoded = decode_text("12 € für Käse".encode("cp1252"), 'text/plain; charset="ISO-8859-1"')
    assert (decoded.text, decoded.encoding, decoded.guessed) == ("12 € für Käse", "cp1252", False)


def test_a_charset_with_a_direction_is_known():
    hebrew = "שלום עולם"
    assert decode_text(hebrew.encode("iso-8859-8"), "text/plain; charset=iso-8859-8-i").text == hebrew


def test_the_charset_of_a_page_itself_is_used():
    page = '<meta charset="koi8-r"><p>Привет, мир</p>'
    decoded = decode_text(page.encode("koi8-r"))
    assert (decoded.text, decoded.encoding, decoded.guessed) == (page, "koi8-r", False)


def test_what_nothing_declares_is_guessed_and_says_so():
    decoded = decode_text(TEXT.replace("€", "Euro").encode("cp1252"))
    assert (decoded.text, decoded.encoding, decoded.guessed) == (TEXT.replace("€", "Euro"), "cp1252", True)


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "Müller und Söhne, Café, naïve"),
        ("cp1252", "Kvinden købte æbler og pærer på torvet. Hun gik derefter over broen til øen, hvor hun har boet i mange år."),
        ("cp1252", "Die schöne Frau: köstlich! L'été était très chaud cette année. El niño comió paella con ñoquis."),
        ("cp1250", "Včeraj je vlada sprejela nov zakon, ki naj bi izboljšal življenje v mestih. Župan je dejal, da je to zelo pomembno."),
        ("cp1250", "Zażółć gęślą jaźń. Święto odbyło się w małej miejscowości pod Łodzią, gdzie mieszkańcy żyją od pokoleń."),
        ("cp1251", "Вчера правительство одобрило законопроект, который должен улучшить жизнь в городах."),
        ("cp1253", "Χθες η κυβέρνηση ενέκρινε το νομοσχέδιο που θα βελτιώσει τη ζωή στις πόλεις."),
        ("cp1254", "Dün hükümet, şehirlerdeki yaşamı iyileştirmesi gereken yasa tasarısını onayladı."),
    ],
)
def test_of_code_pages_that_read_equally_well_the_western_one_is_taken_and_else_the_better(encoding, text):
    assert decode_text(text.encode(encoding)).text == text


def test_utf8_wins_over_a_wrong_declaration():
    assert decode_text(TEXT.encode("utf-8"), "text/plain; charset=iso-8859-1").text == TEXT


def test_bytes_of_no_encoding_are_corrupt():
    with pytest.raises(DecodeError) as raised:
        decode_text(bytes(range(128, 256)) * 4 + b"\x00\x81\x8d\x8f\x90\x9d" * 40)
    assert raised.value.status is Status.CORRUPT


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16", "utf-16-le", "utf-32", "shift_jis"])
def test_texts_look_like_text_in_any_encoding(encoding):
    text = "日本語のテキスト。これは文です。\n" * 3 if encoding == "shift_jis" else LATIN
    assert looks_like_text(text.encode(encoding))


def test_binary_bytes_do_not_look_like_text():
    assert not looks_like_text(bytes(range(256)) * 8)
    assert not looks_like_text(b"\x00\x01\x02\x00" * 100)


def test_a_text_cut_inside_a_character_is_read():
    assert decode_text("Grüße".encode("utf-16")[:-1]).text == "Grüß�"
