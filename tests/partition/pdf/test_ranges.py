"""Large PDFs in ranges of pages: where they are divided, and that the document joined from them is the one that was not divided."""

import io
import zlib
from dataclasses import asdict, replace

import pikepdf
import pytest
from PIL import Image, ImageDraw, ImageFont

from transforms.decode import describe, undecoded
from transforms.model import DecodeError, DocumentReference, Status
from transforms.partition import formats
from transforms.partition.environment import apply_decode_environment
from transforms.partition.nlp import install_nlp
from transforms.partition.partitioner import partition_document, partition_from_ranges, partition_range, plan_document
from transforms.partition.pdf import images as pdf_images
from transforms.partition.pdf import ranges as pdf_ranges
from transforms.partition.pdf.document import DocumentFacts, RangeFailure
from transforms.partition.pdf.ranges import MOST_RANGES, RangeDamaged, RangePlan, blobs_of_range, divide, read_range
from transforms.settings import DecodeSettings, Limits, SectionStrategy, Strategy
from transforms.storage.commit import write_commit

may_name_font = pdf_ranges._may_name_font

SENTENCES = (
    "The committee approved the annual budget after a long debate in the town hall.",
    "Lenses of this kind were ground by hand until the middle of the century.",
    "Nobody had expected that the harvest would be so late in the valley.",
)
ENGLISH, GERMAN = SENTENCES[0], "Der Ausschuss hat den Haushalt nach langer Aussprache im Rathaus beschlossen, wie die Zeitung schreibt."


@pytest.fixture(autouse=True, scope="module")
def nlp():
    apply_decode_environment()
    install_nlp()


# --- documents ---------------------------------------------------------------------------------------------------------------------------


class Pages:
    """A PDF that is made page by page."""

    def __init__(self):
        self.pdf = pikepdf.new()
        font = pikepdf.Dictionary(Type=pikepdf.Name.Font, Subtype=pikepdf.Name.Type1, BaseFont=pikepdf.Name.Helvetica)
        self.font = self.pdf.make_indirect(font)

    def add(self, content=b"", *, fonts=True, images=None, **attributes):
        self.pdf.add_blank_page(page_size=(600, 800))
        page = self.pdf.pages[-1].obj
        page.Resources = pikepdf.Dictionary(XObject=pikepdf.Dictionary({f"/{name}": image for name, image in (images or {}).items()}))
        if fonts:
            page.Resources.Font = pikepdf.Dictionary(F1=self.font)
        page.Contents = self.pdf.make_stream(content)
        for name, value in attributes.items():
            page[f"/{name}"] = value
        return page

    def image(self, picture, **changes):
        facts = {"Type": pikepdf.Name.XObject, "Subtype": pikepdf.Name.Image, "Width": picture.width, "Height": picture.height}
        facts |= {"BitsPerComponent": 8, "Filter": pikepdf.Name.FlateDecode}
        facts["ColorSpace"] = pikepdf.Name.DeviceGray if picture.mode == "L" else pikepdf.Name.DeviceRGB
        return self.pdf.make_stream(zlib.compress(picture.tobytes()), **{**facts, **changes})

    def saved(self, path, **options):
        stream = io.BytesIO()
        self.pdf.save(stream, **options)
        path.write_bytes(stream.getvalue())
        return path


def shown(text, x, y, size=12):
    return f"BT /F1 {size} Tf 1 0 0 1 {x} {y} Tm ({text}) Tj ET\n".encode()


def text_page(number):
    """A heading on every third page, paragraphs, a list, and a footer."""
    heading = shown(f"CHAPTER {number}", 60, 740, 20) if number % 3 == 1 else b""
    lines = [shown(f"{number}. {sentence}", 60, 650 - 60 * index) for index, sentence in enumerate(SENTENCES)]
    items = [shown(f"- the item {letter} of page {number}", 60, 400 - 40 * index) for index, letter in enumerate("abc")]
    return heading + b"".join(lines) + b"".join(items) + shown(f"Page {number}", 280, 20)


def scan(*lines):
    picture = Image.new("L", (1200, 400), 255)
    draw = ImageDraw.Draw(picture)
    for index, line in enumerate(lines):
        draw.text((60, 60 + 80 * index), line, fill=0, font=ImageFont.load_default(size=48))
    return picture


