"""Makes documents of many kinds and languages to compare with: the corpus has mostly English, and mostly well-formed ones."""

import io
import random
from collections.abc import Callable, Sequence
from email.message import EmailMessage
from html import escape
from pathlib import Path

LANGUAGES = {
    "english": "The company said on Monday that it will pay a dividend to its shareholders after sales rose in the third quarter of the year",
    "german": "Die Gesellschaft hat im Geschäftsjahr einen größeren Gewinn erzielt und wird ihren Aktionären eine höhere Dividende zahlen",
    "french": "Le président a été élu à l’unanimité par l’assemblée générale et présentera ses propositions avant la fin de l’année",
    "spanish": "La compañía anunció que pagará dividendos a los accionistas después del aumento de ventas en el tercer trimestre del año",
    "turkish": "Şirket üçüncü çeyrekte satışların artmasının ardından hissedarlarına kâr payı ödeyeceğini İstanbul'da açıkladı",
    "vietnamese": "Công ty cho biết sẽ trả cổ tức cho các cổ đông sau khi doanh số tăng trong quý ba của năm nay",
    "russian": "Компания сообщила что выплатит дивиденды своим акционерам после роста продаж в третьем квартале этого года",
    "greek": "Η εταιρεία ανακοίνωσε ότι θα πληρώσει μέρισμα στους μετόχους της μετά την αύξηση των πωλήσεων",
    "arabic": "أعلنت الشركة أنها ستدفع أرباحا لمساهميها بعد ارتفاع المبيعات في الربع الثالث من العام",
    "hebrew": "החברה הודיעה כי תשלם דיבידנד לבעלי המניות שלה לאחר עליית המכירות ברבעון השלישי של השנה",
    "hindi": "कंपनी ने कहा कि वह तीसरी तिमाही में बिक्री बढ़ने के बाद अपने शेयरधारकों को लाभांश देगी",
    "chinese": "公司 表示 在 第三 季度 销售 增长 之后 将 向 股东 支付 股息 今年的年度报告已经发布。",
    "japanese": "会社は 第三四半期の 売上が 増加した ため 株主に 配当を 支払うと 発表した。",
    "korean": "회사는 3분기 매출이 증가한 후 주주들에게 배당금을 지급할 것이라고 밝혔다",
    "thai": "บริษัท กล่าวว่า จะจ่ายเงินปันผล ให้แก่ ผู้ถือหุ้น หลังจาก ยอดขาย เพิ่มขึ้น",
    "symbols": "1 12 3.14 1,000 $5.00 45% 2024-01-31 (a) — … @ # & * / | _ ~ 😀 👩‍👩‍👧 ✓ © ½ ² Ⅳ x=1 a,b http://x.org/y?z=1 a@b.org",
    "special": "U.S. e.g. don't can't o'clock cannot gonna :-) (-: y'all 'Cause dont Mr. Ph.D. vs. a.m. end.Next one/two co-operate C++ iPhone",
}

ENDS = (".", ".", ".", ".", "", "", "!", "?", ":", "...", ";", ",")

Write = Callable[[Sequence[str], random.Random], bytes]


def paragraphs(maker: random.Random) -> list[str]:
    """The texts of a document: headings, prose of one or more sentences, lists, capitals, addresses, numbers; mostly of one language."""
    language = maker.choice(list(LANGUAGES))
    return [_paragraph(maker, language if maker.random() < 0.8 else maker.choice(list(LANGUAGES))) for _ in range(maker.randint(1, 40))]


def _paragraph(maker: random.Random, language: str) -> str:
    words = LANGUAGES[language].split()
    kind = maker.random()
    if kind < 0.1:
        return maker.choice(("Doylestown, PA 18901", "someone@example.org", "1.2.3", "12,345", "*****", "Dear Sir,", "x", "(215) 867-5309"))
    sentences = [
        " ".join(maker.choices(words, k=maker.choice((1, 2, 3, 4, 5, 6, 7, 9, 12, 20, 60)))) + maker.choice(ENDS)
        for _ in range(maker.choice((1, 1, 1, 2, 3, 8)))
    ]
    text = " ".join(sentence[:1].upper() + sentence[1:] for sentence in sentences)
    if kind < 0.2:
        return text.upper()
    if kind < 0.35:
        return text.title()
    if kind < 0.45:
        return maker.choice(("- ", "• ", "1. ", "a) ", "* ")) + text
    return text


