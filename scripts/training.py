r"""Trains networks privately on real images, beside the same training in float32.

    TACIT_DATA=... make training

Fills sections of docs/results.md. `training-mnist`: whole epochs of MNIST's 60,000 images, from
the same start in the same order. `training-steps`: a mini-batch of every network.
`training-curves`: AlexNet with and without batch normalisation on CIFAR-10, the loss after some
mini-batches; the weights are exported each time and the loss computed from them in the clear;
docs/training-curves.svg shows them. All parties are threads of one process. Trainings keep
checkpoints in `.bench/`, so one that was stopped goes on.
"""

import argparse
import json
import tempfile
from itertools import product
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

import tacit
from accuracy import folder, read_pair
from results import markdown, write_section
from tacit import datasets
from tacit.console import progress_bar

STATE = Path(".bench/training")
PICTURE = Path(__file__).resolve().parents[1] / "docs" / "training-curves.svg"
OPTIONS = {
    "batch": 128,
    "learning_rate": 0.05,
    "momentum": 0.9,
    "sign_bits": 32,
    "timeout": 1200,
}
IMAGES = {"mnist": [1, 28, 28], "cifar": [3, 32, 32], "tiny": [3, 64, 64]}
SMALL = (2, 16)
"""Images of the mini-batches from which those that take too long are extrapolated."""
PHASES = ("offline", "online")
CURVES = ("alexnet", "alexnet-bn")
STEPS = (
    *(("network-a", "mnist", 10), ("network-b", "mnist", 10), ("network-c", "mnist", 10)),
    *(("lenet", "mnist", 10), ("alexnet", "cifar", 10), ("alexnet-bn", "cifar", 10)),
    *(("vgg16", "cifar", 10), ("alexnet", "tiny", 200), ("vgg16", "tiny", 200)),
)


def digits(name):
    return read_pair(folder("TACIT_DATA") / "mnist" / name, 3)


def whole(args):
    """Whole epochs of MNIST."""
    train, test = digits("train"), digits("test8k")
    rows = []
    for name in args.networks or ["network-a", "lenet"]:
        state = STATE / name
        model = {"input": IMAGES["mnist"], "network": name, "outputs": 10}
        checkpoint = {"folder": state, "keys": state / "keys", "every": 20}
        options = {**OPTIONS, "epochs": args.epochs, "reveal_curve": True}
        trainer = tacit.Trainer(model, checkpoint=checkpoint, stop_after=args.stop_after, **options)
        with progress_bar(remaining=True) as progress:
            report = trainer.fit(train, test, progress=progress).report.data
        seconds(state, report)
        done = json.loads((state / "seconds.json").read_text())
        if not report["epochs"]:
            print(f"{name}: {done['batches']} mini-batches are done; go on later")
            continue
        _, curve = tacit.Trainer(model, **options).reference(train, test)
        share = [f"{100 * epoch['accuracy']:.2f}" for epoch in report["epochs"]]
        clear = [f"{100 * moment['accuracy']:.2f}" for moment in curve]
        each = [done[phase] / done["batches"] for phase in ("offline", "online")]
        sent = [done[f"{phase}_bytes"] / done["batches"] / 1e6 for phase in ("offline", "online")]
        row = [name, args.epochs, done["batches"], ", ".join(clear), ", ".join(share)]
        rows.append([*row, *(f"{s:.2f}" for s in each), *(f"{s:.1f}" for s in sent)])
        print(*rows[-1], sep=" | ", flush=True)
    headings = [
        "network", "epochs", "mini-batches", "float32, % after each epoch", "private, %",
        "offline, s each", "online, s each", "offline, MB each and party", "online, MB",
    ]  # fmt: skip
    return markdown(headings, rows)


def seconds(state, report):
    """Adds what this run took to that of earlier ones."""
    path = state / "seconds.json"
    names = ["batches", "offline", "online", "offline_bytes", "online_bytes"]
    done = json.loads(path.read_text()) if path.exists() else dict.fromkeys(names, 0)
    done["batches"] += report["batches"]
    for phase in ("offline", "online"):
        done[phase] += report[phase]["seconds"]
        done[f"{phase}_bytes"] += max(report[phase]["bytes_sent"])
    path.write_text(json.dumps(done))


def steps(args):
    """One mini-batch of every network, on random images."""
    rows = []
    for (name, data, classes), security in product(STEPS, args.security):
        if name not in (args.networks or [name]) or data not in args.images:
            continue
        model = {"input": IMAGES[data], "network": name, "outputs": classes}

        def trainer(batch, model=model, security=security):
            return tacit.Trainer(model, **{**OPTIONS, "batch": batch}, security=security)

        small = {n: step(trainer(n), n, IMAGES[data], classes) for n in SMALL}
        seconds = extrapolated(small, args.batch)
        report, measured = small[SMALL[-1]], sum(seconds) <= args.limit
        if measured:
            report = step(trainer(args.batch), args.batch, IMAGES[data], classes)
            seconds = [report[phase]["seconds"] for phase in PHASES]
        declared = trainer(args.batch).cost()["step"]
        sent = [max(declared[phase]["bytes_sent"]) / 1e6 for phase in PHASES]
        rows.append([
            name, data, security, f"{report['parameters']:,}",
            "" if measured else "from {} and {} images".format(*SMALL),
            *(f"{value:.1f}" for value in (*seconds, *sent)),
            f"{report['peak_memory_bytes'] / 1e9:.1f}",
        ])  # fmt: skip
        print(*rows[-1], sep=" | ", flush=True)
    headings = [
        "network", "images", "security", "parameters", "extrapolated", "offline, s", "online, s",
        "offline, MB per party", "online, MB", "peak memory so far, GB",
    ]  # fmt: skip
    return markdown(headings, rows)


