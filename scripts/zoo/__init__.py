"""Real models that nobody in the project wrote, with inputs like those that they are for."""

from .columns import columns
from .families import families
from .networks import networks
from .packages import packaged
from .pictures import pictures
from .tables import boosted, sklearn
from .text import text
from .vision import vision

GROUPS = {
    "packages": packaged,
    "pictures": pictures,
    "torchvision": vision,
    "transformers": text,
    "families": families,
    "torch": networks,
    "scikit-learn": sklearn,
    "columns": columns,
    "boosted": boosted,
}
"""Where models come from, and functions that list them."""


def catalog():
    """All models by their names, with where they come from."""
    return {entry.name: (group, entry) for group, made in GROUPS.items() for entry in made()}