def _html(texts: Sequence[str], maker: random.Random) -> bytes:
    tags = ("p", "p", "p", "div", "h1", "h2", "h4", "li", "td", "pre", "blockquote", "span", "a", "b")
    parts = []
    for text in texts:
        tag = maker.choice(tags)
        words = escape(text).split(" ")
        if len(words) > 3 and maker.random() < 0.4:
            place = maker.randrange(len(words) - 1)
            words[place] = maker.choice(("<b>{}</b>", "<i>{}</i>", '<a href="https://example.org/x">{}</a>', "<br>{}")).format(words[place])
        parts.append(f"<{tag}>{' '.join(words)}</{tag}>")
    cells = "".join(f"<tr><td>{escape(text[:30])}</td><td>1</td></tr>" for text in texts[:5])
    return f"<html><head><title>t</title></head><body>{''.join(parts)}<table>{cells}</table></body></html>".encode()


def _markdown(texts: Sequence[str], maker: random.Random) -> bytes:
    return "\n\n".join(maker.choice(("", "", "# ", "## ", "> ", "- ", "1. ")) + text for text in texts).encode()


def _docx(texts: Sequence[str], maker: random.Random) -> bytes:
    import docx

    document = docx.Document()
    for text in texts:
        style = maker.choice((None, None, None, None, "Title", "Heading 1", "Heading 3", "List Bullet", "List Number", "Quote", "Caption"))
        paragraph = document.add_paragraph(style=style)
        for word in text.split(" "):
            run = paragraph.add_run(word + " ")
            run.bold, run.italic = maker.random() < 0.05 or None, maker.random() < 0.05 or None
    table = document.add_table(3, 3)
    for number, text in enumerate(texts[:9]):
        table.cell(number // 3, number % 3).text = text[:40]
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def _pptx(texts: Sequence[str], maker: random.Random) -> bytes:
    import pptx

    presentation = pptx.Presentation()
    for start in range(0, len(texts), 5):
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = texts[start]
        frame = slide.placeholders[1].text_frame
        for text in texts[start + 1 : start + 5]:
            frame.add_paragraph().text = text
            frame.paragraphs[-1].level = maker.randrange(3)
    stream = io.BytesIO()
    presentation.save(stream)
    return stream.getvalue()


def _xlsx(texts: Sequence[str], maker: random.Random) -> bytes:
    import openpyxl

    workbook = openpyxl.Workbook()
    sheet = workbook.active
    for text in texts:
        sheet.append([] if maker.random() < 0.2 else [text, *([maker.random()] * maker.randrange(3))])
    stream = io.BytesIO()
    workbook.save(stream)
    return stream.getvalue()


def _mail(texts: Sequence[str], maker: random.Random) -> bytes:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "A <a@example.org>", "b@example.org", " ".join(texts[0].split())[:60]
    message.set_content("\n\n".join(texts))
    if maker.random() < 0.5:
        message.add_alternative(_html(texts, maker).decode(), subtype="html")
    return message.as_bytes()


FORMATS: dict[str, Write] = {
    "txt": lambda texts, _: "\n\n".join(texts).encode(),
    "html": _html,
    "md": _markdown,
    "docx": _docx,
    "eml": _mail,
    "csv": lambda texts, _: "\n".join(f'"{text}",1' for text in ("head", *texts)).encode(),
    "pptx": _pptx,
    "xlsx": _xlsx,
}


def write_documents(folder: Path, count: int, seed: int = 1) -> list[Path]:
    """Writes `count` documents, of each format in turn; the same ones for the same seed."""
    files = []
    for number in range(count):
        maker = random.Random(seed * 1_000_003 + number)
        extension = list(FORMATS)[number % len(FORMATS)]
        texts = paragraphs(maker)
        path = folder / f"{number:05}.{extension}"
        path.write_bytes(FORMATS[extension](texts, maker))
        files.append(path)
    return files