PAINTED = b"q 500 0 0 170 50 500 cm /I Do Q\n"


def text(pages):
    for number in range(1, 8):
        pages.add(text_page(number))


def outline(pages):
    text(pages)
    with pages.pdf.open_outline() as tree:
        tree.root.extend([pikepdf.OutlineItem("Chapter 1", 0), pikepdf.OutlineItem("Chapter 4", 3)])
    labels = pikepdf.Dictionary(Nums=pikepdf.Array([0, pikepdf.Dictionary(S=pikepdf.Name("/r")), 2, pikepdf.Dictionary(S=pikepdf.Name.D)]))
    pages.pdf.Root.PageLabels = labels
    pages.pdf.docinfo["/Title"] = "On lenses"
    pages.pdf.docinfo["/CreationDate"] = "D:20240501120000Z"


def pictures_over_pages(pages):
    """The same logo on each page, a picture of its own on each, and one that is not kept, on three of them."""
    logo = pages.image(Image.effect_noise((40, 30), 90))
    broken = pages.image(Image.new("L", (9, 9)), Width=40_000, Height=40_000)
    for number in range(1, 7):
        own = pages.image(Image.effect_noise((30 + number, 20), 80).convert("RGB"))
        images = {"L": logo, "O": own} | ({"B": broken} if number % 2 else {})
        painted = b"q 50 0 0 40 10 750 cm /L Do Q q 200 0 0 100 60 100 cm /O Do Q" + (b" q 20 0 0 20 0 0 cm /B Do Q" if number % 2 else b"")
        pages.add(text_page(number) + painted, images=images)


def scans(pages):
    for number in range(1, 4):
        pages.add(PAINTED, fonts=False, images={"I": pages.image(scan("The lens of the telescope", f"was ground {number} times by hand"))})


def mixed(pages):
    """Text, a scanned page, a blank one, a drawing without letters, damaged content, sideways text, and a page in German."""
    pages.add(text_page(1))
    pages.add(PAINTED, fonts=False, images={"I": pages.image(scan("Scanned in between", "the other pages"))})
    pages.add()
    pages.add(b"0 0 100 100 re f\n")
    damaged = pages.add(b"")
    damaged.Contents = pages.pdf.make_stream(b"no deflate", Filter=pikepdf.Name.FlateDecode)
    pages.add(b"".join(f"BT /F1 12 Tf 0 1 -1 0 {60 + 30 * row} 100 Tm ({ENGLISH}) Tj ET\n".encode() for row in range(9)))
    pages.add(shown(GERMAN, 40, 700) + shown(GERMAN, 40, 600))


def broken_page(pages):
    """pdfminer fails over the fourth page, and over the fifth as well when it is alone."""
    text(pages)
    pages.pdf.pages[3].obj.Resources.Font.F1 = pikepdf.Dictionary(
        Type=pikepdf.Name.Font, Subtype=pikepdf.Name.Type0, BaseFont=pikepdf.Name.Helvetica, DescendantFonts=pikepdf.Array([])
    )
    pages.pdf.pages[4].obj.Resources = pikepdf.Array([])


DOCUMENTS = {made.__name__: made for made in (text, outline, pictures_over_pages, scans, mixed, broken_page)}


# --- both ways ---------------------------------------------------------------------------------------------------------------------------


def whole(path, settings):
    return partition_document(path, declared_mime_type="", name="a.pdf", settings=settings)


def plan_of(path, settings, folder, range_pages=1):
    arguments = {"declared_mime_type": "", "name": "a.pdf", "settings": settings, "limits": Limits(), "range_pages": range_pages}
    return plan_document(path, folder / "copy", **arguments)


def in_ranges(path, settings, folder, *, lost=()):
    """The document joined from files of its ranges, as children do it; `lost`: ranges that fail, by index."""
    from transforms.partition.pdf.ranges import write_range

    plan = RangePlan.from_json(plan_of(path, settings, folder).to_json())
    assert len(plan.ranges) > 1
    files = []
    for index, (first, last) in enumerate(plan.ranges):
        if index not in lost:
            readable = folder / "copy" if plan.copied else path
            read = partition_range(path, readable, first, last, settings=settings, limits=Limits())
            files.append(folder / f"{index}.zip")
            blobs = write_range(files[-1], read, str(folder))
            assert blobs_of_range(files[-1]) == {blob: len(data) for blob, data in blobs.items()}
    failures = [RangeFailure(*plan.ranges[index], Status.TIMEOUT, "It was not done after 9 s.") for index in lost]
    return partition_from_ranges(plan, files, failures, settings)


