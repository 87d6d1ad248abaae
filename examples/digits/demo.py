"""Three parties recognise handwritten digits that nobody shows, with a model that nobody shows.

make demo
"""

import argparse
from pathlib import Path

import numpy as np
from rich.columns import Columns
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

import tacit
from data import load
from tacit.console import progress_bar

MODEL = Path(__file__).with_name("digits.onnx")
SHADES = " .:-=+*#%@"
PARTIES = """\
[bold cyan]party 0[/]  owns the model   its weights are shown to nobody
[bold green]party 1[/]  owns the images  shown to nobody; it alone gets the answers
[bold yellow]party 2[/]  helps            brings nothing; learns no weight, image or answer

Each sees only shares that look random. Any one may be curious; no two may collude."""
SIMULATED = """\
All three run as threads of one process here, so this is a simulation: it computes and sends \
exactly what three organisations would, but whoever runs it could look into all of them. \
For real privacy each organisation runs `tacit party` on its own machine."""


def drawn(image, answer, truth):
    """An 8 x 8 image as text, with its private answer below."""
    rows = ("".join(SHADES[round(9 * float(v))] * 2 for v in row) for row in image[0])
    mark = "[green]right[/]" if answer == truth else f"[red]it is a {truth}[/]"
    return Text("\n".join(rows)) + Text.from_markup(f"\n[bold]{answer}[/] {mark}")


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--images", type=int, default=359, help="how many test images, 1 to 359")
    options.add_argument("--network", default="lan", help="local, lan, wan or RTTms,Mbps")
    args = options.parse_args()
    console = Console(highlight=False)
    x_train, _, x, y = load()
    x, y = x[: args.images], y[: args.images]

    console.print(Panel(PARTIES, title="Who takes part", expand=False))
    # The ranges come from training images: the test images are secret.
    model = tacit.compile(MODEL, samples=x_train[:256])
    console.print(model)
    with tacit.local(network=args.network) as session, progress_bar() as progress:
        result = session.predict(model, x, labels=y, check=True, progress=progress)

    answers = result.output.argmax(1)
    shown = [drawn(x[i], answers[i], y[i]) for i in range(min(4, len(x)))]
    console.print(Columns(shown, padding=(0, 3)))
    console.print(result.report)
    expected = model.reference(x).argmax(1)
    same = np.count_nonzero(answers == expected)
    console.print(
        f"\n[bold]{len(x)} images predicted privately: {100 * np.mean(answers == y):.2f} % right; "
        f"in clear text {100 * np.mean(expected == y):.2f} %; "
        f"{same} of {len(x)} answers the same.[/]"
    )
    console.print(Panel(SIMULATED, expand=False, width=88))


if __name__ == "__main__":
    main()
