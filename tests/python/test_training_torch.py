"""Trainings that start from a `torch.nn.Module`, and end in one."""

import copy

import numpy as np
import onnxruntime
import pytest

import tacit

torch = pytest.importorskip("torch")
nn = torch.nn


def images(n, seed):
    """Images with a bright row, and which."""
    rng = np.random.default_rng(seed)
    x, y = 0.3 * rng.random((n, 2, 4, 4), np.float32), np.arange(n) % 3
    x[np.arange(n), 0, y] += 1
    return x, y


class Block(nn.Module):
    """A residual block, with its shortcut as it is."""

    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        return torch.relu(x + self.norm(self.conv(x)))


class Plain(nn.Module):
    """Functions and methods instead of modules."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(32, 8), nn.Linear(8, 8)
        self.last = nn.Linear(8, 3)

    def forward(self, x):
        x = torch.tanh(self.first(x.view(x.size(0), -1)))
        gate = torch.sigmoid(self.second(x))
        x = nn.functional.dropout(x * gate, 0.0, training=self.training)
        return self.last(nn.functional.leaky_relu(x, 0.2))


def residual():
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1, groups=2),
        nn.LeakyReLU(0.1),
        Block(4),
        nn.Conv2d(4, 4, 3, padding=2, dilation=2, groups=4),
        nn.GELU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, 6),
        nn.SiLU(),
        nn.Linear(6, 3),
    )


def trained(module, x, y, optimiser, steps):
    """What torch makes of the module, by steps on all items."""
    items, classes = torch.from_numpy(x), torch.from_numpy(y)
    module.train()
    for _ in range(steps):
        optimiser.zero_grad()
        nn.functional.cross_entropy(module(items), classes).backward()
        optimiser.step()
    return module.eval()


def apart(state, other):
    """The root of the mean square of the differences of weights."""
    parts = [(tensor - other[name]).flatten() for name, tensor in state.items()]
    return torch.cat(parts).square().mean().sqrt().item()


SGD = {"learning_rate": 0.2, "momentum": 0.9}
ADAM = {"optimiser": "adam", "learning_rate": 0.01, "weight_decay": 0.01}


@pytest.mark.parametrize("options", [SGD, ADAM], ids=["sgd", "adam"])
@pytest.mark.parametrize("make", [residual, Plain])
def test_a_module_trains_as_in_torch_and_comes_back(make, options):
    """Whole batches, so that the order of the items is none."""
    torch.manual_seed(2)
    module = make()
    x, y = images(18, 1)
    start = copy.deepcopy(module)
    first = copy.deepcopy(module.state_dict())
    trainer = tacit.Trainer(module, samples=x, epochs=4, batch=18, **options)
    private = trainer.fit((x, y))
    assert all(
        torch.equal(a, b)
        for a, b in zip(module.state_dict().values(), start.state_dict().values(), strict=True)
    )
    parameters = start.parameters()
    if options is SGD:
        optimiser = torch.optim.SGD(parameters, lr=0.2, momentum=0.9)
    else:
        optimiser = torch.optim.Adam(parameters, lr=0.01, weight_decay=0.01, eps=1e-6)
    expected = trained(start, x, y, optimiser, 4)
    got = private.to_torch(module).eval()
    assert got is module
    state = private.state_dict(module)
    assert set(state) == {k for k in module.state_dict() if not k.endswith("num_batches_tracked")}
    # Steps of Adam have the rate's size however small a gradient is: single weights may part.
    wrong, moved = apart(state, expected.state_dict()), apart(state, first)
    assert wrong < 0.02 * moved, (wrong, moved)
    items = torch.from_numpy(x)
    with torch.no_grad():
        np.testing.assert_allclose(got(items), expected(items), atol=1e-2)


def test_dropout_is_trained_and_not_predicted():
    torch.manual_seed(3)
    module = nn.Sequential(
        nn.Flatten(), nn.Linear(32, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 3)
    )
    x, y = images(60, 4)
    options = {"epochs": 8, "batch": 20, "learning_rate": 0.2, "reveal_curve": True}
    first, second = (
        tacit.Trainer(module, samples=x, **options).fit((x, y), (x, y)) for _ in range(2)
    )
    assert first.report.epochs[-1]["accuracy"] > 0.9
    # Each run draws its own.
    assert np.abs(first.weights - second.weights).max() > 1e-3
    got = first.to_torch(module).eval()(torch.from_numpy(x)).argmax(1).numpy()
    assert (got == y).mean() == pytest.approx(first.report.epochs[-1]["accuracy"], abs=0.02)


def test_tensors_are_data_to_train_on():
    layers = [{"type": "linear", "outputs": 2}]
    trainer = tacit.Trainer({"input": [3], "layers": layers}, protocol="clear")
    x, y = torch.rand(8, 3, requires_grad=True), torch.arange(8) % 2
    wanted = trainer.sets((x.detach().numpy(), y.numpy()))
    assert trainer.sets((x, y)) == wanted
    assert trainer.sets([(1, x, y)]) == wanted


def test_what_a_module_has_that_is_not_trained_is_named():
    x, y = images(6, 1)
    for layers, why in (
        ([nn.Dropout2d(), nn.Flatten(), nn.Linear(32, 3)], "Dropout2d"),
        ([nn.Flatten(), nn.Linear(32, 3), nn.Softmax(1)], "Softmax"),
        ([nn.BatchNorm2d(2, affine=False), nn.Flatten(), nn.Linear(32, 3)], "not affine"),
    ):
        with pytest.raises(tacit.TacitError, match=why):
            tacit.Trainer(nn.Sequential(*layers), samples=x).fit((x, y))
    shared = nn.Linear(32, 32)
    twice = nn.Sequential(nn.Flatten(), shared, nn.ReLU(), shared, nn.Linear(32, 3))
    with pytest.raises(tacit.TacitError, match="used twice"):
        tacit.Trainer(twice, samples=x)


def test_a_training_comes_back_into_its_own_module_only():
    x, y = images(6, 1)
    module = nn.Sequential(nn.Flatten(), nn.Linear(32, 3))
    private = tacit.Trainer(module, samples=x, batch=6).fit((x, y))
    with pytest.raises(tacit.TacitError, match="not the one"):
        private.to_torch(nn.Sequential(nn.Flatten(), nn.Linear(32, 4)))
    layers = {"input": [2, 4, 4], "layers": [{"type": "linear", "outputs": 3}]}
    with pytest.raises(tacit.TacitError, match="did not start"):
        tacit.Trainer(layers, batch=6).fit((x, y)).to_torch(module)


class Changed(nn.Module):
    """A value that is changed in its place, and read again."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(32, 8), nn.Linear(8, 3)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        h = self.first(x.flatten(1))
        return self.second(self.relu(h) + h)


