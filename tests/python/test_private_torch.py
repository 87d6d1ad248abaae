"""Modules of torch that predict privately."""

import subprocess
import sys

import numpy as np
import pytest

import tacit

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("onnx", reason="onnx is not installed")

from tacit.torch import private  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
CLEAR = tacit.local(protocol="clear")


@pytest.fixture
def x():
    return torch.from_numpy(np.random.default_rng(0).random((6, 1, 8, 8), dtype=np.float32))


def convolutional():
    torch.manual_seed(0)
    layers = [torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers, torch.nn.Flatten(), torch.nn.Linear(72, 3))


def test_tensors_in_and_out(x):
    module = convolutional()
    module[1].eval()
    model = private(module, x)
    assert [part.training for part in module] == [True, False, True, True, True]
    found = model(x)
    assert isinstance(found, torch.Tensor) and not found.requires_grad
    np.testing.assert_allclose(found, module.eval()(x).detach(), atol=1e-3)
    assert model.report.protocol == "falcon" and model.report.images == 6
    assert "(1, 8, 8) -> (3,), protocol='falcon'" in repr(model)
    assert list(model.parameters()) == []
    follows = torch.nn.Sequential(model, torch.nn.Softmax(1))
    np.testing.assert_allclose(follows(x).sum(1), np.ones(6), atol=1e-5)


def test_without_an_example_the_first_call_is_one(x):
    module = convolutional().eval()
    model = private(module, session=CLEAR)
    assert "planned at the first call" in repr(model) and model.model is None
    np.testing.assert_allclose(model(x), module(x).detach(), atol=1e-3)
    assert "(1, 8, 8) -> (3,)" in repr(model) and list(model.parameters()) == []
    with pytest.raises(tacit.TacitError, match=r"torch\.nn\.Module"):
        private(3)


def test_only_the_class(x):
    module = convolutional().eval()
    model = private(module, x, session=CLEAR, reveal="class", batch=2)
    np.testing.assert_array_equal(model(x), module(x).argmax(1))
    assert model.report.reveal == "class" and len(model.report.batches) == 3


class Two(torch.nn.Module):
    """Two inputs, of which one is numbers of rows of a table."""

    def __init__(self, gives):
        super().__init__()
        self.rows, self.linear, self.gives = torch.nn.Embedding(5, 4), torch.nn.Linear(4, 3), gives

    def forward(self, words, state):
        mixed = self.rows(words).sum(1) + state
        first, second = self.linear(mixed), mixed.relu()
        return {"first": first, "second": second} if self.gives is dict else (first, second)


@pytest.mark.parametrize("gives", [tuple, dict])
def test_several_inputs_and_outputs(gives):
    torch.manual_seed(0)
    module = Two(gives).eval()
    words, state = torch.tensor([[1, 2], [0, 4], [3, 3]]), torch.rand(3, 4)
    model = private(module, (words, state), session=CLEAR)
    # The plan has another order.
    assert sorted(model.model.input_names) == ["state", "words"]
    found, wanted = model(words, state), module(words, state)
    assert type(found) is gives
    for name in wanted if gives is dict else (0, 1):
        np.testing.assert_allclose(found[name], wanted[name].detach(), atol=1e-3)
    with pytest.raises(tacit.TacitError, match="takes 2 tensors, not 1"):
        model(words)


def test_an_input_that_nothing_reads():
    class One(torch.nn.Module):
        def forward(self, x, other):
            return 2 * x

    x, other = torch.rand(3, 4), torch.rand(3, 2)
    np.testing.assert_allclose(
        private(One(), (x, other), session=CLEAR)(x, other), 2 * x, atol=1e-3
    )


def test_what_is_no_network(x):
    with pytest.raises(tacit.TacitError, match=r"torch\.nn\.Module, not function"):
        private(convolutional, x)
    with pytest.raises(tacit.TacitError, match="tensor of typical inputs"):
        private(convolutional(), x.numpy())

    class Odd(torch.nn.Module):
        def forward(self, x):
            return [x, None]

    with pytest.raises(tacit.TacitError, match="gives a list; let it give a tensor"):
        private(Odd(), x)


def test_without_torch_it_says_what_to_install():
    code = "import sys; sys.modules['torch'] = None; import tacit.torch"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingPackageError: tacit.torch needs `pip install tacit[torch]`" in done.stderr
