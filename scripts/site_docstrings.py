"""What the site does to docstrings: examples become code, and references of Sphinx become names."""

import re

import griffe

EXAMPLE = re.compile(r"(?:^>>> .*\n?(?:^(?:>>>|\.\.\.) .*\n?|^(?!\s*$).*\n?)*)+", re.MULTILINE)
ROLE = re.compile(r":(?:func|class|meth|attr|exc|data):`~?([^`]+)`")


class Docstrings(griffe.Extension):
    """An extension of griffe, which reads the docstrings."""

    def on_instance(self, *, obj, **_):
        """Rewrites the docstring of a module, class, function or attribute."""
        if obj.docstring:
            text = ROLE.sub(r"`\1`", obj.docstring.value)
            obj.docstring.value = EXAMPLE.sub(
                lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", text
            )