def test_a_value_that_is_changed_in_its_place_is_read_as_torch_reads_it():
    torch.manual_seed(3)
    x, y = images(12, 1)
    module = Changed()
    trainer = tacit.Trainer(copy.deepcopy(module), samples=x, batch=12, epochs=3, **SGD)
    session = onnxruntime.InferenceSession(trainer.fit((x, y)).onnx)
    [ours] = session.run(None, {session.get_inputs()[0].name: x})
    optimiser = torch.optim.SGD(module.parameters(), lr=0.2, momentum=0.9)
    expected = trained(module, x, y, optimiser, 3)(torch.from_numpy(x)).detach()
    np.testing.assert_allclose(ours, expected, atol=2e-3)


class Early(nn.Module):
    """A value whose size, and numbers, are read before it is changed."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(32, 8), nn.Linear(32, 8)
        self.relu, self.drop = nn.ReLU(inplace=True), nn.Dropout(0.0, inplace=True)
        self.last = nn.Linear(8, 3)

    def forward(self, x):
        x = self.drop(x.view(x.size(0), -1))
        one, two = self.first(x), self.second(x)
        both = one + two
        return self.last(self.relu(input=one) * both)


def test_a_value_that_was_read_before_it_is_changed():
    """With dropout, so that no file takes its place."""
    torch.manual_seed(4)
    x, y = images(12, 1)
    module = Early()
    trainer = tacit.Trainer(copy.deepcopy(module), samples=x, batch=12, epochs=3, **SGD)
    ours = trainer.fit((x, y)).to_torch(copy.deepcopy(module))
    optimiser = torch.optim.SGD(module.parameters(), lr=0.2, momentum=0.9)
    expected = trained(module, x, y, optimiser, 3)
    assert apart(ours.state_dict(), expected.state_dict()) < 1e-3


def test_what_is_not_to_be_trained_is_named():
    module = nn.Sequential(nn.Flatten(), nn.Linear(32, 3), nn.ReLU(), nn.Linear(3, 3))
    module[1].weight.requires_grad = False
    with pytest.raises(tacit.TacitError, match=r"'1\.weight' is not to be trained"):
        tacit.Trainer(module, samples=images(2, 1)[0])
    module[1].weight.requires_grad = True
    module[3].bias = module[1].bias
    with pytest.raises(tacit.TacitError, match=r"'1\.bias' and '3\.bias' are one"):
        tacit.Trainer(module, samples=images(2, 1)[0])
