# cython: language_level=3, wraparound=False, cdivision=True, infer_types=False
"""Layout of a page: from characters to lines, from lines to boxes, and the boxes' order, as pdfminer's `LTLayoutContainer.analyze` finds them.

The comparisons are pdfminer.six 20260107's, term by term, on C doubles. What differs is how candidates are found: its `Plane` is a dictionary
of cells of 50 points with lists of objects; here each line knows its range of cells.

What is handed back, a page as a whole: vertical layout and layout without a flow of boxes, which unstructured never asks for; characters that
are not the kernel's (vertical fonts); coordinates that are no numbers or over a billion; and pages or lines of a senseless size.

Boxes at equal distances: pdfminer joins first those that lie lower in memory, so that its result depends on the allocator. Here it is the
order in which the boxes were found.
"""

from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.math cimport fabs
from libc.stdint cimport uint32_t
from libc.stdlib cimport qsort

from pdfminer.layout import IndexAssigner, LTAnno, LTChar, LTTextBoxHorizontal, LTTextGroupLRTB, LTTextLineHorizontal

from transforms.partition.pdf_kernel.characters cimport Character

from transforms.partition.pdf_kernel.tokens import HandBack

cdef object _SPACE = LTAnno(" ")            # one for all lines: nobody changes them
cdef object _LINE_FEED = LTAnno("\n")

cdef enum:
    CELL = 50               # Plane's grid size, in points
    MOST_ROWS = 1 << 20     # of cells on a page: 52 million points
    MOST_ENTRIES = 1 << 26  # of lines in rows of cells: 256 MiB

cdef double _LARGEST = 1e9  # below pdfminer's INF, and an exact C long


class KernelLine(LTTextLineHorizontal):
    """A line whose characters need no analysis of their own."""

    def analyze(self, laparams):
        """Equals `LTTextLine.analyze`."""
        self._objs.append(_LINE_FEED)


def analyze_page(page, laparams) -> bool:
    """Groups the characters of a page into boxes in reading order.

    Equals `LTLayoutContainer.analyze`.

    Returns:
      Whether it was done; False: nothing has happened that matters, and the original must do it.
    """
    cdef list characters = [], others = [], empty = [], full = [], lines, boxes
    if laparams.detect_vertical or laparams.boxes_flow is None or not _is_plain_box(page.bbox) or page.x0 != 0 or page.y0 != 0:
        return False
    for item in page._objs:
        if isinstance(item, Character):
            if not _is_plain(<Character> item):
                return False
            characters.append(item)
        elif isinstance(item, LTChar):
            return False
        else:
            others.append(item)
    if page.x1 > MOST_ROWS * CELL or page.y1 > MOST_ROWS * CELL:
        return False
    for item in others:
        item.analyze(laparams)
    if not characters:
        return True
    lines = group_characters(characters, laparams.line_overlap, laparams.char_margin, laparams.word_margin)
    for line in lines:
        (empty if _is_empty(line) else full).append(line)
    for line in empty:
        line.analyze(laparams)
    try:
        boxes = group_lines(full, page.bbox, laparams.line_margin)
    except HandBack:
        return False
    page.groups = group_boxes(boxes, page.bbox)
    assigner = IndexAssigner()
    for group in page.groups:
        group.analyze(laparams)
        assigner.run(group)
    boxes.sort(key=_index_of)
    page._objs = boxes + others + empty
    return True


def _index_of(box):
    return box.index


cdef bint _is_plain(Character character) noexcept:
    # Written so that what is no number fails.
    return (
        -_LARGEST < character.x0 < _LARGEST
        and -_LARGEST < character.y0 < _LARGEST
        and -_LARGEST < character.x1 < _LARGEST
        and -_LARGEST < character.y1 < _LARGEST
    )


cdef bint _is_plain_box(box) except -1:
    for value in box:
        if not -_LARGEST < value < _LARGEST:
            return False
    return True


# --- lines -------------------------------------------------------------------------------------------------------------------------------


