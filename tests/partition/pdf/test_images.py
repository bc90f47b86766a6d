"""The image objects that PDF pages paint, on pages that are made here operator by operator."""

import base64
import hashlib
import io
import zlib

import pikepdf
import pytest
from PIL import Image

from transforms.partition.pdf import images as pdf_images
from transforms.partition.pdf.images import find_pictures, place_found
from transforms.partition.pdf.pages import page_geometry

MEDIA = (0, 0, 200, 100)


def noise(width, height, mode="RGB"):
    """A picture that shows every pixel apart, the same each time."""
    size = width * height * len(mode) if mode != "L" else width * height
    data = b"".join(hashlib.sha256(str(index).encode()).digest() for index in range(size // 32 + 1))[:size]
    return Image.frombytes(mode, (width, height), data)


def jpeg(image, **options):
    stream = io.BytesIO()
    image.save(stream, "JPEG", **options)
    return stream.getvalue()


def stream(data, width, height, *, space="/DeviceRGB", bits=8, **more):
    """A function that makes an image object of a document."""
    facts = {"Width": width, "Height": height, "BitsPerComponent": bits, **more}
    if space:
        facts["ColorSpace"] = pikepdf.Name(space)

    def make(document):
        made = {key: value(document) if callable(value) else value for key, value in facts.items()}
        return document.make_stream(data, Type=pikepdf.Name.XObject, Subtype=pikepdf.Name.Image, **made)

    return make


def flate(image, **more):
    return stream(
        zlib.compress(image.tobytes()),
        image.width,
        image.height,
        space="/DeviceGray" if image.mode == "L" else "/DeviceRGB",
        Filter=pikepdf.Name.FlateDecode,
        **more,
    )


def form(content, matrix=None, **objects):
    def make(document):
        made = document.make_stream(content, Type=pikepdf.Name.XObject, Subtype=pikepdf.Name.Form, BBox=[0, 0, 1000, 1000])
        if matrix:
            made.Matrix = pikepdf.Array(matrix)
        if objects:
            inner = {f"/{name}": value(document) for name, value in objects.items()}
            made.Resources = pikepdf.Dictionary(XObject=pikepdf.Dictionary(inner))
        return document.make_indirect(made)

    return make


@pytest.fixture
def pictures():
    def run(*contents, media=MEDIA, page=None, change=None, **objects):
        with pikepdf.new() as document:
            made = {f"/{name}": value(document) for name, value in objects.items()}
            for content in contents:
                document.add_blank_page()
                added = document.pages[-1].obj
                added.MediaBox = pikepdf.Array(media)
                added.Resources = pikepdf.Dictionary(XObject=pikepdf.Dictionary(made))
                added.Contents = document.make_stream(content)
                for name, value in (page or {}).items():
                    added[f"/{name}"] = value
            if change:
                change(document)
            saved = io.BytesIO()
            document.save(saved)
        with pikepdf.open(io.BytesIO(saved.getvalue())) as document:
            geometries = {number: page_geometry(opened.obj) for number, opened in enumerate(document.pages, start=1)}
            return place_found([find_pictures(document, geometries)])

    return run


def opened(element):
    return Image.open(io.BytesIO(element.picture.data))


# --- bytes -----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_a_jpeg_is_kept_as_it_lies(pictures, mode):
    data = jpeg(noise(40, 20, mode))
    space = "/DeviceRGB" if mode == "RGB" else "/DeviceGray"

    found = pictures(b"q 80 0 0 40 20 30 cm /I Do Q", I=stream(data, 40, 20, space=space, Filter=pikepdf.Name.DCTDecode))

    (element,) = found.by_page[1]
    assert element.picture.data == data
    assert (element.picture.mime_type, element.picture.width, element.picture.height) == ("image/jpeg", 40, 20)
    assert element.coordinates == (0.1, 0.3, 0.5, 0.7)
    assert (element.category, element.page_number, element.in_reading_order) == ("Image", 1, False)


@pytest.mark.parametrize(
    ("outer", "wrap"),
    [
        ("FlateDecode", zlib.compress),
        ("ASCII85Decode", lambda data: base64.a85encode(data) + b"~>"),
        ("ASCIIHexDecode", lambda data: data.hex().encode() + b">"),
    ],
)
def test_a_jpeg_in_another_filter_is_unwrapped(pictures, outer, wrap):
    data = jpeg(noise(40, 20))
    names = pikepdf.Array([pikepdf.Name(f"/{outer}"), pikepdf.Name.DCTDecode])

    found = pictures(b"q 80 0 0 40 0 0 cm /I Do Q", I=stream(wrap(data), 40, 20, Filter=names))

    assert found.by_page[1][0].picture.data == data


def test_a_jpeg_2000_file_is_kept_as_it_lies(pictures):
    saved = io.BytesIO()
    noise(40, 20).save(saved, "JPEG2000")

    found = pictures(b"q 80 0 0 40 0 0 cm /I Do Q", I=stream(saved.getvalue(), 40, 20, Filter=pikepdf.Name.JPXDecode))

    picture = found.by_page[1][0].picture
    assert (picture.mime_type, picture.data) == ("image/jp2", saved.getvalue())


@pytest.mark.parametrize("image", [noise(40, 20), noise(40, 20, "L")], ids=["RGB", "grey"])
def test_other_images_become_png_equal_to_the_last_pixel(pictures, image):
    (element,) = pictures(b"q 80 0 0 40 0 0 cm /I Do Q", I=flate(image)).by_page[1]

    assert element.picture.mime_type == "image/png"
    assert opened(element).mode == image.mode
    assert opened(element).tobytes() == image.tobytes()


def test_a_fax_scan_becomes_a_png_of_one_bit(pictures):
    page = noise(64, 40, "L").point(lambda value: 255 if value > 127 else 0, mode="1")
    saved = io.BytesIO()
    page.save(saved, "TIFF", compression="group4")
    with Image.open(io.BytesIO(saved.getvalue())) as tiff:
        offset, length = tiff.tag_v2[273][0], tiff.tag_v2[279][0]
    parameters = pikepdf.Dictionary(K=-1, Columns=64, Rows=40, BlackIs1=True)
    data = saved.getvalue()[offset : offset + length]

    found = pictures(
        b"q 80 0 0 40 0 0 cm /I Do Q",
        I=stream(data, 64, 40, space="/DeviceGray", bits=1, Filter=pikepdf.Name.CCITTFaxDecode, DecodeParms=parameters),
    )

    (element,) = found.by_page[1]
    assert opened(element).mode == "1"
    assert opened(element).tobytes() == page.tobytes()


def test_a_cmyk_jpeg_becomes_rgb_as_readers_show_it(pictures):
    data = jpeg(Image.new("CMYK", (16, 16), (0, 255, 255, 0)))  # Pillow writes Adobe's inverted CMYK: this is red

    found = pictures(
        b"q 80 0 0 40 0 0 cm /I Do Q",
        I=stream(data, 16, 16, space="/DeviceCMYK", Filter=pikepdf.Name.DCTDecode, Decode=pikepdf.Array([1, 0, 1, 0, 1, 0, 1, 0])),
    )

    (element,) = found.by_page[1]
    assert (element.picture.mime_type, opened(element).mode) == ("image/png", "RGB")
    red, green, blue = opened(element).getpixel((8, 8))
    assert red > 180
    assert green < 90
    assert blue < 90


def test_a_soft_mask_becomes_transparency(pictures):
    mask = Image.new("L", (40, 20), 0)
    mask.paste(255, (0, 0, 20, 20))
    colours = Image.new("RGB", (40, 20), (10, 200, 30))

    (element,) = pictures(b"q 80 0 0 40 0 0 cm /I Do Q", I=flate(colours, SMask=flate(mask))).by_page[1]

    assert opened(element).mode == "RGBA"
    assert opened(element).getpixel((5, 5)) == (10, 200, 30, 255)
    assert opened(element).getpixel((35, 5))[3] == 0


@pytest.mark.parametrize("corner", [0, 2], ids=["opaque", "rounded corners"])
def test_a_jpeg_whose_mask_hides_next_to_nothing_is_kept_as_it_lies(pictures, corner):
    mask = Image.new("L", (40, 20), 255)
    mask.paste(0, (0, 0, corner, corner))
    data = jpeg(noise(40, 20))

    (element,) = pictures(b"q 80 0 0 40 0 0 cm /I Do Q", I=stream(data, 40, 20, Filter=pikepdf.Name.DCTDecode, SMask=flate(mask))).by_page[
        1
    ]

    assert element.picture.data == data


def test_a_jpeg_whose_mask_holds_the_drawing_becomes_a_png_of_what_is_seen(pictures):
    mask = Image.new("L", (40, 20), 0)
    mask.paste(255, (10, 5, 30, 15))
    data = jpeg(Image.new("RGB", (40, 20), 0))  # all black: the drawing is in the mask

    (element,) = pictures(b"q 80 0 0 40 0 0 cm /I Do Q", I=stream(data, 40, 20, Filter=pikepdf.Name.DCTDecode, SMask=flate(mask))).by_page[
        1
    ]

    assert opened(element).getchannel("A").getbbox() == (10, 5, 30, 15)


def test_inline_images_are_found_with_the_colour_spaces_of_their_page(pictures):
    def name_a_space(document):
        palette = pikepdf.Array([pikepdf.Name.Indexed, pikepdf.Name.DeviceRGB, 1, pikepdf.String(b"\xff\x00\x00\x00\x00\xff")])
        document.pages[0].obj.Resources.ColorSpace = pikepdf.Dictionary(Two=palette)

    content = b"q 80 0 0 40 20 30 cm\nBI /W 8 /H 2 /BPC 1 /CS /Two ID \xf0\x0f EI\nQ"

    (element,) = pictures(content, change=name_a_space).by_page[1]

    assert element.coordinates == (0.1, 0.3, 0.5, 0.7)
    assert (element.picture.width, element.picture.height) == (8, 2)
    assert [opened(element).convert("RGB").getpixel((x, 0)) for x in (0, 7)] == [(0, 0, 255), (255, 0, 0)]


# --- places ----------------------------------------------------------------------------------------------------------------------------


def test_an_image_is_read_once_and_told_of_at_each_place(pictures):
    content = b"q 20 0 0 20 0 0 cm /I Do Q q 20 0 0 20 100 50 cm /I Do /I Do Q"

    found = pictures(content, content, I=flate(noise(8, 8)))

    elements = [element for number in (1, 2) for element in found.by_page[number]]
    assert [(e.page_number, e.coordinates[0]) for e in elements] == [(1, 0.0), (1, 0.5), (1, 0.5), (2, 0.0), (2, 0.5), (2, 0.5)]
    assert len({id(element.picture) for element in elements}) == 1
    assert len({element.element_id for element in elements}) == 6
    assert found.bytes == len(elements[0].picture.data)


def test_places_add_up_through_nested_forms(pictures):
    inner = form(b"q 10 0 0 10 0 0 cm /I Do Q", [1, 0, 0, 1, 5, 5], I=flate(noise(8, 8)))
    outer = form(b"q 2 0 0 2 10 0 cm /G Do Q", G=inner)

    (element,) = pictures(b"1 0 0 1 30 20 cm /F Do", F=outer).by_page[1]

    # 10 points at 5, doubled and moved by 10, moved by (30, 20): x 50 to 70, y 30 to 50 of 200 × 100.
    assert element.coordinates == (0.25, 0.5, 0.35, 0.7)


def test_a_form_that_paints_itself_ends(pictures):
    def loop(document):
        target = document.pages[0].obj.Resources.XObject.F
        target.Resources = pikepdf.Dictionary(XObject=pikepdf.Dictionary(F=target, I=document.pages[0].obj.Resources.XObject.I))

    found = pictures(b"/F Do", F=form(b"q 20 0 0 20 0 0 cm /I Do Q /F Do"), I=flate(noise(8, 8)), change=loop)

    assert len(found.by_page[1]) == 1


def test_a_form_of_ten_forms_of_ten_forms_is_cut(pictures):
    made = form(b"q 20 0 0 20 0 0 cm /I Do Q", I=flate(noise(8, 8)))
    for _ in range(8):
        made = form(b"/F Do " * 10, F=made)

    found = pictures(b"/F Do", F=made)

    assert len(found.by_page[1]) == pdf_images.MAX_PLACES_PER_PAGE
    assert any("100,000" in warning for warning in found.warnings)


def test_what_is_turned_or_mirrored_has_the_box_around_it(pictures):
    # Turned by 90 degrees: the unit square goes to x from 20 to 60 and y from 10 to 90.
    (turned,) = pictures(b"q 0 80 -40 0 60 10 cm /I Do Q", I=flate(noise(8, 8))).by_page[1]
    (mirrored,) = pictures(b"q -40 0 0 -80 60 90 cm /I Do Q", I=flate(noise(8, 8))).by_page[1]

    assert turned.coordinates == mirrored.coordinates == (0.1, 0.1, 0.3, 0.9)


@pytest.mark.parametrize(
    ("rotation", "box"),
    [(90, (0.0, 0.0, 0.2, 0.2)), (180, (0.8, 0.0, 1.0, 0.2)), (270, (0.8, 0.8, 1.0, 1.0))],
)
def test_on_a_turned_page_the_corner_is_the_one_that_is_seen(pictures, rotation, box):
    (element,) = pictures(b"q 40 0 0 20 0 0 cm /I Do Q", page={"Rotate": rotation}, I=flate(noise(8, 8))).by_page[1]

    assert element.coordinates == pytest.approx(box)


def test_only_what_is_seen_on_the_page_counts(pictures):
    contents = (
        b"q 40 0 0 40 300 0 cm /I Do Q",  # beside the page
        b"q 0 0 0 40 20 20 cm /I Do Q",  # no width
        b"q 100 0 0 0.2 20 20 cm /I Do Q",  # a rule
        b"q 40 0 0 40 180 0 cm /I Do Q",  # half outside
        b"q 40 0 0 40 0 0 cm /T Do Q",  # a side of one pixel
    )

    found = pictures(*contents, I=flate(noise(8, 8)), T=flate(noise(1, 30)))

    assert {number: [e.coordinates for e in elements] for number, elements in found.by_page.items()} == {4: [(0.9, 0.6, 1.0, 1.0)]}


def test_a_small_stencil_is_an_ornament_and_a_large_one_a_scan(pictures):
    stencil = stream(b"\xf0" * 8, 8, 8, space="", bits=1, ImageMask=True)

    small = pictures(b"q 20 0 0 20 0 0 cm /I Do Q", I=stencil)
    large = pictures(b"q 200 0 0 100 0 0 cm /I Do Q", I=stencil)

    assert small.by_page == {}
    (element,) = large.by_page[1]
    assert opened(element).mode == "1"
    assert [opened(element).getpixel((x, 0)) for x in (0, 7)] == [255, 0]  # a stencil paints where its bits are 0


def test_the_pictures_of_stamps_stand_where_the_stamp_stands(pictures):
    def stamp(document):
        appearance = form(b"q 100 0 0 50 0 0 cm /I Do Q", I=flate(noise(8, 8)))(document)
        appearance.BBox = pikepdf.Array([0, 0, 100, 50])
        annotation = pikepdf.Dictionary(
            Type=pikepdf.Name.Annot, Subtype=pikepdf.Name.Stamp, Rect=[20, 30, 100, 70], AP=pikepdf.Dictionary(N=appearance)
        )
        hidden = pikepdf.Dictionary(Subtype=pikepdf.Name.Stamp, Rect=[0, 0, 10, 10], AP=pikepdf.Dictionary(N=appearance), F=2)
        document.pages[0].obj.Annots = pikepdf.Array([annotation, hidden])

    (element,) = pictures(b"", change=stamp).by_page[1]

    assert element.coordinates == (0.1, 0.3, 0.5, 0.7)


# --- limits and damage -----------------------------------------------------------------------------------------------------------------


def test_a_page_of_very_many_images_keeps_its_largest(pictures):
    tiles = b"".join(b"q 1 0 0 1 %d %d cm /I Do Q " % (index % 200, index // 200) for index in range(2_000))
    content = tiles + b"q 50 0 0 50 100 0 cm /I Do Q"

    found = pictures(content, I=flate(noise(8, 8)))

    assert len(found.by_page[1]) == pdf_images.MAX_PLACES_PER_PAGE
    assert found.by_page[1][-1].coordinates == (0.5, 0.5, 0.75, 1.0)
    assert found.warnings == ["Page 1 paints 2,001 images: the 500 largest are kept."]


def test_a_bomb_is_told_of_and_not_decoded(pictures):
    bomb = stream(zlib.compress(b"\0" * 1000), 100_000, 100_000, Filter=pikepdf.Name.FlateDecode)

    found = pictures(b"q 100 0 0 50 0 0 cm /I Do Q", I=bomb)

    assert found.by_page == {}
    assert found.warnings == ["Page 1: an image is not kept: it has 100,000 × 100,000 pixels."]


def test_one_damaged_image_costs_itself_only(pictures):
    broken = stream(b"not a stream of deflate", 40, 20, space="/NoSuchSpace", Filter=pikepdf.Name("/NoSuchFilter"))
    content = b"q 40 0 0 40 0 0 cm /B Do /I Do Q"

    found = pictures(content, I=flate(noise(8, 8)), B=broken)

    assert [element.picture.width for element in found.by_page[1]][-1] == 8


def test_the_same_document_gives_the_same_bytes_and_identifiers(pictures):
    content = b"q 40 0 0 40 0 0 cm /I Do Q"

    first, second = (pictures(content, I=flate(noise(8, 8))).by_page[1] for _ in range(2))

    assert first == second


def test_an_image_wider_than_acrobats_largest_page_is_painted_whole(pictures):
    image = noise(15_000, 3, "L")

    (element,) = pictures(b"q 200 0 0 50 0 0 cm /I Do Q", I=flate(image)).by_page[1]

    assert opened(element).tobytes() == image.tobytes()
