"""Measures Bicoptor 2.0 beside Falcon, and both beside the tables of the paper.

    TACIT_MODELS=... TACIT_DATA=... make bench-bicoptor2

Fills three sections of docs/results.md. `bicoptor2-relu`: Tables 6 and 7, DReLU and ReLU on
emulated networks. `bicoptor2-keys`: Table 5, accuracy on CIFAR-10 by key bits. `bicoptor2-models`:
Table 8, whole networks, online and offline. All parties are threads of one process.
"""

import argparse
import statistics

import numpy as np

import tacit
from accuracy import cifar10, folder
from results import markdown, write_section
from tacit.measure.bicoptor2 import NETWORKS, bicoptor2

MODELS = {"alexnet-cifar10": "CIFAR10 AlexNet", "vgg16-cifar10": "CIFAR10 VGG16"}
# Table 5: accuracy in percent by key bits, and of the plaintext model.
KEY_BITS = {"4.3": (62.69, 88.36), "5.2": (69.28, 88.43), "6.1": (68.67, 88.42)}
KEY_BITS |= {"7.0": (67.67, 88.40), "full": (69.63, 88.31)}
# Table 8: seconds of ReLU / in total, by network: P-Falcon, RSS, UBL.
TABLE_8 = {
    "alexnet-cifar10": {
        "lan1": ("13.72/16.72", "2.12/5.00", "2.11/4.32"),
        "lan2": ("31.69/36.89", "7.20/12.32", "7.81/11.07"),
        "wan": ("262.38/297.45", "67.80/99.83", "70.64/84.12"),
    },
    "vgg16-cifar10": {
        "lan1": ("46.11/54.28", "6.90/15.17", "7.08/13.22"),
        "lan2": ("106.55/122.01", "23.53/38.92", "25.89/30.89"),
        "wan": ("861.32/968.43", "229.07/336.64", "239.87/292.40"),
    },
}
SIGNS = ("Relu", "MaxPool", "Clip")


def relu_section(sizes, repeat):
    """DReLU and ReLU beside Tables 6 and 7."""
    rows = []
    for sharing in ("ubl", "rss"):
        for row in bicoptor2(sizes=sizes, sharing=sharing, repeat=repeat, observe=show):
            paper = row["paper_falcon"] and row["paper_falcon"] / row["paper_bicoptor"]
            names = ("paper_falcon", "paper_bicoptor", "falcon_online", "falcon_sum")
            names += ("bicoptor_online", "bicoptor_sum")
            rows.append(
                [row["op"], sharing, row["network"], f"{row['n']:,}"]
                + ["" if row[name] is None else f"{row[name]:.4f}" for name in names]
                + ["" if paper is None else f"{paper:.1f}"]
                + [f"{row[name]:.1f}" for name in ("online_ratio", "sum_ratio")]
            )
    headings = [
        "", "sharing", "network", "n", "paper: P-Falcon, s", "Bicoptor, s", "Falcon online, s",
        "and offline, s", "Bicoptor online, s", "and offline, s", "faster: paper", "online",
        "with offline",
    ]  # fmt: skip
    words = f"Medians of {repeat}, 64 bits, 7 key bits (5 before the point, 2 after it)."
    return f"{words}\n\n{markdown(headings, rows)}"


def show(row):
    """Prints a row of the table as soon as it is measured."""
    print(" | ".join(f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values()))


def compiled(models, name, **options):
    """The network, planned over 64 bits."""
    samples = np.load(models / f"{name}.samples.npz")["x"]
    return tacit.compile(models / f"{name}.onnx", samples=samples, ring=64, **options)


def keys_section(models, digits, images):
    """Accuracy by key bits beside Table 5."""
    rows = []
    for place, (name, title) in enumerate(MODELS.items()):
        count = images[place]
        x, y = (part[:count] for part in digits)
        for keys, paper in KEY_BITS.items():
            model = compiled(models, name, key_bits=keys)
            result = tacit.local("bicoptor", comparison="bicoptor").predict(model, x, y, check=True)
            report = result.report
            clear = (model.reference(x).argmax(1) == y).mean()
            rows.append([
                title, keys, f"{paper[place]:.2f}", count, report.fraction_bits,
                f"{100 * clear:.2f}", f"{100 * report.accuracy:.2f}",
                f"{100 * (report.accuracy - clear):+.2f}", f"{100 * report.agreement:.2f}",
            ])  # fmt: skip
            print(" | ".join(map(str, rows[-1])), flush=True)
    headings = [
        "network", "key bits", "paper, %", "images", "fraction bits", "float, %", "private, %",
        "difference, points", "same answer, %",
    ]  # fmt: skip
    words = "Other weights than the paper's, whose plaintext accuracy is in the row of full."
    return f"{words}\n\n{markdown(headings, rows)}"


