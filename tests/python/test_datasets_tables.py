"""Data sets from tables: CSV and Parquet, and what is wrong with wrong ones."""

import gzip
import sys

import numpy as np
import pytest
from sets import refuses

from tacit import TacitError
from tacit.datasets import load

ROWS = """age,town,income,well
30,Bern,1e3,yes
40,"Basel, BS",2000,no
50,Bern,-3000.5,yes
"""


@pytest.fixture
def table(tmp_path):
    """Writes a table and returns the source that names it."""

    def write(text, options="", name="train.csv"):
        file = tmp_path / name
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return f"csv:{file}{options}"

    return write


def test_numbers_and_texts(table):
    train = load(table(ROWS, ":label=well"), "train")
    expected = [[30, 0, 1, 1000], [40, 1, 0, 2000], [50, 0, 1, -3000.5]]
    np.testing.assert_array_equal(train.x, np.float32(expected))
    assert (train.x.dtype, train.y.dtype) == (np.float32, np.int64)
    assert (train.y.tolist(), train.classes, train.names) == ([1, 0, 1], 2, ["no", "yes"])
    assert train.schema.features == ["age", "town=Basel, BS", "town=Bern", "income"]


def test_gzip_byte_order_marks_and_blank_lines(table):
    text = ("\ufeff" + ROWS.replace("\n", "\r\n\r\n")).encode()
    train = load(table(gzip.compress(text), ":label=well", "train.csv.gz"), "train")
    assert (len(train), train.schema.columns[0].name) == (3, "age")


def test_tables_read_in_parts(table, monkeypatch):
    source = table(ROWS, ":label=well,normalise=yes")
    whole = load(source, "train")
    monkeypatch.setattr("tacit.datasets.rows.CELLS", 5)
    parts = load(source, "train")
    np.testing.assert_allclose(parts.x, whole.x, rtol=1e-6)
    assert (parts.y.tolist(), parts.names) == (whole.y.tolist(), whole.names)


@pytest.mark.parametrize("label", ["2", "-1"])
def test_without_a_header(label, table):
    train = load(table("1,a,0\n2,b,1", f":label={label}"), "train")
    np.testing.assert_array_equal(train.x, [[1, 1, 0], [2, 0, 1]])
    assert [column.name for column in train.schema.columns] == ["0", "1"]


def test_headers_that_must_be_told(table):
    texts, numbers = table("a,b\nc,d", name="texts.csv"), table("0,1\n5,6", name="numbers.csv")
    assert len(load(f"{texts}:label=1", "train")) == 1
    assert len(load(f"{texts}:label=1,header=no", "train")) == 2
    assert len(load(f"{numbers}:label=1", "train")) == 2
    assert len(load(f"{numbers}:label=1,header=yes", "train")) == 1


def test_the_test_file_is_encoded_as_the_train_file(table):
    train = load(table(ROWS, ":label=well,normalise=yes"), "train")
    ages = np.array([30, 40, 50])
    np.testing.assert_allclose(train.x[:, 0], (ages - 40) / ages.std(), rtol=1e-6)
    source = table("well,income,town,age\nno,1000,Bern,60\n", name="test.csv")
    test = load(source, "test", schema=train.schema)
    assert (test.y.tolist(), test.classes, test.schema) == ([0], 2, train.schema)
    np.testing.assert_allclose(test.x[0, 0], 20 / ages.std(), rtol=1e-6)
    np.testing.assert_array_equal(test.x[0, 1:], train.x[0, 1:])
    named = f"{source}:label=well,normalise=yes,train={table(ROWS)[4:]}"
    np.testing.assert_array_equal(load(named, "test").x, test.x)
    refuses(source, r"schema=train_set\.schema.*train=FILE", "test")
    with pytest.raises(TacitError, match="the schema's label is 'well'"):
        load(f"{source}:label=age", "test", schema=train.schema)


def test_columns_that_options_choose(table):
    train = load(table(ROWS, ":label=-1,text=age,drop=town+2"), "train")
    np.testing.assert_array_equal(train.x, np.eye(3))
    assert train.schema.dropped == ("town", "income")


