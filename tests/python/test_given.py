"""What may be given in place of an array, and what is refused without a word of what it holds."""

import subprocess
import sys

import numpy as np
import pytest
from nets import Net
from onnx import TensorProto

import tacit
from tacit.given import array, columns

CLEAR = tacit.local(protocol="clear")


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """A model of four columns, `(n, 4)` to `(n, 3)`."""
    path = tmp_path_factory.mktemp("rows") / "m.onnx"
    net = Net((4,), 1)
    net.save(path, net.linear("x", 4, 3))
    return tacit.compile(path, input_range=100)


@pytest.fixture(scope="module")
def apart(tmp_path_factory):
    """A model with an input for each column, as skl2onnx writes it of a data frame."""
    path = tmp_path_factory.mktemp("apart") / "m.onnx"
    inputs = [(name, TensorProto.FLOAT, ["N", 1]) for name in ("age", "income")]
    net = Net((), 2, inputs)
    joined = net("Concat", "age", "income", axis=1)
    net.save(path, net.linear(joined, 2, 3))
    return tacit.compile(path, input_range=100)


TABLE = {
    "a": np.array([1.5, -2.0, 3.25]),
    "b": np.array([4, 5, 6]),
    "c": np.array([True, False, True]),
    "d": np.array([0.5, 0.25, 0.125], np.float32),
}
MATRIX = np.stack([column.astype(np.float32) for column in TABLE.values()], axis=1)


@pytest.fixture(params=["pandas", "polars"])
def frame(request):
    """Makes a data frame of a mapping of columns."""
    library = pytest.importorskip(request.param, reason=f"{request.param} is not installed")
    return library.DataFrame


def test_a_frame_is_its_columns_in_their_order(frame, rows):
    np.testing.assert_array_equal(rows.reference(frame(TABLE)), rows.reference(MATRIX))
    result = CLEAR.predict(rows, frame(TABLE))
    np.testing.assert_allclose(result.output, rows.reference(MATRIX), atol=1e-3)
    turned = frame(dict(reversed(TABLE.items())))
    np.testing.assert_array_equal(rows.reference(turned), rows.reference(MATRIX[:, ::-1]))


def test_columns_find_the_inputs_of_their_names(frame, apart):
    given = {"age": np.array([30.0, 40.0]), "income": np.array([1, 2])}
    wanted = apart.reference({name: column[:, None] for name, column in given.items()})
    for order in (given, dict(reversed(given.items()))):
        np.testing.assert_array_equal(apart.reference(frame(order)), wanted)
    held = {name: frame({name: column}) for name, column in given.items()}
    np.testing.assert_array_equal(apart.reference(held), wanted)
    for held, words in (({"age": [1]}, "'income' is missing"), ({"x": [1]}, "reads no input 'x'")):
        with pytest.raises(tacit.TacitError, match=words):
            apart.reference(frame(held))


def test_columns_that_nothing_reads_are_left_out(frame, tmp_path):
    """A file may declare inputs for columns that a pipeline drops: its own data frame has them."""
    path = tmp_path / "m.onnx"
    inputs = [(name, TensorProto.FLOAT, ["N", 1]) for name in ("age", "name", "income")]
    net = Net((), 2, inputs)
    net.save(path, net.linear(net("Concat", "age", "income", axis=1), 2, 3))
    given = {"age": [30.0, 40.0], "name": ["a", "b"], "income": [1.0, 2.0]}
    read = {name: np.array(given[name])[:, None] for name in ("age", "income")}
    for samples in (frame(given), {**read, "name": np.zeros((2, 1))}, read):
        model = tacit.compile(path, samples=samples, input_range=100)
        np.testing.assert_array_equal(model.reference(samples), model.reference(read))
    with pytest.raises(tacit.TacitError, match="reads no input 'other'; it reads age, income"):
        model.reference(frame({**given, "other": [1.0, 2.0]}))
    with pytest.raises(
        tacit.CompileError, match="reads no input 'other'; it reads 'age', 'income'"
    ):
        tacit.compile(path, samples={**read, "other": np.zeros((2, 1))})


def test_columns_of_texts_are_named_and_not_shown(frame, rows):
    secret = "Rumpelstiltskin"
    texts = {**TABLE, "b": [secret] * 3, "d": ["x"] * 3}
    with pytest.raises(tacit.TacitError) as refused:
        rows.reference(frame(texts))
    said = str(refused.value)
    assert "'b' (" in said and "'d' (" in said and "'a'" not in said
    assert secret not in said and "train" in said
    with pytest.raises(tacit.TacitError, match="no numbers in column 'd'"):
        rows.reference(frame({**TABLE, "d": ["x"] * 3}))


