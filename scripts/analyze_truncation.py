"""What ABY3's truncation does to real models, beside Figure 2 and Table 3 of Bicoptor 2.0.

    TACIT_MODELS=... TACIT_DATA=... make analyze-truncation

The folders are those of scripts/accuracy.py. Fills the section `truncation` of docs/results.md and
draws docs/truncation-alexnet.svg.
"""

import argparse
from pathlib import Path

import tacit
from accuracy import cifar10, folder, mnist
from results import markdown, write_section
from tacit.console import progress_bar

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "truncation-alexnet.svg"
F = 26
"""The fraction bits that the examined programs recommend for 64 bits: the paper's Table 3."""
# Three parties in the paper (P-Falcon): fixed masks, random masks, truncate-then-multiply.
PAPER = {"alexnet-cifar10": (69.63, 12.73, 69.64), "vgg16-cifar10": (88.31, 9.89, 88.29)}
GAP_IMAGES = {"alexnet-cifar10": 50, "vgg16-cifar10": 4}
"""How many of the images three parties predict with the one-bit-gap truncation."""
LINES = (
    ("multiply-then-truncate", "fixed (insecure)"),
    ("multiply-then-truncate", "random"),
    ("truncate-then-multiply", "random"),
)
SHORT = ("mult-then-trc (f)", "mult-then-trc (r)", "trc-then-mult (r)")


def percent(share):
    return f"{100 * share:.2f}"


def analyse(models, name, images, bits, ring):
    """The analysis of one model."""
    model = tacit.compile(models / f"{name}.onnx")
    x, y = images
    x = x.reshape(len(x), *model.input_shape)
    with progress_bar() as progress:
        made = tacit.analyze_truncation(
            model, x, y, fraction_bits=bits, ring=ring, progress=progress
        )
    print(f"{name}\n{made}", flush=True)
    return made


def sweep(analyses):
    """Figure 2 as a table: the accuracy by fraction bits."""
    headings = ["model", "ring", "f", *SHORT, "P(e1) up to", "in layer", "e1 per image: predicted",
                "measured"]  # fmt: skip
    rows = []
    for name, made in analyses:
        at = {(r["fraction_bits"], r["order"], r["masks"]): r for r in made.rows}
        for f in dict.fromkeys(f for f, _, _ in at):
            lines = [at[(f, *line)] for line in LINES]
            accuracy = ["refused" if r["refused"] else percent(r["accuracy"]) for r in lines]
            e1 = lines[1]
            numbers = ["", "", "", ""]
            if not e1["refused"]:
                per_image = (e1["e1_per_item_predicted"], e1["e1_per_item"])
                numbers = [f"{e1['e1_probability']:.1e}", e1["layer"]]
                numbers += [f"{n:.2g}" for n in per_image]
            rows.append([name, made.data["ring"], f, *accuracy, *numbers])
    return markdown(headings, rows)


def beside_the_paper(models, analyses, images):
    """Table 3, and our default truncation between three parties at the same precision."""
    headings = ["model", "images", "float, %"]
    headings += [f"{line}: paper, ours" for line in SHORT]
    headings += ["one-bit gap (r), Falcon: images", "as in float, %"]
    rows = []
    for name, made in analyses:
        at = {(r["order"], r["masks"]): r for r in made.rows if r["fraction_bits"] == F}
        ours = [percent(at[line]["accuracy"]) for line in LINES]
        pairs = [f"{paper}, {own}" for paper, own in zip(PAPER[name], ours, strict=True)]
        x, y = (part[: GAP_IMAGES[name]] for part in images)
        model = tacit.compile(models / f"{name}.onnx", samples=x, ring=64, fraction_bits=F)
        with progress_bar() as progress:
            report = tacit.local().predict(model, x, y, check=True, progress=progress).report
        start = [name, made.data["items"], percent(made.data["float_accuracy"])]
        rows.append([*start, *pairs, len(x), percent(report.agreement)])
        print(" | ".join(map(str, rows[-1])), flush=True)
    return markdown(headings, rows)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--mnist-images", type=int, default=500)
    options.add_argument("--alexnet-images", type=int, default=100)
    options.add_argument("--vgg-images", type=int, default=20)
    args = options.parse_args()
    models, data = folder("TACIT_MODELS"), folder("TACIT_DATA")
    digits, photographs = mnist(data), cifar10(data)
    work = [
        ("network-a", digits, args.mnist_images, range(4, 31, 2), 64),
        ("network-a", digits, args.mnist_images, range(4, 15), 32),
        ("alexnet-cifar10", photographs, args.alexnet_images, range(4, 31, 2), 64),
        ("alexnet-cifar10", photographs, args.alexnet_images, range(4, 15), 32),
        ("vgg16-cifar10", photographs, args.vgg_images, (8, 16, 20, 22, 24, 26), 64),
    ]
    analyses = []
    for name, images, n, bits, ring in work:
        made = analyse(models, name, [part[:n] for part in images], bits, ring)
        analyses.append((name, made))
        if (name, ring) == ("alexnet-cifar10", 64):
            made.save_plot(PICTURE, f"{name}, {n} images")
    papers = [(name, made) for name, made in analyses if name in PAPER and made.data["ring"] == 64]
    table = beside_the_paper(models, papers, photographs)
    write_section("truncation", f"At f = {F} over 64 bits:\n\n{table}\n\n{sweep(analyses)}")


if __name__ == "__main__":
    main()