cdef class _OpenLine:
    """The line that characters are being added to: `LTTextLineHorizontal.add`, without its tuples."""

    cdef list objects
    cdef double x0, y0, x1, y1
    cdef double last_x1
    cdef double word_margin
    cdef object given_word_margin

    def __cinit__(self, word_margin):
        self.given_word_margin = word_margin
        self.word_margin = word_margin
        self.objects = None

    cdef int begin(self, Character character) except -1:
        self.objects = [character]
        self.x0 = character.x0
        self.y0 = character.y0
        self.x1 = character.x1
        self.y1 = character.y1
        self.last_x1 = character.x1
        return 0

    cdef int add(self, Character character) except -1:
        cdef double margin
        if self.word_margin != 0:
            margin = self.word_margin * (character.height if character.height > character.width else character.width)
            if self.last_x1 < character.x0 - margin:
                self.objects.append(_SPACE)
        self.last_x1 = character.x1
        self.objects.append(character)
        if character.x0 < self.x0:
            self.x0 = character.x0
        if character.y0 < self.y0:
            self.y0 = character.y0
        if character.x1 > self.x1:
            self.x1 = character.x1
        if character.y1 > self.y1:
            self.y1 = character.y1
        return 0

    cdef object end(self):
        line = KernelLine.__new__(KernelLine)
        cdef dict attributes = line.__dict__
        attributes["x0"] = self.x0
        attributes["y0"] = self.y0
        attributes["x1"] = self.x1
        attributes["y1"] = self.y1
        attributes["width"] = self.x1 - self.x0
        attributes["height"] = self.y1 - self.y0
        attributes["bbox"] = (self.x0, self.y0, self.x1, self.y1)
        attributes["_objs"] = self.objects
        attributes["word_margin"] = self.given_word_margin
        attributes["_x1"] = self.last_x1
        self.objects = None
        return line


cdef list group_characters(list characters, double line_overlap, double char_margin, word_margin):
    """Groups characters that follow each other on a line; there is one at least.

    Equals `LTLayoutContainer.group_objects` without `detect_vertical`.
    """
    cdef list lines = []
    cdef _OpenLine line = _OpenLine(word_margin)
    cdef Character before = None, character
    cdef bint aligned
    for character in characters:
        if before is not None:
            aligned = _are_aligned(before, character, line_overlap, char_margin)
            if line.objects is not None:
                if aligned:
                    line.add(character)
                else:
                    lines.append(line.end())
            else:
                line.begin(before)
                if aligned:
                    line.add(character)
                else:
                    lines.append(line.end())
        before = character
    if line.objects is None:
        line.begin(before)
    lines.append(line.end())
    return lines


cdef bint _are_aligned(Character first, Character second, double line_overlap, double char_margin) noexcept:
    """`halign` of `group_objects`: they overlap vertically by enough, and are near each other horizontally."""
    cdef double overlap, other, height, distance, width
    if not (second.y0 <= first.y1 and first.y0 <= second.y1):
        return False
    overlap = fabs(first.y0 - second.y1)
    other = fabs(first.y1 - second.y0)
    if other < overlap:
        overlap = other
    height = second.height if second.height < first.height else first.height
    if not height * line_overlap < overlap:
        return False
    if second.x0 <= first.x1 and first.x0 <= second.x1:
        distance = 0
    else:
        distance = fabs(first.x0 - second.x1)
        other = fabs(first.x1 - second.x0)
        if other < distance:
            distance = other
    width = second.width if second.width > first.width else first.width
    return distance < width * char_margin


cdef bint _is_empty(line) except -1:
    """Equals `LTTextLine.is_empty`: no area, or nothing but white space (a text of no characters is not white space)."""
    cdef bint has_space = False
    cdef str text
    if line.width <= 0 or line.height <= 0:
        return True
    for item in line._objs:
        text = (<Character> item)._text if isinstance(item, Character) else item.get_text()
        if text:
            if not text.isspace():
                return False
            has_space = True
    return has_space


# --- cells -------------------------------------------------------------------------------------------------------------------------------

cdef struct Range:
    # Half open, in cells; nothing where an end is not over its start.
    long left, right, low, high

cdef struct Box:
    double x0, y0, x1, y1, width, height
    Range cells
    bint is_there           # not yet part of a group

