"""What is made of tokens alone, and the row of the token that ends a text, as torch has them."""

import numpy as np
import pytest
from onnx import TensorProto
from test_counted_places import F32, I64, RNG, TABLE, check, node, saved

import tacit

START, END, PADDING = 2, 3, 1


def shifted(padded):
    """Tokens one place on, behind one that begins them, as decoders are fed."""
    nodes = [
        node("Slice", "x", "zero", "before", "axis", "some"),
        node("Shape", "x", "n", start=0, end=1),
        node("Concat", "n", "one", "s", axis=0),
        node("ConstantOfShape", "s", "zeros"),
        node("Cast", "zeros", "whole", to=TensorProto.INT64),
        node("Add", "whole", "start", "first"),
        node("Concat", "first", "some", "ids", axis=1),
        node("Equal", "ids", "missing", "gone"),
        node("Where", "gone", "padding", "ids", "told"),
    ]
    ends = [
        node("Gather", "table", "x", "own"),
        node("Gather", "table", "told" if padded else "ids", "other"),
        node("Mul", "other", "by", "scaled"),
        node("Add", "own", "scaled", "y"),
    ]
    return [*(nodes if padded else nodes[:-2]), *ends]


SHIFTED = {
    "zero": I64([0]),
    "before": I64([-1]),
    "axis": I64([1]),
    "one": I64([1]),
    "start": I64(START),
    "missing": I64(-100),
    "padding": I64(PADDING),
    "by": np.arange(1, 9, dtype=F32)[:, None],
    "table": TABLE,
}


@pytest.mark.parametrize("protocol", ["clear", "falcon"])
@pytest.mark.parametrize("padded", [False, True])
def test_tokens_beside_known_ones(tmp_path, padded, protocol):
    """Known tokens and others choose rows as tokens do, without a comparison."""
    x = RNG.integers(0, 20, (12, 8))
    check(tmp_path, shifted(padded), {"x": x}, protocol, **SHIFTED)
    layers = tacit.compile(tmp_path / "m.onnx").plan["layers"]
    assert not [layer for layer in layers if layer["op"] == "NonNegative"]


def test_a_known_token_beyond_its_table_is_refused(tmp_path):
    constants = SHIFTED | {"start": I64(20)}
    saved(tmp_path / "m.onnx", shifted(False), {"x": RNG.integers(0, 20, (12, 8))}, constants)
    with pytest.raises(tacit.CompileError, match="its index 20 is beyond a table of 20 rows"):
        tacit.compile(tmp_path / "m.onnx")


@pytest.mark.parametrize("form", ["one number", "a number each", "another token"])
def test_choices_of_tokens(tmp_path, form):
    """Unknown words as one: `where(x >= 9, 1, x)`, and what is no function of one token."""
    rows = np.arange(8) % 3 if form == "a number each" else 1
    other = "turned" if form == "another token" else "word"
    nodes = [
        node("Slice", "x", "end", "begin", "axis", "back", "turned"),
        node("GreaterOrEqual", "x", "limit", "unknown"),
        node("Where", "unknown", other, "x", "known"),
        node("Gather", "table", "x", "own"),
        node("Gather", "table", "known", "others"),
        node("Sub", "own", "others", "y"),
    ]
    ends = {"end": I64([-1]), "begin": I64([-9]), "axis": I64([1]), "back": I64([-1])}
    constants = {"limit": I64(9), "word": np.asarray(rows, I64), "table": TABLE, **ends}
    check(tmp_path, nodes, {"x": RNG.integers(0, 20, (12, 8))}, **constants)
    layers = tacit.compile(tmp_path / "m.onnx").plan["layers"]
    looked_up = not [layer for layer in layers if layer["op"] == "NonNegative"]
    assert looked_up == (form == "one number")


def test_words_beyond_a_table(tmp_path):
    """`where(x >= 20, 1, x)` alone tells of which tokens: those of the table and one beyond."""
    nodes = [
        node("GreaterOrEqual", "x", "limit", "unknown"),
        node("Where", "unknown", "word", "x", "known"),
        node("Gather", "table", "known", "y"),
    ]
    constants = {"limit": I64(20), "word": I64(1), "table": TABLE}
    x = RNG.integers(0, 21, (12, 8))
    check(tmp_path, nodes, {"x": x}, **constants)
    model = tacit.compile(tmp_path / "m.onnx")
    with pytest.raises(tacit.InputError, match="from 0 to 20"):
        tacit.local("clear").predict(model, x + 1)


def test_lengths_that_are_clipped(tmp_path):
    """`h.gather(1, (n - 1).clamp(min=0))`: of a length of 0 the first step is taken."""
    nodes = [
        node("Sub", "n", "one", "before"),
        node("Clip", "before", "zero", "place"),
        node("Unsqueeze", "place", "axis", "places"),
        node("GatherElements", "x", "places", "y", axis=1),
    ]
    x = RNG.standard_normal((12, 8)).astype(F32)
    n = RNG.integers(0, 9, 12)
    n[0] = 0
    check(tmp_path, nodes, {"x": x, "n": n}, one=I64(1), zero=I64(0), axis=I64([1]))