def test_categories_are_not_shown_by_their_type():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    column = pandas.Categorical(["Rumpel", "Stilz", "Rumpel"])
    with pytest.raises(tacit.TacitError, match=r"'a' \(category\)") as refused:
        columns("the frame", pandas.DataFrame({"a": column}))
    assert "Rumpel" not in str(refused.value)
    polars = pytest.importorskip("polars", reason="polars is not installed")
    column = polars.Series("a", ["Rumpel", "Stilz"], dtype=polars.Enum(["Rumpel", "Stilz"]))
    with pytest.raises(tacit.TacitError, match=r"'a' \(Enum\)") as refused:
        columns("the frame", polars.DataFrame([column]))
    assert "Rumpel" not in str(refused.value)


def test_columns_whose_names_are_numbers(rows):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    held = pandas.DataFrame({0: [1.0], 1: ["x"], 2: [2.0]})
    with pytest.raises(tacit.TacitError, match=r"no numbers in column '1' \((object|str)\)"):
        rows.reference(held)
    held.columns = ["a", "a", "a"]
    with pytest.raises(tacit.TacitError, match=r"no numbers in column 'a'"):
        rows.reference(held)


def test_what_is_missing_is_told_by_column_and_item(frame, rows):
    holes = {**TABLE, "b": [4, None, 6]}
    with pytest.raises(tacit.TacitError, match="column 'b': item 1 is nan"):
        rows.reference(frame(holes))


def test_numbers_that_may_be_missing_are_numbers(rows):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame(TABLE).astype({"a": "Float64", "b": "Int64", "c": "boolean"})
    np.testing.assert_array_equal(rows.reference(frame), rows.reference(MATRIX))
    frame.loc[2, "c"] = pandas.NA
    with pytest.raises(tacit.TacitError, match="column 'c': item 2 is nan"):
        rows.reference(frame)


def test_another_number_of_columns(frame, rows):
    with pytest.raises(tacit.TacitError, match="has 2 columns, the model takes 4 an item"):
        rows.reference(frame({"a": [1.0], "b": [2.0]}))


def test_integers_that_float32_cannot_hold_are_named(frame, rows):
    with pytest.raises(tacit.TacitError, match=r"column 'b'.* integers that float32") as refused:
        rows.reference(frame({**TABLE, "b": [4, 2**53 + 1, 6]}))
    assert "9007199254740993" not in str(refused.value)


@pytest.mark.parametrize("lost", [2.0**24 + 1, -1609459201.0, 2.0**53 - 1])
def test_whole_doubles_are_held_as_integers_are(rows, lost):
    """`t - 1609459201.0` of seconds would be off by a hundred of them."""
    given = MATRIX.astype(np.float64)
    given[1, 2] = lost
    with pytest.raises(tacit.TacitError, match="integers that float32 cannot represent"):
        rows.reference(given)
    rows.reference(given.astype(np.float32))
    for kept in (2.0**24 + 1.5, 2.0**24 + 2, 2.0**53 + 2, 0.1):
        given[1, 2] = kept
        rows.reference(given)


def test_a_column_alone(frame):
    np.testing.assert_array_equal(array("it", frame(TABLE)["b"]), TABLE["b"])


def test_tensors(rows):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    wanted = rows.reference(MATRIX)
    tensor = torch.from_numpy(MATRIX)
    asking = tensor.clone().requires_grad_()
    lists = (list(tensor), tuple(tensor), MATRIX.tolist())
    for given in (tensor, asking, tensor.double(), tensor.T.contiguous().T, *lists):
        np.testing.assert_array_equal(rows.reference(given), wanted)
    # These numbers are exact in 8 bits.
    half = tensor.bfloat16()
    np.testing.assert_array_equal(rows.reference(half), wanted)
    labels = torch.tensor(wanted.argmax(1))
    assert CLEAR.predict(rows, tensor, labels).report.accuracy == 1
    for bad in (tensor.to_sparse(), tensor.to(torch.complex64)):
        with pytest.raises(tacit.TacitError, match=r"dense|real numbers"):
            rows.reference(bad)


def test_samples_may_be_tensors(digits_path, digits_samples):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    model = tacit.compile(digits_path, samples=torch.from_numpy(digits_samples))
    assert model.plan == tacit.compile(digits_path, samples=digits_samples).plan


def test_lists_of_unlike_items_are_refused_without_their_values(rows):
    with pytest.raises(tacit.TacitError, match="items differ in shape") as refused:
        rows.reference([[1.0, 2.0, 3.0, 4.0], [98765.0]])
    assert "98765" not in str(refused.value)


def test_masked_elements_are_refused_without_their_values():
    numbers = np.float32([[1, 7], [2, 3]])
    with pytest.raises(tacit.InputError, match="are masked"):
        array("the input", np.ma.masked_greater(numbers, 5))
    assert np.array_equal(array("the input", np.ma.masked_array(numbers)), numbers)


def test_nothing_else_is_imported():
    code = "import sys, tacit; print({'torch', 'pandas', 'polars', 'sklearn'} & set(sys.modules))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "set()"