def test_labels_that_are_numbers(table):
    train = load(table("x,y\n1,10\n2,9.0\n3,-1\n", ":label=y"), "train")
    assert (train.y.tolist(), train.names) == ([2, 1, 0], ["-1", "9", "10"])
    test = load(table("x,y\n1,9\n1,1e1", name="test.csv"), "test", schema=train.schema)
    assert test.y.tolist() == [1, 2]


def test_regression(table):
    source = table("x,y\n1,0.5\n2,-3\n")
    refuses(f"{source}:label=y", "'y' has fractions.*task=regression")
    train = load(f"{source}:label=y,task=regression", "train")
    assert (train.y.tolist(), train.y.dtype, train.classes) == ([0.5, -3], np.float32, None)
    np.testing.assert_array_equal(train.targets(), [[0.5], [-3]])


def test_a_column_of_one_number_is_not_blown_up(table):
    rows = "".join(f"0.1,{i % 2}\n" for i in range(1000))
    x = load(table(rows, ":label=1,normalise=yes"), "train").x
    assert np.abs(x).max() < 1e-6


def test_large_numbers_keep_their_small_differences(table):
    rows = "".join(f"{1e9 + i % 2},{i % 2}\n" for i in range(1000))
    x = load(table(rows, ":label=1,normalise=yes"), "train").x
    np.testing.assert_array_equal(x[:2, 0], [-1, 1])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("age,well\n", "a header and no rows"),
        ("age;well\n1;2\n", "one column: separate cells by commas"),
        ("age,town\n1,a\n", "no column 'well'; it has 'age', 'town'"),
        ("age,age,well\n1,2,a\n", "2 columns 'age'"),
        ("age,well\n1,a\n2\n", "row 3: 1 cells instead of 2"),
        ("age,well\n1,a\n2,b,c\n", "row 3: 3 cells instead of 2"),
        ("age,well\n1,a\n,b\n", "row 3, column 'age': the cell is empty"),
        ("age,well\n1,a\n2,\n", "row 3, column 'well': the cell is empty"),
        ("age,well\n1,a\n2,b\n?,b\n", "row 4, column 'age': '[?]' is no number.*text=age"),
        ("age,well\n1,a\nnan,b\n3,a\n", "row 3, column 'age': 'nan' is no number"),
        ("age,well\n1,a\n1_000,b\n3,a\n", "row 3, column 'age': '1_000' is no number"),
        ("age,well\n1,a\n1e39,b\n", "row 3, column 'age': '1e39' is no number that float32"),
        ('age,well\n1,"a\n', "cannot be read as a CSV table.*unexpected end"),
        ("age,well\n1," + 140000 * "a", "cannot be read as a CSV.*field limit"),
        (b"age,well\n1,\xff\n", "cannot be read as a CSV table in UTF-8"),
        (gzip.compress(ROWS.encode())[:-9], "cannot be read as a CSV"),
    ],
)
def test_wrong_csv_files(text, words, table):
    refuses(table(text, ":label=well"), words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("60,Genf,1,no", "row 2, column 'town': 'Genf' is not in the train file.*'Bern'"),
        ("60,Bern,1,maybe", "row 2, column 'well': 'maybe' is not in the train file"),
        ("old,Bern,1,no", "row 2, column 'age': 'old' is no number"),
        ("60,,1,no", "row 2, column 'town': the cell is empty"),
    ],
)
def test_wrong_test_files(text, words, table):
    train = load(table(ROWS, ":label=well"), "train")
    for header, reason in (
        ("age,town,income,well", words),
        ("age,city,income,well", "lacks column 'town'"),
        ("age,town,income,well,x", "has more than the train file: column 'x'|4 cells instead"),
    ):
        source = table(f"{header}\n{text}\n", name="test.csv")
        with pytest.raises(TacitError, match=reason):
            load(source, "test", schema=train.schema)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (":label=well,train=train.csv", "train= says how a test file is encoded"),
        ("", "say which column to learn with label=NAME"),
        (":label=4", "no column '4'"),
        (":label=well,drop=well", "leaves no label"),
        (":label=well,drop=age+town+income", "nothing to learn it from"),
        (":label=well,task=classify", "task=classify: one of classes, regression"),
        (":label=well,task=regression", "row 2, column 'well': 'yes' is no number"),
        (":label=well,normalise=1", "normalise=1: one of no, yes"),
        (":label=well,header=maybe", "one of auto, yes, no"),
    ],
)
def test_wrong_options(options, words, table):
    refuses(table(ROWS, options), words)


