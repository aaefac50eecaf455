"""The directive `.. entries:: MODULE` of the reference: the functions and classes that it names,
first as a table, then with their docstrings."""

from __future__ import annotations

from docutils import nodes
from sphinx.util.docutils import SphinxDirective


class Entries(SphinxDirective):
    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        module, names = self.arguments[0], " ".join(self.content).split()
        table = [".. autosummary::", "   :nosignatures:", ""]
        table += [f"   ~{module}.{name}" for name in names]
        lines = table if len(names) > 1 else []
        for name in names:
            # `use_stream` is a class that is used as a function.
            kind = "class" if name[0].isupper() else "function"
            lines += ["", f".. auto{kind}:: {module}.{name}"]
        return self.parse_text_to_nodes("\n".join(lines))
