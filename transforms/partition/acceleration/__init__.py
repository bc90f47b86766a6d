"""Makes unstructured's partitioners several times faster without a change to any element that they give.

Each module here is one way to the same result with less work, and says why it is the same one: the classification of texts (`words`,
`verbs`, `sentences`, `classification`), of all texts of a document together (`documents`), the detection of languages (`languages`), the
records that elements are made of (`metadata`), and the reading of DOCX and PPTX (`xml_paths`). `installation` puts them in place, if they
were proven against what is installed. `benchmarks/identical.py FOLDER` compares all elements of any folder with the untouched library's.
"""