cdef struct Plane:
    double x0, y0, x1, y1


cdef inline Range _cells(Plane plane, double x0, double y0, double x1, double y1) noexcept nogil:
    """Equals `Plane._getrange`, of a plane that begins at 0."""
    cdef Range found
    found.left = found.right = found.low = found.high = 0
    if x1 <= plane.x0 or plane.x1 <= x0 or y1 <= plane.y0 or plane.y1 <= y0:
        return found
    if plane.x0 > x0: x0 = plane.x0
    if plane.y0 > y0: y0 = plane.y0
    if plane.x1 < x1: x1 = plane.x1
    if plane.y1 < y1: y1 = plane.y1
    found.left = <long> x0 / CELL
    found.right = <long> (x1 + CELL) / CELL
    found.low = <long> y0 / CELL
    found.high = <long> (y1 + CELL) / CELL
    return found


cdef inline long _later(long a, long b) noexcept nogil:
    return a if a > b else b


cdef inline long _earlier(long a, long b) noexcept nogil:
    return a if a < b else b


cdef inline bint _share_a_cell(Range first, Range second) noexcept nogil:
    return _later(first.left, second.left) < _earlier(first.right, second.right) and (
        _later(first.low, second.low) < _earlier(first.high, second.high)
    )


cdef int _measure(Box* box, item, Plane plane) except -1:
    cdef dict attributes = item.__dict__
    box.x0 = attributes["x0"]
    box.y0 = attributes["y0"]
    box.x1 = attributes["x1"]
    box.y1 = attributes["y1"]
    box.width = attributes["width"]
    box.height = attributes["height"]
    box.cells = _cells(plane, box.x0, box.y0, box.x1, box.y1)
    box.is_there = True
    return 0


cdef void* _allocate(size_t count, size_t size) except NULL:
    cdef void* memory
    if count > (<size_t> 1 << 48) // size:
        raise MemoryError
    memory = PyMem_Malloc(count * size + 1)
    if memory is NULL:
        raise MemoryError
    return memory


# --- boxes -------------------------------------------------------------------------------------------------------------------------------

cdef struct Neighbour:
    long column             # of the first cell that it shares with the area that is searched
    long line


cdef int _compare_neighbours(const void* first, const void* second) noexcept nogil:
    cdef const Neighbour* a = <const Neighbour*> first
    cdef const Neighbour* b = <const Neighbour*> second
    if a.column != b.column:
        return -1 if a.column < b.column else 1
    return -1 if a.line < b.line else (1 if a.line > b.line else 0)