def phases(session, model, x):
    """Seconds of the layers with signs, online, offline; bytes of all parties."""
    report = session.predict(model, x, batch=len(x)).report
    signs = sum(layer["seconds"] for layer in report.layers if layer["op"] in SIGNS)
    sent = sum(sum(phase["bytes_sent"]) for phase in (report.online, report.offline))
    return signs, report.online["seconds"], report.offline["seconds"], sent


def of_paper(protocol, link, **options):
    """The protocol with the comparison of its paper."""
    return tacit.local(protocol, comparison=protocol, network=link, **options)


def in_turn(systems, x, repeat):
    """The medians of `phases` for every system, whose runs take turns."""
    runs = [[phases(session, model, x) for _, model, session in systems] for _ in range(repeat)]
    of_system = zip(*runs, strict=True)
    return [[statistics.median(run) for run in zip(*own, strict=True)] for own in of_system]


def models_section(models, digits, batches, repeat):
    """Whole networks beside Table 8."""
    rows = []
    for place, (name, title) in enumerate(MODELS.items()):
        x = digits[0][: batches[place]]
        exact, narrow = compiled(models, name), compiled(models, name, key_bits="5.2")
        for network, link in NETWORKS.items():
            systems = [
                ("Falcon", exact, of_paper("falcon", link)),
                ("Bicoptor, RSS", narrow, of_paper("bicoptor", link, sharing="rss")),
                ("Bicoptor, UBL", narrow, of_paper("bicoptor", link, sharing="ubl")),
            ]
            base = None
            medians = in_turn(systems, x, 1 if network == "wan" else repeat)
            papers = TABLE_8[name][network]
            for (system, *_), paper, median in zip(systems, papers, medians, strict=True):
                signs, online, offline, sent = median
                base = base or (online, online + offline)
                rows.append([
                    title, network, system, paper, len(x), f"{signs:.2f}", f"{online:.2f}",
                    f"{offline:.2f}", f"{sent / 1e6 / len(x):.2f}", f"{base[0] / online:.1f}",
                    f"{base[1] / (online + offline):.1f}",
                ])  # fmt: skip
                print(" | ".join(map(str, rows[-1])), flush=True)
    headings = [
        "network", "link", "system", "paper: ReLU / total, s", "images", "ReLU and pools, s",
        "online, s", "offline, s", "MB an image, all parties", "faster online", "with offline",
    ]  # fmt: skip
    words = (
        f"Medians of {repeat} in turn (wan: one), one batch, 64 bits, key bits 5.2 "
        "(paper: 1650, 240 images)."
    )
    return f"{words}\n\n{markdown(headings, rows)}"


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--repeat", type=int, default=5, help="of DReLU and ReLU")
    options.add_argument("--sizes", type=int, nargs="+", default=(10_000, 100_000, 1_000_000))
    options.add_argument("--images", type=int, nargs=2, default=(1000, 100), help="AlexNet, VGG16")
    options.add_argument("--batches", type=int, nargs=2, default=(64, 16), help="AlexNet, VGG16")
    options.add_argument("--runs", type=int, default=3, help="of whole networks")
    options.add_argument("--only", choices=("relu", "keys", "models"))
    args = options.parse_args()
    models, digits = folder("TACIT_MODELS"), cifar10(folder("TACIT_DATA"))
    if args.only in (None, "relu"):
        write_section("bicoptor2-relu", relu_section(args.sizes, args.repeat))
    if args.only in (None, "keys"):
        write_section("bicoptor2-keys", keys_section(models, digits, args.images))
    if args.only in (None, "models"):
        write_section("bicoptor2-models", models_section(models, digits, args.batches, args.runs))


if __name__ == "__main__":
    main()
