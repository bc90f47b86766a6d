"""The PDF kernel: pdfminer's text layer in native code, with the same elements to the last bit, and a way around it.

    tokens.pyx      characters -> tokens                pdfminer.psparser.PSBaseParser
    objects.pyx     tokens -> objects of a file         pdfminer.psparser.PSStackParser, for PDFParser and CMapParser
    content.pyx     tokens -> operators, and their loop pdfminer.pdfinterp.PDFContentParser, PDFPageInterpreter.execute
    characters.pyx  strings -> characters with boxes    pdfminer.pdfdevice.PDFTextDevice, pdfminer.layout.LTChar
    layout.pyx      characters -> lines, boxes, order   pdfminer.layout.LTLayoutContainer
    texts.pyx       boxes -> texts and words            unstructured.partition.pdf_image.pdfminer_utils
    pages.py        pages -> elements                   unstructured.partition.pdf._process_pdfminer_pages
    installation.py puts all that in place, after a self-test, and only for the versions that it was proven against

Each function names the one whose results it must equal. Anything odd is handed back to that one: the kernel has no way of its own to read a
PDF, only a faster one where all is as usual.
"""

from transforms.partition.pdf_kernel.installation import KernelState, availability, install, slow_because, state, uninstall

__all__ = ["KernelState", "availability", "install", "slow_because", "state", "uninstall"]
