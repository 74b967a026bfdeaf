"""Published trained networks for CIFAR, as npz files of arrays: ``cifar_models/<name>.npz``.

A file has one float32 array per parameter and running statistic, under its state-dict name without a ``module.`` prefix
and without ``num_batches_tracked``. Make it once from the published checkpoint::

    import numpy, torch
    state = torch.load("resnet20-12fca82f.th", map_location="cpu", weights_only=True)["state_dict"]
    arrays = {name.removeprefix("module."): tensor.numpy() for name, tensor in state.items() if "tracked" not in name}
    numpy.savez("cifar_models/cifar10_resnet20.npz", **arrays)

Sums are of names and numbers, not of the file: its compression does not matter.

``cifar10_resnet20``, ``32`` and ``44`` are from github.com/akamaster/pytorch_resnet_cifar10 (BSD-2-Clause), networks
with a wide stem from github.com/karanchahal/distiller (no licence stated).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from io import BytesIO
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import AssayError
from assay.data.folder import find, missing

Arrays = Mapping[str, NDArray[Any]]
SUMS: Mapping[str, str] = {
    "cifar100_resnet14_wide_stem": "2eee33837d2d4b64624aae68e68b7af6c9c0e46b47450cbc7f68abea64a1455e",
    "cifar100_resnet20_wide_stem": "5e701519618b636b449aaf670c3bb642a7bf13b7ee804edd168a60470c5aa9ce",
    "cifar100_resnet8_wide_stem": "63b56e6f99588e11b866e4ce0dac7443443b38e235038d670745576f93cfca26",
    "cifar10_resnet20": "fda6040cb484994c57727b181144aa73d816199c9b2f3682afad5b4a54678f5a",
    "cifar10_resnet32": "788ed7e1b0deaee6ae1af9b4020b9c02dc7fa47a804f9bba8ee1e74dad1febfc",
    "cifar10_resnet44": "4762d495f6962d413a50cd27aea9440d4939c33380a6484377632d356eec448f",
    "cifar10_resnet8_wide_stem": "1e479907e67cece17a206cbbf7f1c9f8dbf678515729dbffc60ad9a5007e3ed5",
}


def pretrained(name: str) -> dict[str, NDArray[Any]]:
    """The arrays of a published network."""
    if name not in SUMS:
        raise AssayError(f"no published weights are known for {name}. Known: {', '.join(SUMS)}.")
    file = f"cifar_models/{name}.npz"
    path = find(file)
    if path is None:
        advice = "Set ASSAY_DATA to a folder that has it (assay.data.models says how to make it), or train a network."
        raise missing(f"the network {name}", advice, file)
    try:
        with np.load(BytesIO(path.read_bytes()), allow_pickle=False) as archive:
            arrays = dict(archive)
    except (OSError, ValueError, BadZipFile) as error:
        raise AssayError(f"{path} is not an npz file of arrays: {error}") from error
    if (digest := content(arrays)) != SUMS[name]:
        raise AssayError(f"{path} has other numbers than the published network: sum {digest}, not {SUMS[name]}.")
    return arrays


def content(arrays: Arrays) -> str:
    """sha256 of names, shapes and numbers."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
