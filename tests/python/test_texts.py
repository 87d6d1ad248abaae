"""Columns of texts, as data frames have them: models of scikit-learn held against onnxruntime."""

import numpy as np
import onnxruntime
import pandas
import pytest
from nets import Net
from onnx import TensorProto
from serving_fakes import World
from skl2onnx import to_onnx
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler, TargetEncoder

import tacit
from tacit.serving import described
from tacit.sklearn import PrivateClassifier

FLOAT, STRING = TensorProto.FLOAT, TensorProto.STRING
TEXTS = ["sex", "port", "deck"]
NUMBERS = ["age", "fare"]
SECRET = "Atlantis"


def table(n=200, seed=0):
    """Passengers, and whether they were lucky."""
    random = np.random.default_rng(seed)
    frame = pandas.DataFrame(
        {
            "age": random.normal(40, 10, n).round(2).astype(np.float32),
            "sex": random.choice(["male", "female"], n),
            "port": random.choice(["S", "C", "Q", ""], n),
            "fare": random.exponential(30, n).round(2).astype(np.float32),
            "deck": random.choice(list("abcd"), n),
        }
    )
    lucky = ((frame.sex == "female") & (frame.age < 45)) | (frame.port == "C")
    return frame, np.where(lucky, "yes", "no")


def of(encoder, model=None):
    columns = [("texts", encoder, TEXTS), ("numbers", StandardScaler(), NUMBERS)]
    model = LogisticRegression() if model is None else model
    return make_pipeline(ColumnTransformer(columns), model)


