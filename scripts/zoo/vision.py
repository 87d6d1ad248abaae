"""Networks of torchvision, exported by torch.

No weights can be had without a download from elsewhere, so they are random as torchvision draws
them, but that normalisations know the statistics of photographs, and nothing is multiplied by
(nearly) 0.
"""

import inspect
from functools import partial

import numpy as np

from . import inputs
from .entry import Entry

SIZE = 64
"""Height and width of the images, where a network allows it."""


def _statistics(network, x):
    """Lets batch normalisations see the images that they will have to do with."""
    import torch

    for module in network.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
            module.reset_running_stats()
            module.momentum = None
    network.train()
    with torch.no_grad():
        network(x)


def _awake(network):
    """Draws what is 0 or nearly so at first: heads, scales of layers, embeddings of places."""
    import torch

    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if name.endswith("layer_scale"):
                parameter.fill_(0.5)
            elif name.endswith("weight") and not parameter.any():
                torch.nn.init.trunc_normal_(parameter, std=0.02)


def _network(name, kind, options, size, path):
    import torch
    import torchvision

    torch.manual_seed(0)
    place = torchvision.models.segmentation if kind == "segmentation" else torchvision.models
    network = getattr(place, name)(weights=None, **options)
    if kind == "segmentation":
        network = Only(network)
    _awake(network)
    x = torch.from_numpy(inputs.photos(np.random.default_rng(1), 16, size))
    _statistics(network, x)
    export(network.eval(), (x[:2],), path, ["input"])


def Only(network):  # noqa: N802
    """A segmentation network that gives its main output alone."""
    import torch

    class Wrapped(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.network = network

        def forward(self, x):
            return self.network(x)["out"]

    return Wrapped()


def export(network, example, path, names, *, dynamo=False, axes=None):
    """Writes an ONNX file of a free batch by one of torch's two exporters.

    The batch is the first axis of every input, where `axes` says no other.
    """
    import torch

    given = {"opset_version": 18 if dynamo else 17, "input_names": names}
    if dynamo:
        batch = torch.export.Dim("batch", min=1)
        shapes = ({0: batch},) * len(names)
        kinds = [p.kind for p in inspect.signature(network.forward).parameters.values()]
        nested = inspect.Parameter.VAR_POSITIONAL in kinds
        given |= {"dynamic_shapes": (shapes,) if nested else shapes, "external_data": False}
    else:
        free = {name: {(axes or {}).get(name, 0): "N"} for name in [*names, "output"]}
        given |= {"dynamic_axes": free}
    torch.onnx.export(network, example, path, dynamo=dynamo, output_names=["output"], **given)


NETWORKS = [
    ("resnet18", {}),
    ("resnet50", {}),
    ("googlenet", {"init_weights": True, "aux_logits": False}),
    ("mobilenet_v2", {}),
    ("mobilenet_v3_small", {}),
    ("mobilenet_v3_large", {}),
    ("efficientnet_b0", {}),
    ("densenet121", {}),
    ("shufflenet_v2_x1_0", {}),
    ("squeezenet1_1", {}),
    ("mnasnet1_0", {}),
    ("regnet_y_400mf", {}),
    ("regnet_x_400mf", {}),
    ("convnext_tiny", {}),
    ("vit_b_16", {"image_size": SIZE}),
    ("swin_t", {}),
    ("swin_v2_t", {}),
]
"""Names, and what their functions are given."""


def vision():
    """Classifiers and segmentation networks."""
    photos = partial(inputs.photos, size=SIZE)
    found = [
        Entry(name, partial(_network, name, "", options, SIZE), photos)
        for name, options in NETWORKS
    ]
    # Their pools to a fixed size can only be exported where it divides that of what they pool.
    large = partial(inputs.photos, size=224)
    for name, counted in (("alexnet", False), ("vgg11_bn", True)):
        build = partial(_network, name, "", {}, 224)
        found.append(Entry(name, build, large, counted=counted))
    whole = {"weights_backbone": None, "num_classes": 21}
    for name in ("lraspp_mobilenet_v3_large", "deeplabv3_mobilenet_v3_large", "fcn_resnet50"):
        build = partial(_network, name, "segmentation", whole, SIZE)
        found.append(Entry(name, build, photos))
    return [*found, Entry("U-Net", _unet, partial(inputs.photos, size=SIZE))]


def _unet(path):
    """A network of Ronneberger et al. (2015) with 16 to 64 channels."""
    import torch
    from torch import nn

    def double(c, d):
        layers = [nn.Conv2d(c, d, 3, padding=1), nn.BatchNorm2d(d), nn.ReLU()]
        return nn.Sequential(*layers, nn.Conv2d(d, d, 3, padding=1), nn.BatchNorm2d(d), nn.ReLU())

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.ModuleList([double(3, 16), double(16, 32), double(32, 64)])
            self.up = nn.ModuleList([nn.ConvTranspose2d(2 * c, c, 2, 2) for c in (32, 16)])
            self.join = nn.ModuleList([double(2 * c, c) for c in (32, 16)])
            self.head = nn.Conv2d(16, 2, 1)

        def forward(self, x):
            a = self.down[0](x)
            b = self.down[1](nn.functional.max_pool2d(a, 2))
            x = self.down[2](nn.functional.max_pool2d(b, 2))
            for up, join, kept in zip(self.up, self.join, (b, a), strict=True):
                x = join(torch.cat([up(x), kept], 1))
            return self.head(x)

    torch.manual_seed(0)
    network = UNet()
    x = torch.from_numpy(inputs.photos(np.random.default_rng(1), 32, SIZE))
    _statistics(network, x)
    export(network.eval(), (x[:2],), path, ["input"])
