"""Predicts whole test sets privately and compares with the clear-text models.

    TACIT_MODELS=... TACIT_DATA=... make accuracy

`TACIT_MODELS` holds NAME.onnx and NAME.samples.npz (typical inputs `x`), `TACIT_DATA` the IDX
files of MNIST's and CIFAR-10's test images. Fills sections of docs/results.md: `accuracy`,
`accuracy-cifar10`, and `accuracy-malicious` with security against a party that deviates.
"""

import argparse
import os
from pathlib import Path

import numpy as np

import tacit
from results import markdown, write_section
from tacit import datasets
from tacit.console import progress_bar

MNIST = ("network-a", "network-b", "network-c", "lenet")
CIFAR10 = {"alexnet-cifar10": 100, "vgg16-cifar10": 10}
"""The models, and the most images of a batch that fit usual memory."""
CIFAR_MEAN = np.array([0.4914, 0.4822, 0.4465], np.float32)[:, None, None]
CIFAR_STD = np.array([0.2470, 0.2435, 0.2616], np.float32)[:, None, None]
HEADINGS = [
    "model", "images", "ring", "fraction bits", "float, %", "private, %", "difference, points",
    "same answer, %", "largest error", "online, s", "offline, s",
]  # fmt: skip


def folder(variable):
    """The folder that an environment variable names."""
    path = Path(os.environ.get(variable, ""))
    if not os.environ.get(variable) or not path.is_dir():
        raise SystemExit(f"set {variable} to the folder that this script's docstring describes")
    return path


def read_pair(files, axes):
    """The images of two IDX files, with values in [0, 1], and their labels."""
    source = f"idx:{files}-images-idx{axes}-ubyte.gz,{files}-labels-idx1-ubyte.gz"
    test = datasets.load(source, "test")
    return test.x, test.y


def mnist(data):
    """MNIST's test images as the models take them, and their labels."""
    return read_pair(data / "mnist" / "test8k", 3)


def cifar10(data):
    """CIFAR-10's test images as the models take them, and their labels."""
    x, y = read_pair(data / "cifar10" / "test9k", 4)
    return (x - CIFAR_MEAN) / CIFAR_STD, y


def row(models, name, images, batch, *, ring=64, security="semi-honest"):
    """One line of a table."""
    x, y = images
    samples = np.load(models / f"{name}.samples.npz")["x"]
    model = tacit.compile(models / f"{name}.onnx", samples=samples, ring=ring)
    x = x.reshape(len(x), *model.input_shape)
    with progress_bar() as progress:
        parties = tacit.local(security=security, timeout=1200)
        result = parties.predict(model, x, y, batch=batch, check=True, progress=progress)
    report = result.report
    clear = model.accuracy(model.reference(x), y)
    return [
        name, len(x), ring, report.fraction_bits, f"{100 * clear:.2f}",
        f"{100 * report.accuracy:.2f}", f"{100 * (report.accuracy - clear):+.2f}",
        f"{100 * report.agreement:.2f}", f"{report.max_abs_error:.1e}",
        f"{report.online['seconds']:.1f}", f"{report.offline['seconds']:.1f}",
    ]  # fmt: skip


def first(images, n):
    return [part[:n] for part in images]


def semi_honest(args, data):
    images = first(mnist(data), args.images)
    return [((name, images, args.batch), {"ring": ring}) for name in MNIST for ring in (64, 32)]


def photographs(args, data):
    images = first(cifar10(data), args.photographs)
    return [((name, images, min(args.batch, most)), {}) for name, most in CIFAR10.items()]


def malicious(args, data):
    images = mnist(data)
    many = {"network-c": args.large_images, "lenet": args.large_images}
    parts = {name: first(images, many.get(name, args.images)) for name in MNIST}
    return [((name, part, args.batch), {"security": "malicious"}) for name, part in parts.items()]


SECTIONS = {
    "accuracy": semi_honest,
    "accuracy-cifar10": photographs,
    "accuracy-malicious": malicious,
}


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--only", nargs="+", choices=SECTIONS, default=[*SECTIONS])
    options.add_argument("--images", type=int, default=8000, help="of MNIST's test images")
    options.add_argument("--photographs", type=int, default=500, help="of CIFAR-10's")
    options.add_argument(
        "--large-images", type=int, default=8000, help="of MNIST's for C and LeNet, malicious"
    )
    options.add_argument("--batch", type=int, default=128)
    args = options.parse_args()
    models, data = folder("TACIT_MODELS"), folder("TACIT_DATA")
    for section in args.only:
        rows = []
        for what, how in SECTIONS[section](args, data):
            rows.append(row(models, *what, **how))
            print(" | ".join(map(str, rows[-1])), flush=True)
        write_section(section, markdown(HEADINGS, rows))


if __name__ == "__main__":
    main()