def test_too_many_categories(table):
    rows = "".join(f"person {i},{i},0\n" for i in range(1001))
    refuses(table(rows, ":label=1"), "label '1' has.*more than 1000 different")
    refuses(table(rows, ":label=1,task=regression"), "more than 1000 different texts.*drop=0")


def test_files_that_fill_the_memory(table, monkeypatch):
    """Long lines, bombs and one-hot texts are refused before they are held."""
    refuses(table(gzip.compress(bytes(5 << 20)), ":label=1"), "a line of more than")
    monkeypatch.setattr("tacit.data.LIMIT", 1 << 14)
    refuses(table(gzip.compress(b"1,0\n" * (5000)), ":label=1"), "unpacks to more than 16,384")
    assert len(load(table(b"1,0\n" * (5000), ":label=1"), "train")) == 5000
    monkeypatch.setattr("tacit.datasets.tables.SIZE", 10000)
    rows = "".join(f"person {i},0\n" for i in range(100))
    refuses(table(rows, ":label=1"), "too large: 100 numbers for each row")


def test_parquet(tmp_path):
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "train.parquet"
    columns = {
        "age": [30, 40, 50],
        "tall": [True, False, True],
        "town": arrow.array(["Bern", "Basel", "Bern"]).dictionary_encode(),
        "well": [1, 0, 1],
    }
    parquet.write_table(arrow.table(columns), file)
    train = load(f"parquet:{file}:label=well", "train")
    np.testing.assert_array_equal(train.x, [[30, 1, 0, 1], [40, 0, 1, 0], [50, 1, 0, 1]])
    assert (train.y.tolist(), train.names) == ([1, 0, 1], ["0", "1"])
    label = load(f"parquet:{file}:label=tall", "train")
    assert label.y.tolist() == [1, 0, 1]
    for change, words in (
        ({"town": ["Bern", None, "Bern"]}, "row 2, column 'town': the cell is empty"),
        ({"age": [1.0, 2.0, float("nan")]}, "row 3, column 'age': the cell is empty"),
        ({"town": [[1], [2], [3]]}, "column 'town' holds list"),
    ):
        parquet.write_table(arrow.table({**columns, **change}), file)
        refuses(f"parquet:{file}:label=well", words)
    parquet.write_table(arrow.table({"x": [0] * (1 << 20), "y": [0] * (1 << 20)}), file)
    whole = file.read_bytes()
    for wrong in (b"", b"PAR1", whole[:-9], b"x,y\n1,2"):
        file.write_bytes(wrong)
        refuses(f"parquet:{file}:label=y", "cannot be read as a Parquet table")


def test_parquet_needs_pyarrow(tmp_path, monkeypatch):
    (tmp_path / "train.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    refuses(f"parquet:{tmp_path / 'train.parquet'}:label=y", r"pip install tacit\[parquet\]")


def test_real_adult(real_set, tmp_path):
    train = real_set("csv:adult/adult-train.csv.gz:label=-1,normalise=yes", "train")
    assert (train.x.shape, train.names) == ((32561, 108), ["<=50K", ">50K"])
    assert np.bincount(train.y).tolist() == [24720, 7841]
    with pytest.raises(TacitError, match=r"row 1, column '14': '<=50K\.' is not in the train file"):
        real_set("csv:adult/adult-test.csv.gz:label=-1,train=adult/adult-train.csv.gz", "test")


def test_real_pima(real_set):
    source = "csv:pima/pima-indians-diabetes.csv"
    train = real_set(f"{source}:label=8,normalise=yes", "train")
    assert (train.x.shape, train.y.sum()) == ((768, 8), 268)
    np.testing.assert_allclose(train.x.std(0), 1, rtol=1e-5)