def commit(partitioned, settings, path):
    found = undecoded(DocumentReference("file:///a.pdf"), document_id="https://example.org/a", started_at="2026-01-31T10:00:00Z")
    write_commit(path, [describe(partitioned, replace(found, source_sha256="0" * 64), settings)], fingerprint=settings.fingerprint)
    return path.read_bytes()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The documents, by name."""

    def make(name, **options):
        pages = Pages()
        DOCUMENTS[name](pages)
        return pages.saved(tmp_path_factory.mktemp("pdf") / "a.pdf", **options)

    return make


@pytest.mark.parametrize("strategy", [Strategy.AUTO, Strategy.FAST])
@pytest.mark.parametrize("name", [name for name in DOCUMENTS if name != "scans"])
def test_the_joined_document_makes_the_commit_of_the_undivided_one(made, tmp_path, name, strategy):
    path = made(name)
    for section_strategy in SectionStrategy:
        settings = DecodeSettings(strategy, section_strategy=section_strategy, section_within_pages=section_strategy.value != "size")
        if section_strategy is SectionStrategy.WHOLE_DOCUMENT:
            undivided, joined = whole(path, settings), in_ranges(path, settings, tmp_path)
        assert commit(undivided, settings, tmp_path / "a.zip") == commit(joined, settings, tmp_path / "b.zip"), section_strategy
    assert joined.page_count == undivided.page_count
    assert [asdict(element) | {"picture": None} for element in joined.elements] == [
        asdict(element) | {"picture": None} for element in undivided.elements
    ]


def test_scans_are_joined_to_the_same_document(made, tmp_path):
    settings = DecodeSettings()
    path = made("scans")
    undivided = whole(path, settings)
    assert "telescope" in undivided.elements[0].text
    assert commit(undivided, settings, tmp_path / "a.zip") == commit(in_ranges(path, settings, tmp_path), settings, tmp_path / "b.zip")


def test_what_is_told_of_a_mixed_document_is_told_of_the_whole(made, tmp_path):
    joined = in_ranges(made("mixed"), DecodeSettings(Strategy.FAST), tmp_path)
    assert joined.warnings == [
        "Page 5: the content is damaged and cannot be read.",
        "Pages 2, 4: no text layer, only pictures; --strategy auto reads them by OCR.",
    ]
    assert joined.missing_pages == [2, 4, 5]
    assert {element.languages for element in joined.elements if element.text} == {("eng",)}  # the first 20,000 characters decide for all


def test_a_document_of_scans_needs_ocr_also_where_no_single_range_can_know_it(made, tmp_path):
    path, fast = made("scans"), DecodeSettings(Strategy.FAST)
    pages = Pages()
    scans(pages)
    scans(pages)
    pages.saved(path)
    with pytest.raises(DecodeError) as undivided:
        whole(path, fast)
    with pytest.raises(DecodeError) as divided:
        in_ranges(path, fast, tmp_path)
    assert divided.value.status is Status.NEEDS_OCR
    assert (divided.value.message, divided.value.mime_type) == (undivided.value.message, "application/pdf")


@pytest.mark.parametrize("kind", ["encrypted", "damaged", "junk"])
def test_a_document_that_is_read_from_a_copy_is_joined_to_the_same(made, tmp_path, kind):
    settings = DecodeSettings()
    if kind == "encrypted":
        path = made("pictures_over_pages", encryption=pikepdf.Encryption(owner="secret", user=""))
    else:
        path = made("pictures_over_pages")
        data = path.read_bytes()
        path.write_bytes(data[: data.rindex(b"startxref")] if kind == "damaged" else b"\n" * 700 + data)
    assert plan_of(path, settings, tmp_path).copied
    undivided = whole(path, settings)
    assert len([element for element in undivided.elements if element.picture]) == 12
    assert [warning for warning in undivided.warnings if "image" in warning] == [
        "Page 1: an image is not kept: it has 40,000 × 40,000 pixels."
    ]
    assert commit(undivided, settings, tmp_path / "a.zip") == commit(in_ranges(path, settings, tmp_path), settings, tmp_path / "b.zip")


def test_the_limits_of_pictures_count_over_all_ranges(made, tmp_path, monkeypatch):
    settings, path = DecodeSettings(Strategy.FAST), made("pictures_over_pages")
    for limit, value in {"MAX_PLACES": 7, "MAX_BYTES": 5_000}.items():
        with monkeypatch.context() as patched:
            patched.setattr(pdf_images, limit, value)
            undivided, joined = whole(path, settings), in_ranges(path, settings, tmp_path)
        assert 0 < len([element for element in joined.elements if element.picture]) < 12
        assert joined.warnings == undivided.warnings != []
        assert commit(undivided, settings, tmp_path / "a.zip") == commit(joined, settings, tmp_path / "b.zip")


def test_a_page_that_pdfminer_fails_over_costs_itself(made, tmp_path):
    joined = in_ranges(made("broken_page"), DecodeSettings(Strategy.FAST), tmp_path)
    assert 4 in joined.missing_pages
    assert {1, 2, 3, 6, 7} <= {element.page_number for element in joined.elements}


# --- ranges that fail --------------------------------------------------------------------------------------------------------------------


def test_a_range_that_was_not_read_costs_its_pages_and_says_which_and_why(made, tmp_path):
    settings, path = DecodeSettings(Strategy.FAST), made("text")
    undivided, joined = whole(path, settings), in_ranges(path, settings, tmp_path, lost=(2, 3))
    assert joined.missing_pages == [3, 4]
    assert joined.warnings == [
        "Page 3: not read (timeout). It was not done after 9 s.",
        "Page 4: not read (timeout). It was not done after 9 s.",
    ]
    left = [element for element in undivided.elements if element.page_number not in (3, 4)]
    assert [(element.page_number, element.category, element.text) for element in joined.elements] == [
        (element.page_number, element.category, element.text) for element in left
    ]
    assert joined.page_count == 7


def test_a_document_of_which_no_range_was_read_ends_as_the_first_of_them(made, tmp_path):
    with pytest.raises(DecodeError) as error:
        in_ranges(made("text"), DecodeSettings(Strategy.FAST), tmp_path, lost=tuple(range(7)))
    assert (error.value.status, error.value.message) == (Status.TIMEOUT, "Page 1: It was not done after 9 s.")


def test_a_file_of_a_range_that_is_not_whole_is_seen(made, tmp_path):
    in_ranges(made("text"), DecodeSettings(Strategy.FAST), tmp_path)
    file = tmp_path / "0.zip"
    data = file.read_bytes()
    for damaged in (data[:-1], data[: len(data) // 2], b"", data.replace(data[200:204], b"????")):
        file.write_bytes(damaged)
        with pytest.raises(RangeDamaged):
            blobs_of_range(file)
        with pytest.raises(RangeDamaged):
            read_range(file)


# --- where a document is divided ---------------------------------------------------------------------------------------------------------


def test_pages_are_divided_into_ranges_of_equal_cost():
    assert divide([1] * 100, 50) == [(1, 50), (51, 100)]
    assert divide([1] * 101, 50) == [(1, 34), (35, 68), (69, 101)]
    assert divide([25] * 8, 50) == [(1, 2), (3, 4), (5, 6), (7, 8)]
    assert divide([1] * 50 + [25] * 4, 50) == [(1, 50), (51, 52), (53, 54)]
    assert divide([25], 1) == [(1, 1)]
    many = divide([1] * 50_000, 50)
    assert len(many) == MOST_RANGES
    assert many[-1][1] == 50_000


@pytest.mark.parametrize("costs", [[1, 25, 25, 1, 1, 1, 25], [25, 1, 1], [1] * 9, [25] * 200])
@pytest.mark.parametrize("range_pages", [1, 2, 7, 1000])
def test_each_page_is_in_one_range(costs, range_pages):
    ranges = divide(costs, range_pages)
    assert [number for first, last in ranges for number in range(first, last + 1)] == list(range(1, len(costs) + 1))


def test_small_documents_are_not_divided_and_scans_are_sooner(made, tmp_path):
    assert plan_of(made("text"), DecodeSettings(), tmp_path, range_pages=2) is None
    assert plan_of(made("scans"), DecodeSettings(), tmp_path, range_pages=18).ranges == [(1, 1), (2, 2), (3, 3)]
    assert plan_of(made("scans"), DecodeSettings(Strategy.FAST), tmp_path, range_pages=1) is None
    assert plan_of(made("text"), DecodeSettings(Strategy.OCR_ONLY), tmp_path, range_pages=25).ranges == [
        (number, number) for number in range(1, 8)
    ]


@pytest.mark.parametrize(
    ("kind", "ranges"),
    [
        ("picture", [(1, 1), (2, 2), (3, 3), (4, 4)]),
        ("font", None),  # four pages of text are too few
        ("no resources", None),
        ("form in itself", None),
    ],
)
def test_a_scan_is_known_by_its_forms_as_well(tmp_path, kind, ranges):
    pages = Pages()
    picture = pages.image(Image.effect_noise((200, 200), 50))
    for _ in range(4):
        form = pages.pdf.make_stream(b"/Im Do", Type=pikepdf.Name.XObject, Subtype=pikepdf.Name.Form, BBox=[0, 0, 600, 800])
        form.Resources = pikepdf.Dictionary(XObject=pikepdf.Dictionary(Im=picture))
        if kind == "font":
            form.Resources.Font = pikepdf.Dictionary(F1=pages.font)
        elif kind == "no resources":
            del form.Resources
        elif kind == "form in itself":
            form.Resources.XObject.Fm = form
        outer = pages.pdf.make_stream(b"/Fm Do", Type=pikepdf.Name.XObject, Subtype=pikepdf.Name.Form, BBox=[0, 0, 600, 800])
        outer.Resources = pikepdf.Dictionary(XObject=pikepdf.Dictionary(Fm=form))
        pages.add(b"/Fm Do", fonts=False, images={"Fm": outer})
    plan = plan_of(pages.saved(tmp_path / "document"), DecodeSettings(), tmp_path, range_pages=25)
    assert (plan.ranges if plan else None) == ranges


def test_pages_that_share_a_list_of_pictures_are_known_by_one_look_at_it(tmp_path, monkeypatch):
    looks = []
    monkeypatch.setattr(pdf_ranges, "_may_name_font", lambda objects: looks.append(len(objects)) or may_name_font(objects))
    pages = Pages()
    pictures = {f"I{number}": pages.image(Image.new("L", (8, 8), number)) for number in range(200)}
    shared = pages.pdf.make_indirect(pikepdf.Dictionary({f"/{name}": image for name, image in pictures.items()}))
    for number in range(200):
        pages.add(b"/I%d Do" % number, fonts=False).Resources.XObject = shared
    plan = plan_of(pages.saved(tmp_path / "document"), DecodeSettings(), tmp_path, range_pages=50)
    assert len(plan.ranges) == MOST_RANGES
    assert looks == [200]  # one for each page would grow with the square of a book


def test_what_is_no_pdf_or_read_by_a_layout_model_or_locked_is_not_divided(made, tmp_path):
    assert plan_of(made("text"), DecodeSettings(Strategy.HI_RES), tmp_path) is None
    locked = made("text", encryption=pikepdf.Encryption(owner="secret", user="secret"))
    assert plan_of(locked, DecodeSettings(), tmp_path) is None
    other = tmp_path / "a.pdf"
    other.write_text("%" * 10_000)
    assert plan_of(other, DecodeSettings(), tmp_path) is None


def test_an_answer_that_is_no_plan_is_refused():
    good = RangePlan(DocumentFacts(9), [(1, 4), (5, 9)], copied=False).to_json()
    assert RangePlan.from_json(good).ranges == [(1, 4), (5, 9)]
    for ranges in ([], [[5, 9], [1, 4]], [[0, 9]], [[1, 10]], [[4, 1]]):
        with pytest.raises((KeyError, TypeError, ValueError)):
            RangePlan.from_json({**good, "ranges": ranges})
    assert formats.PDF.mime_type == "application/pdf"