def of_ends(place, marks="ends"):
    """`h[mask].view(len(x), -1, 3)[:, place]`."""
    return [
        node("Gather", "table", "x", "g"),
        node("Mul", "g", "by", "h"),
        node("Equal", "x", "end", "ends"),
        node("Cast", "ends", "numbers", to=TensorProto.INT64),
        node("NonZero", marks, "places"),
        node("Transpose", "places", "turned", perm=[1, 0]),
        node("GatherND", "h", "turned", "rows"),
        node("Shape", "h", "n", start=0, end=1),
        node("Concat", "n", "each", "width", "s", axis=0),
        node("Reshape", "rows", "s", "beside"),
        node("Gather", "beside", place, "y", axis=1),
    ]


ENDS = {
    "end": I64(END),
    "each": I64([-1]),
    "width": I64([3]),
    "last": I64(-1),
    "first": I64(0),
    "by": SHIFTED["by"],
    "table": TABLE,
}


def ended(items, ends):
    """Texts with the token that ends them at some places each."""
    x = RNG.integers(4, 20, (items, 8))
    for row in x:
        row[RNG.choice(8, ends, replace=False)] = END
    return x


@pytest.mark.parametrize("protocol", ["clear", "falcon"])
@pytest.mark.parametrize("ends", [1, 3])
@pytest.mark.parametrize("place", ["last", "first"])
def test_the_row_of_the_token_that_ends(tmp_path, place, ends, protocol):
    check(tmp_path, of_ends(place), {"x": ended(12, ends)}, protocol, **ENDS)


@pytest.mark.parametrize("by", [1, 3, -2])
def test_the_row_of_a_mark_that_is_a_number(tmp_path, by):
    """Any number but 0 marks a row."""
    nodes = of_ends("last", "more")
    nodes.insert(4, node("Mul", "numbers", "factor", "more"))
    check(tmp_path, nodes, {"x": ended(12, 2)}, factor=I64(by), **ENDS)


@pytest.mark.parametrize("wrong", ["axes of the mask", "items", "rows of items"])
def test_other_rows_of_a_mask_are_refused(tmp_path, wrong):
    """Where the mask has the axes of all numbers, or rows are put beside each other otherwise."""
    nodes = of_ends("last")
    if wrong == "axes of the mask":
        nodes[2] = node("Greater", "h", "low", "ends")
    sizes = {"axes of the mask": None, "items": [0, -1, 3], "rows of items": [2, -1, 3]}[wrong]
    if sizes:
        nodes[-2] = node("Reshape", "rows", "sizes", "beside")
    constants = ENDS | {"low": F32(0), "sizes": I64(sizes or [1])}
    saved(tmp_path / "m.onnx", nodes, {"x": ended(4, 1)}, constants, items=4)
    with pytest.raises(tacit.CompileError):
        tacit.compile(tmp_path / "m.onnx")


def test_rows_of_a_constant_mask(tmp_path):
    """Rows that are known are chosen as places are."""
    nodes = [
        node("Gather", "table", "x", "h"),
        node("NonZero", "mask", "places"),
        node("Transpose", "places", "turned", perm=[1, 0]),
        node("GatherND", "h", "turned", "rows"),
        node("Reshape", "rows", "sizes", "beside"),
        node("Gather", "beside", "last", "y", axis=1),
    ]
    mask = np.arange(8)[None] % 3 == 1
    constants = {"mask": mask, "sizes": I64([1, -1, 3]), "last": I64(-1), "table": TABLE}
    x = RNG.integers(0, 20, (1, 8))
    saved(tmp_path / "m.onnx", nodes, {"x": x}, constants, items=1)
    found = tacit.local("clear").predict(tacit.compile(tmp_path / "m.onnx"), x[None]).output
    np.testing.assert_allclose(found.ravel(), TABLE[x[0, 7]], atol=2e-3)


@pytest.mark.parametrize("pads", [[0, 0, 0, 0], [0, 0, 0, -1]])
def test_truths_of_padded_tokens(tmp_path, pads):
    """A fill that fills nothing in ended in no end: the input was asked for as what it was."""
    nodes = [
        node("Pad", "x", "pads", "fill", "p"),
        node("Cast", "p", "b", to=TensorProto.BOOL),
        node("Cast", "b", "y", to=TensorProto.FLOAT),
    ]
    x = RNG.integers(0, 2, (12, 8))
    check(tmp_path, nodes, {"x": x}, pads=I64(pads), fill=I64(-2))


def test_items_that_end_differently(tmp_path):
    """Each by itself, where onnxruntime fails. Without a mark the row is zeros."""
    x = ended(3, 1)
    x[1, :4] = END
    x[2] = 5
    saved(tmp_path / "m.onnx", of_ends("last"), {"x": x}, ENDS)
    found = tacit.local("clear").predict(tacit.compile(tmp_path / "m.onnx"), x).output
    last = [np.flatnonzero(row == END)[-1] for row in x[:2]]
    right = [TABLE[END] * (at + 1) for at in last]
    np.testing.assert_allclose(found, [*right, np.zeros(3)], atol=2e-3)


def test_another_place_of_what_a_mask_leaves_is_refused(tmp_path):
    saved(tmp_path / "m.onnx", of_ends("second"), {"x": ended(9, 3)}, ENDS | {"second": I64(1)})
    with pytest.raises(tacit.CompileError, match="NonZero"):
        tacit.compile(tmp_path / "m.onnx")