cdef class _Rows:
    """The lines of a page by rows of cells: in pdfminer's order of looking at them, row by row, then by column, then as they were added."""

    cdef Box* lines
    cdef Py_ssize_t count, rows
    cdef Py_ssize_t* starts     # of each row's part of `entries`
    cdef uint32_t* entries      # lines that have a cell in the row
    cdef Neighbour* found

    def __cinit__(self, list lines, box):
        cdef Plane plane
        cdef Py_ssize_t i, row, total = 0
        plane.x0, plane.y0, plane.x1, plane.y1 = box
        self.count = len(lines)
        self.rows = <long> (plane.y1 + CELL) // CELL
        self.lines = <Box*> _allocate(self.count, sizeof(Box))
        self.found = <Neighbour*> _allocate(self.count, sizeof(Neighbour))
        self.starts = <Py_ssize_t*> _allocate(self.rows + 2, sizeof(Py_ssize_t))
        for row in range(self.rows + 2):
            self.starts[row] = 0
        for i in range(self.count):
            _measure(&self.lines[i], lines[i], plane)
            if self.lines[i].cells.left < self.lines[i].cells.right:
                for row in range(self.lines[i].cells.low, self.lines[i].cells.high):
                    self.starts[row + 2] += 1
                    total += 1
            if total > MOST_ENTRIES:
                raise HandBack("lines of a senseless size")
        for row in range(1, self.rows + 2):
            self.starts[row] += self.starts[row - 1]
        self.entries = <uint32_t*> _allocate(total, sizeof(uint32_t))
        for i in range(self.count):
            if self.lines[i].cells.left < self.lines[i].cells.right:
                for row in range(self.lines[i].cells.low, self.lines[i].cells.high):
                    self.entries[self.starts[row + 1]] = <uint32_t> i
                    self.starts[row + 1] += 1

    def __dealloc__(self):
        PyMem_Free(self.lines)
        PyMem_Free(self.found)
        PyMem_Free(self.starts)
        PyMem_Free(self.entries)

    cdef list neighbours(self, Py_ssize_t line, Plane plane, double ratio):
        """Equals `LTTextLineHorizontal.find_neighbors` over `Plane.find`: numbers of lines, in its order."""
        cdef Box* own = &self.lines[line]
        cdef Box* other
        cdef double tolerance = ratio * own.height
        cdef double low = own.y0 - tolerance, high = own.y1 + tolerance
        cdef Range area = _cells(plane, own.x0, low, own.x1, high)
        cdef list found = []
        cdef Py_ssize_t row, i, k, there
        if area.left >= area.right:
            return found
        for row in range(area.low, area.high):
            there = 0
            for k in range(self.starts[row], self.starts[row + 1]):
                i = self.entries[k]
                other = &self.lines[i]
                if row != _later(other.cells.low, area.low):
                    continue                    # met in an earlier row
                if _later(other.cells.left, area.left) >= _earlier(other.cells.right, area.right):
                    continue
                if other.x1 <= own.x0 or own.x1 <= other.x0 or other.y1 <= low or high <= other.y0:
                    continue
                if not fabs(other.height - own.height) <= tolerance:
                    continue
                if (
                    fabs(other.x0 - own.x0) <= tolerance
                    or fabs(other.x1 - own.x1) <= tolerance
                    or fabs((other.x0 + other.x1) / 2 - (own.x0 + own.x1) / 2) <= tolerance
                ):
                    self.found[there].column = _later(other.cells.left, area.left)
                    self.found[there].line = i
                    there += 1
            qsort(self.found, there, sizeof(Neighbour), _compare_neighbours)
            for k in range(there):
                found.append(self.found[k].line)
        return found


cdef list group_lines(list lines, box, double line_margin):
    """Groups neighbouring lines into boxes. Equals `LTLayoutContainer.group_textlines`.

    Args:
      lines: none of them empty.
      box: of the page, beginning at (0, 0).
      line_margin: in heights of a line.
    """
    cdef _Rows rows = _Rows(lines, box)
    cdef Plane plane
    cdef list owners = [None] * len(lines)      # of each line: the members of its box, in their order
    cdef list members, others, boxes = []
    cdef set there, done = set()
    cdef Py_ssize_t i
    plane.x0, plane.y0, plane.x1, plane.y1 = box
    for i in range(len(lines)):
        members = [i]
        there = {i}
        for neighbour in rows.neighbours(i, plane, line_margin):
            if neighbour not in there:
                there.add(neighbour)
                members.append(neighbour)
            others = owners[neighbour]
            if others is not None:
                owners[neighbour] = None
                for other in others:
                    if other not in there:
                        there.add(other)
                        members.append(other)
        for member in members:
            owners[member] = members
    for i in range(len(lines)):
        members = owners[i]
        if members is None or id(members) in done:
            continue
        done.add(id(members))
        found = _box_of(rows, members, lines)
        if found.width > 0 and found.height > 0:
            boxes.append(found)
    return boxes


cdef object _box_of(_Rows rows, list members, list lines):
    """Equals adding the lines to an `LTTextBoxHorizontal` one by one."""
    cdef Box* line = &rows.lines[<Py_ssize_t> members[0]]
    cdef double x0 = line.x0, y0 = line.y0, x1 = line.x1, y1 = line.y1
    box = LTTextBoxHorizontal()
    cdef list objects = box._objs
    for member in members:
        line = &rows.lines[<Py_ssize_t> member]
        objects.append(lines[member])
        if line.x0 < x0: x0 = line.x0
        if line.y0 < y0: y0 = line.y0
        if line.x1 > x1: x1 = line.x1
        if line.y1 > y1: y1 = line.y1
    box.set_bbox((x0, y0, x1, y1))
    return box


