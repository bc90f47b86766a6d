from typing import Any

from pdfminer.layout import LTTextLineHorizontal

class KernelLine(LTTextLineHorizontal): ...

def analyze_page(page: Any, laparams: Any) -> bool: ...