def step(trainer, batch, shape, classes):
    """The report of a mini-batch of random images."""
    rng = np.random.default_rng(1)
    x = rng.random((batch, *shape), np.float32)
    return trainer.fit((x, rng.integers(0, classes, batch))).report.data


def extrapolated(small, batch):
    """Seconds of a mini-batch, offline and online, on the line through those of two small ones."""
    few, more = SMALL
    seconds = []
    for phase in PHASES:
        first, second = (small[n][phase]["seconds"] for n in SMALL)
        each = max(second - first, 0) / (more - few)
        seconds.append(second + each * (batch - more))
    return seconds


def loss(file, x, y):
    """The cross-entropy of an ONNX file's network on labelled items, and how many it gets right."""
    with tempfile.NamedTemporaryFile(suffix=".onnx") as kept:
        kept.write(file)
        kept.flush()
        model = tacit.compile(kept.name)
    z = model.reference(x).astype(np.float64)
    right = model.accuracy(z, y)
    z -= z.max(axis=1, keepdims=True)
    each = np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(y)), y]
    return each.mean(), right


def curves(args):
    """The loss after every mini-batch, privately and in float32."""
    cifar = f"cifar10:{folder('TACIT_DATA') / 'cifar10'}"
    train, test = (datasets.load(cifar, what) for what in ("train", "test"))
    many = args.curve_batch * args.iterations
    x, y = train.x[:many].astype(np.float32), train.y[:many]
    tried = test.x[:500].astype(np.float32), test.y[:500]
    columns = {}
    for name in CURVES:
        model = {"input": IMAGES["cifar"], "network": name, "outputs": 10}
        state = STATE / f"curve-{name}"
        kept = {"folder": state, "keys": state / "keys", "every": 1}
        options = {**OPTIONS, "batch": args.curve_batch, "stop_after": args.iterations}
        clear = tacit.Trainer(model, **options).reference((x, y), tried, every=args.every)[1]
        points = []
        for moment in clear:
            stop = {**options, "stop_after": moment["batches"]}
            private = tacit.Trainer(model, checkpoint=kept, **stop).fit((x, y)).onnx
            points.append([(moment["loss"], moment["accuracy"]), loss(private, *tried)])
            print(name, moment["batches"], points[-1], flush=True)
        columns[name] = points
    draw(columns, args.every)
    rows = []
    for at in range(args.iterations // args.every):
        cells = [pair for name in CURVES for pair in columns[name][at]]
        rows.append(
            [args.every * (at + 1), *(f"{value:.4f}, {100 * share:.1f}" for value, share in cells)]
        )
    headings = ["mini-batches"]
    headings += [f"{name}, {how}" for name in CURVES for how in ("float32", "private")]
    return markdown(headings, rows)


def draw(columns, every):
    """The losses of the curves as a picture, private beside float."""
    figure = Figure(figsize=(7, 3.5), layout="constrained")
    axes = figure.subplots()
    for color, (name, points) in zip(("tab:gray", "tab:blue"), columns.items(), strict=True):
        batches = [every * (at + 1) for at in range(len(points))]
        for how, style in (("float32", "--"), ("private", "-")):
            losses = [pair[how == "private"][0] for pair in points]
            axes.plot(batches, losses, style, color=color, marker=".", label=f"{name}, {how}")
    axes.set(xlabel="mini-batches", ylabel="cross-entropy on test images")
    axes.legend()
    with rc_context({"svg.hashsalt": "tacit"}):
        figure.savefig(PICTURE, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=("whole", "steps", "curves"))
    parser.add_argument("--networks", nargs="*", default=[], help="some of them only")
    parser.add_argument("--images", nargs="+", choices=IMAGES, default=[*IMAGES], help="of steps")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--security", nargs="+", default=["semi-honest", "malicious"])
    parser.add_argument("--limit", type=float, default=300, help="seconds of a step that is run")
    parser.add_argument("--stop-after", type=int, help="mini-batches, to go on later")
    parser.add_argument("--iterations", type=int, default=40, help="mini-batches of the curves")
    parser.add_argument("--every", type=int, default=4, help="mini-batches between their points")
    parser.add_argument("--curve-batch", type=int, default=32)
    args = parser.parse_args()
    for section, measure in SECTIONS.items():
        if args.only in (None, measure.__name__):
            write_section(section, measure(args))


SECTIONS = {"training-mnist": whole, "training-steps": steps, "training-curves": curves}

if __name__ == "__main__":
    main()