# --- order -------------------------------------------------------------------------------------------------------------------------------

cdef struct Pair:
    double distance
    uint32_t first, second      # numbers of boxes or groups


cdef inline bint _is_before(Pair* a, Pair* b) noexcept nogil:
    if a.distance != b.distance:
        return a.distance < b.distance
    if a.first != b.first:
        return a.first < b.first
    return a.second < b.second


cdef class _PairHeap:
    """The nearest pair first: the heap of `group_textboxes`, 16 bytes a pair instead of a tuple with six objects."""

    cdef Pair* pairs
    cdef Py_ssize_t count, room

    def __cinit__(self, Py_ssize_t room):
        self.room = room if room > 16 else 16
        self.count = 0
        self.pairs = <Pair*> _allocate(self.room, sizeof(Pair))

    def __dealloc__(self):
        PyMem_Free(self.pairs)

    cdef int push(self, Pair pair) except -1:
        cdef Pair* larger
        cdef Py_ssize_t i, parent
        if self.count == self.room:
            larger = <Pair*> PyMem_Realloc(self.pairs, 2 * self.room * sizeof(Pair))
            if larger is NULL:
                raise MemoryError
            self.pairs = larger
            self.room *= 2
        i = self.count
        self.count += 1
        while i > 0:
            parent = (i - 1) // 2
            if not _is_before(&pair, &self.pairs[parent]):
                break
            self.pairs[i] = self.pairs[parent]
            i = parent
        self.pairs[i] = pair
        return 0

    cdef Pair pop(self) noexcept:
        """Of a heap that is not empty."""
        cdef Pair first = self.pairs[0]
        self.count -= 1
        if self.count:
            self.sink(0, self.pairs[self.count])
        return first

    cdef void sink(self, Py_ssize_t i, Pair pair) noexcept:
        cdef Py_ssize_t child
        while True:
            child = 2 * i + 1
            if child >= self.count:
                break
            if child + 1 < self.count and _is_before(&self.pairs[child + 1], &self.pairs[child]):
                child += 1
            if not _is_before(&self.pairs[child], &pair):
                break
            self.pairs[i] = self.pairs[child]
            i = child
        self.pairs[i] = pair

    cdef void order(self) noexcept:
        """Makes a heap of pairs in any order."""
        cdef Py_ssize_t i
        for i in range(self.count // 2 - 1, -1, -1):
            self.sink(i, self.pairs[i])


cdef inline double _wasted(Box* a, Box* b) noexcept nogil:
    """`dist` of `group_textboxes`: the area around both, less their own."""
    cdef double x0 = b.x0 if b.x0 < a.x0 else a.x0, y0 = b.y0 if b.y0 < a.y0 else a.y0
    cdef double x1 = b.x1 if b.x1 > a.x1 else a.x1, y1 = b.y1 if b.y1 > a.y1 else a.y1
    return (x1 - x0) * (y1 - y0) - a.width * a.height - b.width * b.height


cdef class _Grouping:
    """Boxes and the groups made of them, numbered in the order in which they came."""

    cdef Box* boxes
    cdef Py_ssize_t count
    cdef Py_ssize_t* there          # numbers of those that are no part of a group, in order
    cdef Py_ssize_t there_count
    cdef Py_ssize_t* blockers       # of each box: what stood between it and another the last time
    cdef Plane plane

    def __cinit__(self, list boxes, box):
        cdef Py_ssize_t i, room = 2 * len(boxes) + 1
        self.plane.x0, self.plane.y0, self.plane.x1, self.plane.y1 = box
        self.boxes = <Box*> _allocate(room, sizeof(Box))
        self.there = <Py_ssize_t*> _allocate(room, sizeof(Py_ssize_t))
        self.blockers = <Py_ssize_t*> _allocate(room, sizeof(Py_ssize_t))
        for i in range(len(boxes)):
            self.add(boxes[i])

    def __dealloc__(self):
        PyMem_Free(self.boxes)
        PyMem_Free(self.there)
        PyMem_Free(self.blockers)

    cdef int add(self, item) except -1:
        _measure(&self.boxes[self.count], item, self.plane)
        self.blockers[self.count] = self.count
        self.there[self.there_count] = self.count
        self.there_count += 1
        self.count += 1
        return 0

    cdef void remove(self, Py_ssize_t first, Py_ssize_t second) noexcept:
        cdef Py_ssize_t i, kept = 0
        self.boxes[first].is_there = self.boxes[second].is_there = False
        for i in range(self.there_count):
            if self.boxes[self.there[i]].is_there:
                self.there[kept] = self.there[i]
                kept += 1
        self.there_count = kept

    cdef bint is_any_between(self, Py_ssize_t first, Py_ssize_t second) noexcept:
        """`isany` of `group_textboxes`: whether another one overlaps the area around both."""
        cdef Box* a = &self.boxes[first]
        cdef Box* b = &self.boxes[second]
        cdef Box around
        cdef Py_ssize_t i
        around.x0 = b.x0 if b.x0 < a.x0 else a.x0
        around.y0 = b.y0 if b.y0 < a.y0 else a.y0
        around.x1 = b.x1 if b.x1 > a.x1 else a.x1
        around.y1 = b.y1 if b.y1 > a.y1 else a.y1
        around.cells = _cells(self.plane, around.x0, around.y0, around.x1, around.y1)
        if self.is_between(self.blockers[first], first, second, &around) or self.is_between(self.blockers[second], first, second, &around):
            return True
        for i in range(self.there_count):
            if self.is_between(self.there[i], first, second, &around):
                self.blockers[first] = self.blockers[second] = self.there[i]
                return True
        return False

    cdef bint is_between(self, Py_ssize_t candidate, Py_ssize_t first, Py_ssize_t second, Box* around) noexcept:
        cdef Box* other = &self.boxes[candidate]
        if not other.is_there or candidate == first or candidate == second:
            return False
        if other.x1 <= around.x0 or around.x1 <= other.x0 or other.y1 <= around.y0 or around.y1 <= other.y0:
            return False
        return _share_a_cell(other.cells, around.cells)


cdef list group_boxes(list boxes, box):
    """Joins boxes to groups, the nearest first, until one is left; their order is the reading order.

    Equals `LTLayoutContainer.group_textboxes` of horizontal boxes, but for pairs at equal distances: see the module.

    Args:
      boxes: `LTTextBoxHorizontal`s.
      box: of the page, beginning at (0, 0).
    """
    cdef Py_ssize_t count = len(boxes), i, k
    cdef list items = list(boxes)
    cdef _Grouping grouping = _Grouping(boxes, box)
    cdef _PairHeap near = _PairHeap(count * (count - 1) // 2)   # not yet known whether something is between them
    cdef _PairHeap blocked = _PairHeap(16)                      # something is: their turn comes when `near` is empty
    cdef Pair pair
    cdef bint is_new
    for i in range(count):
        for k in range(i + 1, count):
            pair.distance = _wasted(&grouping.boxes[i], &grouping.boxes[k])
            pair.first = <uint32_t> i
            pair.second = <uint32_t> k
            near.pairs[near.count] = pair
            near.count += 1
    near.order()
    while near.count or blocked.count:
        is_new = near.count > 0
        pair = near.pop() if is_new else blocked.pop()
        if not (grouping.boxes[pair.first].is_there and grouping.boxes[pair.second].is_there):
            continue
        if is_new and grouping.is_any_between(pair.first, pair.second):
            blocked.push(pair)
            continue
        group = LTTextGroupLRTB([items[pair.first], items[pair.second]])
        items.append(group)
        grouping.remove(pair.first, pair.second)
        grouping.add(group)
        pair.first = <uint32_t> (grouping.count - 1)
        for i in range(grouping.there_count - 1):
            pair.second = <uint32_t> grouping.there[i]
            pair.distance = _wasted(&grouping.boxes[pair.first], &grouping.boxes[pair.second])
            near.push(pair)
    return [items[grouping.there[i]] for i in range(grouping.there_count)]
