"""The smallest part of a model that still ends in the same verdict."""

from onnx import helper, numpy_helper

from .judge import judge, prefix


def shrink(trial, verdict):
    """The model without nodes, from the end and then one at a time, while the verdict stays."""
    g = trial.graph

    def same(part):
        if part is None:
            return False
        try:
            return judge(trial.of(part)).kind == verdict.kind
        except Exception:
            return False  # onnxruntime does not take it, so it is no model.

    for node in g.nodes:
        out = next(o for o in node.output if o)
        part = prefix(g, out)
        if same(part):
            g = part
            break
    again = True
    while again:
        again = False
        for node in reversed(g.nodes):
            part = without(g, node)
            if same(part):
                g, again = part, True
                break
    return g


def without(g, dropped):
    """The model whose nodes read the first input of a node instead of its output."""
    part = prefix(g, g.output.name)
    out = next(o for o in dropped.output if o)
    if out == g.output.name or not dropped.input:
        return None
    nodes = []
    for node in part.nodes:
        if node.name == dropped.name:
            continue
        copy = helper.make_node(node.op_type, [], [*node.output], node.name)
        copy.CopyFrom(node)
        copy.input[:] = [dropped.input[0] if i == out else i for i in node.input]
        nodes.append(copy)
    part.nodes = nodes
    return prefix(part, part.output.name)


def describe(g, limit):
    """The model as text, with its constants."""
    model = g.model()
    known = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    lines = [f"opset {g.opset}, batch {g.fixed or 'free'}, x {g.input.shape} up to {limit}"]
    for node in model.graph.node:
        given = ", ".join(helper.printable_attribute(a) for a in node.attribute)
        lines.append(
            f"  {', '.join(node.output)} = {node.op_type}({', '.join(node.input)}) {given}"
        )
    for name, value in known.items():
        text = str(value.tolist())
        lines.append(f"  {name}: {value.dtype}{list(value.shape)} {text[:160]}")
    return "\n".join(lines)