MISSING = SimpleImputer(strategy="most_frequent", missing_values="")
OTHERS = OneHotEncoder(handle_unknown="ignore")
PIPELINES = {
    "columns": of(OTHERS),
    "dropped": of(OneHotEncoder(drop="first")),
    "rare": of(OneHotEncoder(min_frequency=60, handle_unknown="infrequent_if_exist")),
    "imputed": of(make_pipeline(MISSING, OTHERS)),
    "target": of(TargetEncoder()),
    "forest": of(OTHERS, RandomForestClassifier(8, max_depth=4, random_state=0)),
    "boosting": of(
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        GradientBoostingClassifier(n_estimators=8, random_state=0),
    ),
}
STRICT = ["dropped", "rare"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A file for each pipeline."""
    folder, (frame, classes) = tmp_path_factory.mktemp("texts"), table()
    paths = {}
    for name, pipeline in PIPELINES.items():
        pipeline.fit(frame, classes)
        made = to_onnx(pipeline, frame[:1], options={"zipmap": False})
        paths[name] = folder / f"{name}.onnx"
        paths[name].write_bytes(made.SerializeToString())
    return paths


def fed(frame):
    """The columns as onnxruntime takes them."""
    return {name: frame[[name]].to_numpy() for name in frame.columns}


def rows(name):
    """Items that the model was not trained with; some of them hold texts that it does not know."""
    frame = table(40, seed=1)[0]
    if name not in STRICT:
        frame.loc[3, "port"] = SECRET
        frame.loc[4, "sex"] = ""
    return frame


@pytest.mark.parametrize("name", PIPELINES)
def test_pipelines_as_onnxruntime_runs_them(name, files):
    frame = rows(name)
    label, likely = onnxruntime.InferenceSession(files[name]).run(None, fed(frame))
    model = tacit.compile(files[name], samples=table()[0])
    found = model.reference(frame)
    np.testing.assert_allclose(found["probabilities"], likely, atol=1e-5)
    np.testing.assert_array_equal(found["label"], label)


@pytest.mark.parametrize("protocol", ["falcon", "bicoptor", "shamir", "sirnn"])
def test_every_protocol(protocol, files):
    frame = rows("imputed")
    _, likely = onnxruntime.InferenceSession(files["imputed"]).run(None, fed(frame))
    model = tacit.compile(files["imputed"], samples=table()[0], outputs=["probabilities"])
    found = tacit.local(protocol).predict(model, fed(frame)).output
    np.testing.assert_allclose(found, likely, atol=1e-3)


def test_the_plan_tells_which_texts_all_parties_know(files):
    inputs = {each["name"]: each for each in tacit.compile(files["columns"]).plan["inputs"]}
    assert inputs["port"]["texts"] == {"known": ["", "C", "Q", "S"], "others": True}
    assert inputs["port"]["kind"] == {"tokens": {"classes": 5}}
    assert "texts" not in inputs["age"]


def test_errors_show_no_text_of_the_owner(files):
    model = tacit.compile(files["dropped"])
    frame = rows("dropped")
    frame.loc[2, "port"] = SECRET
    with pytest.raises(tacit.InputError, match=r"item 2.*none of.*'C', 'Q', 'S'") as error:
        model.reference(frame)
    assert SECRET not in str(error.value)
    frame.loc[2, "port"] = None
    with pytest.raises(tacit.InputError, match=r"item 2.*is no text; put a text such as ''"):
        model.reference(frame)
    with pytest.raises(tacit.InputError, match=r"'port' holds float32 values.*takes texts"):
        model.reference(frame.assign(port=frame.age))
    with pytest.raises(tacit.InputError, match=r"no numbers in column 'age'"):
        model.reference(frame.assign(age="old"))


def test_a_client_of_a_service_gives_texts():
    """What parties say of texts is checked before it is used."""
    told = {"known": ["C", "S"], "others": True}
    inputs = [
        {"name": "age", "shape": [-1, 1], "texts": None},
        {"name": "port", "shape": [-1, 1], "texts": told},
    ]
    agreed = described.Agreed({"inputs": inputs}, (0, 1, 2), None, 8, 64)
    x = {"age": np.array([[30.0], [41.0]]), "port": np.array([["S"], [SECRET]])}
    np.testing.assert_array_equal(agreed.encode(x), [[30, 1], [41, 2]])
    world = World()
    for texts in (told, None, {"known": [1], "others": True}, {"known": ["a"]}, [], "a"):
        said = world.described(0)
        said["inputs"][0]["texts"] = texts
        if texts in (told, None):
            assert described._read("P", said)["inputs"] == said["inputs"]
            continue
        with pytest.raises(tacit.ServiceError, match="does not describe the model"):
            described._read("P", said)


def test_a_private_classifier_of_a_frame():
    frame, classes = table()
    private = PrivateClassifier(
        PIPELINES["columns"].fit(frame, classes), samples=frame, session=tacit.local("clear")
    )
    new = table(20, seed=2)[0]
    np.testing.assert_array_equal(private.predict(new), private.model.predict(new))
    np.testing.assert_allclose(
        private.predict_proba(new), private.model.predict_proba(new), atol=1e-3
    )


def additive(path):
    """Scores of a column of texts, and of it beside numbers, as explainable boosting has them."""
    net = Net((), 3, [("age", FLOAT, ["N", 1]), ("port", STRING, ["N", 1])])
    mapper = {"cats_strings": ["nan", "S", "C"], "cats_int64s": [0, 1, 2], "default_int64": -1}
    text = net("CategoryMapper", "port", domain="ai.onnx.ml", **mapper)
    place = net("Flatten", text, axis=1)
    age = net("Flatten", "age", axis=1)
    above = net("Cast", net("LessOrEqual", np.float32([-1e9, 30, 50]), age), to=FLOAT)
    bins = net("ArgMax", net("Mul", above, np.float32([0, 1, 2])), axis=1, keepdims=1)
    found = [net("GatherND", net.rng.normal(0, 1, 4), place)]
    for pair, shape in (((bins, place), (3, 4)), ((place, bins), (4, 3))):
        table = net.rng.normal(0, 1, shape)
        found.append(net("GatherND", table, net("Concat", *pair, axis=1)))
    columns = [net("Reshape", each, np.array([-1, 1])) for each in found]
    net.save(path, net("Concat", *columns, axis=1), opset=16, tables=1)


@pytest.mark.parametrize("protocol", ["clear", "falcon", "bicoptor", "shamir", "sirnn"])
def test_texts_choose_scores(protocol, tmp_path):
    """A text that the model does not know has the last score, in pairs as well."""
    additive(tmp_path / "m.onnx")
    ages = np.float32([[20], [40], [60], [20], [45], [70]])
    x = {"age": ages, "port": np.array([["S"], ["C"], ["nan"], ["Q"], ["Q"], [""]], object)}
    wanted = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(None, x)[0]
    model = tacit.compile(tmp_path / "m.onnx", samples=x, protocol=protocol)
    found = tacit.local(protocol).predict(model, x).output
    assert np.abs(found - wanted).max() < 1e-3


@pytest.mark.parametrize("kind", ["CategoryMapper", "LabelEncoder"])
def test_of_equal_texts_the_last_counts(kind, tmp_path):
    """As onnxruntime has it, of the older operator set."""
    net = Net((), 0, [("port", STRING, ["N", 1])])
    words = ["S", "C", "S"]
    given = {
        "CategoryMapper": {"cats_strings": words, "cats_int64s": [0, 1, 2]},
        "LabelEncoder": {"classes_strings": words},
    }
    number = net(kind, "port", domain="ai.onnx.ml", **given[kind])
    net.save(tmp_path / "m.onnx", net("Cast", number, to=FLOAT), opset=16, tables=1)
    x = {"port": np.array([["S"], ["C"], ["Q"]], object)}
    wanted = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(None, x)[0]
    model = tacit.compile(tmp_path / "m.onnx", samples=x)
    found = tacit.local("clear").predict(model, x).output
    assert np.abs(found - wanted).max() < 1e-3
