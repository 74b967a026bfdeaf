"""A training that is stopped and goes on ends with the bytes of one that was never stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Generator, Tensor, nn

from assay.train.augment import shifted
from assay.train.checkpoints import Throttle, checkpoints_in
from assay.train.fit import fit
from assay.train.networks import initialise, mlp
from assay.train.stacked import _Stack, fit_stacked

ALWAYS = Throttle(seconds=0, share=1e9)
EPOCHS = 5


class Stopped(Exception):
    pass


class Noisy(nn.Module):
    """Batch statistics, dropout from the global stream, a buffer that no state_dict holds, channels last."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
        self.norm = nn.BatchNorm2d(4)
        self.drop = nn.Dropout(0.3)
        self.head = nn.Linear(4, 2)
        self.register_buffer("seen", torch.zeros(()), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            self.seen += 1
        found: Tensor = self.head(self.drop(self.norm(self.conv(x)).relu().mean(dim=(2, 3)))) / (1 + self.seen / 100)
        return found


def noisy() -> Noisy:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        return Noisy()


def rows() -> tuple[Tensor, Tensor]:
    x = torch.randn(40, 3, 6, 6, generator=Generator().manual_seed(1))
    return x, (x.mean(dim=(1, 2, 3)) > 0).long()


OPTIMISERS = {
    "adam": torch.optim.Adam,
    "amsgrad": partial(torch.optim.Adam, amsgrad=True),
    "momentum": partial(torch.optim.SGD, momentum=0.9, weight_decay=1e-3),
    "averaged": partial(torch.optim.ASGD, t0=3),
    "resilient": torch.optim.Rprop,
}


def train(model: nn.Module, stop: int | None = None, computed: list[int] | None = None, **changes: Any) -> None:
    """Stops after ``stop`` epochs; ``computed`` gets the numbers of those that were computed."""

    def progress(epoch: int, loss: float) -> None:
        if computed is not None:
            computed.append(epoch)
        if epoch + 1 == stop:
            raise Stopped

    x, label = rows()
    options = {
        "epochs": EPOCHS,
        "batch": 16,
        "lr": 1e-2,
        "generator": Generator().manual_seed(0),
        "schedule": lambda epoch: 0.5**epoch,
        "augment": partial(shifted, 1),
        **changes,
    }
    fit(model, x, label, progress=progress, **options)


def numbers(model: nn.Module) -> dict[str, bytes]:
    named = [*model.named_parameters(), *model.named_buffers()]
    return {name: tensor.detach().contiguous().numpy().tobytes() for name, tensor in named}


def stopped(folder: Path, after: int, throttle: Throttle = ALWAYS, **changes: Any) -> None:
    with pytest.raises(Stopped), checkpoints_in(folder, throttle):
        train(noisy(), stop=after, **changes)


def resumed(folder: Path, **changes: Any) -> tuple[nn.Module, list[int]]:
    epochs: list[int] = []
    with checkpoints_in(folder, ALWAYS):
        train(model := noisy(), computed=epochs, **changes)
    return model, epochs


@pytest.mark.parametrize("after", [1, 3, EPOCHS])
@pytest.mark.parametrize("optimiser", OPTIMISERS.values(), ids=OPTIMISERS)
def test_a_training_that_was_stopped_ends_with_the_same_bytes(tmp_path: Path, after: int, optimiser: Any) -> None:
    train(whole := noisy(), optimiser=optimiser)
    stopped(tmp_path / "key", after, optimiser=optimiser)
    model, epochs = resumed(tmp_path / "key", optimiser=optimiser)
    assert epochs == list(range(after, EPOCHS))
    assert numbers(model) == numbers(whole)


def test_a_training_may_be_stopped_again_and_again(tmp_path: Path) -> None:
    train(whole := noisy())
    for after in (1, 2, 4):
        stopped(tmp_path / "key", after)
    model, epochs = resumed(tmp_path / "key")
    assert epochs == [4]
    assert numbers(model) == numbers(whole)


def test_a_resumed_model_is_as_frozen_as_any_other(tmp_path: Path) -> None:
    stopped(tmp_path / "key", EPOCHS)
    model, epochs = resumed(tmp_path / "key")
    assert epochs == []
    assert not model.training
    assert not any(parameter.requires_grad for parameter in model.parameters())


KILLED = """
import os, signal, sys
from pathlib import Path
from assay.train.checkpoints import checkpoints_in
import test_checkpoints as tests

def progress(epoch, loss):
    print(epoch, flush=True)
    if epoch == 2:
        os.kill(os.getpid(), signal.SIGKILL)

x, label = tests.rows()
with checkpoints_in(Path(sys.argv[1]), tests.ALWAYS):
    tests.fit(tests.noisy(), x, label, tests.EPOCHS, 16, 1e-2, tests.Generator().manual_seed(0), progress)
"""


def test_a_training_survives_the_death_of_its_process(tmp_path: Path) -> None:
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    found = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "key")],
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert (found.returncode, found.stdout.split()) == (-signal.SIGKILL, ["0", "1", "2"]), found.stderr
    same = {"schedule": None, "augment": None}
    train(whole := noisy(), **same)
    model, epochs = resumed(tmp_path / "key", **same)
    assert epochs == [3, 4]
    assert numbers(model) == numbers(whole)


def test_nothing_is_left_of_a_training_that_is_finished(tmp_path: Path) -> None:
    stopped(tmp_path / "key", 2)
    assert [path.name for path in tmp_path.iterdir()] == ["key"]
    resumed(tmp_path / "key")
    assert list(tmp_path.iterdir()) == []


def test_only_the_newest_checkpoint_is_kept(tmp_path: Path) -> None:
    stopped(tmp_path / "key", 3)
    assert len(list((tmp_path / "key").iterdir())) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"epochs": 6},
        {"batch": 8},
        {"lr": 2e-2},
        {"generator": Generator().manual_seed(7)},
        {"optimiser": torch.optim.SGD},
        {"optimiser": partial(torch.optim.Adam, weight_decay=0.1)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_another_training_does_not_pick_a_checkpoint_up(tmp_path: Path, change: dict[str, Any]) -> None:
    stopped(tmp_path / "key", 2)
    _, epochs = resumed(tmp_path / "key", **change)
    assert epochs[0] == 0


def test_other_rows_or_another_network_do_not_pick_a_checkpoint_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped(tmp_path / "key", 2)
    x, label = rows()
    for other in [(x + 1e-6, label), (x, 1 - label)]:
        monkeypatch.setitem(train.__globals__, "rows", lambda other=other: other)
        stopped(tmp_path / "key", 1)
    monkeypatch.undo()
    with torch.no_grad():
        (model := noisy()).head.bias += 1
    with pytest.raises(Stopped), checkpoints_in(tmp_path / "key", ALWAYS):
        train(model, stop=1)


def flipped(raw: bytes) -> bytes:
    return raw[:-1] + bytes([raw[-1] ^ 1])


@pytest.mark.parametrize("damage", [flipped, lambda raw: b"", lambda raw: raw[:-9], lambda raw: b"\xff" * 99])
def test_a_damaged_checkpoint_only_costs_time(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    train(whole := noisy())
    stopped(tmp_path / "key", 2)
    for path in (tmp_path / "key").iterdir():
        path.write_bytes(damage(path.read_bytes()))
    model, epochs = resumed(tmp_path / "key")
    assert epochs == list(range(EPOCHS))
    assert numbers(model) == numbers(whole)


@pytest.mark.parametrize(("damaged", "left"), [(False, [2, 3, 4]), (True, [1, 2, 3, 4])])
def test_of_two_checkpoints_the_newest_that_is_sound_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damaged: bool, left: list[int]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", lambda self, missing_ok=False: None)  # a kill between write and removal
        stopped(tmp_path / "key", 2)
    _, newest = sorted((tmp_path / "key").glob("*.safetensors"))
    if damaged:
        newest.write_bytes(b"")
    assert resumed(tmp_path / "key")[1] == left


def test_a_disk_that_is_full_only_costs_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    train(whole := noisy())
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        stopped(tmp_path / "key", 2)
        assert list((tmp_path / "key").iterdir()) == []
        model, epochs = resumed(tmp_path / "key")
    assert epochs == list(range(EPOCHS))
    assert numbers(model) == numbers(whole)


def test_a_folder_that_cannot_be_made_only_costs_time(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    assert resumed(tmp_path / "file" / "key")[1] == list(range(EPOCHS))


def test_an_optimiser_with_a_state_of_unknown_kind_trains_without_checkpoints(tmp_path: Path) -> None:
    class Odd(torch.optim.SGD):
        def __init__(self, params: list[nn.Parameter], *, lr: float) -> None:
            super().__init__(params, lr=lr)
            self.param_groups[0]["note"] = object()

    stopped(tmp_path / "key", 2, optimiser=Odd)
    assert not (tmp_path / "key").exists()
    assert resumed(tmp_path / "key", optimiser=Odd)[1] == list(range(EPOCHS))


def ticks(*times: float) -> Callable[[], float]:
    """A clock that shows these times, one a look."""
    clock: Iterator[float] = iter(times)
    return lambda: next(clock)


def test_a_training_shorter_than_the_throttle_writes_nothing(tmp_path: Path) -> None:
    stopped(tmp_path / "key", 3, Throttle(2.0, clock=ticks(0, 0.5, 1.0, 1.9)))
    assert not (tmp_path / "key").exists()


def test_checkpoints_are_at_least_the_throttle_apart(tmp_path: Path) -> None:
    # looks: at the begin, and for each epoch before, and where one is written, after it
    stopped(tmp_path / "key", 4, Throttle(2.0, clock=ticks(0, 1.0, 2.0, 2.0, 3.0, 3.9)))
    assert resumed(tmp_path / "key")[1] == [2, 3, 4]


def test_a_checkpoint_that_takes_long_is_written_less_often(tmp_path: Path) -> None:
    # The first takes one second, at a share of 10 % the next may come ten seconds later.
    stopped(tmp_path / "key", 4, Throttle(2.0, 0.1, ticks(0, 2.0, 3.0, 6.0, 12.9, 13.0, 13.5)))
    assert resumed(tmp_path / "key")[1] == [4]


def test_no_checkpoint_is_kept_outside_of_the_context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    train(noisy())
    assert list(tmp_path.iterdir()) == []


def test_several_trainings_of_one_model_go_on_where_the_last_one_was(tmp_path: Path) -> None:
    def both(stop: int | None, epochs: list[int]) -> list[dict[str, bytes]]:
        train(first := noisy(), computed=epochs)
        train(first, stop, epochs, generator=Generator().manual_seed(9))
        train(second := noisy(), computed=epochs, lr=1e-3)
        return [numbers(first), numbers(second)]

    whole = both(None, [])
    with pytest.raises(Stopped), checkpoints_in(tmp_path / "key", ALWAYS):
        both(2, [])
    epochs: list[int] = []
    with checkpoints_in(tmp_path / "key", ALWAYS):
        assert both(None, epochs) == whole
    assert epochs == [2, 3, 4, 0, 1, 2, 3, 4]


def test_what_nobody_resumed_for_a_month_is_removed(tmp_path: Path) -> None:
    for name in ("old", "young"):
        stopped(tmp_path / name, 1)
    month = time.time() - 31 * 24 * 3600
    os.utime(tmp_path / "old", (month, month))
    resumed(tmp_path / "key")
    assert [path.name for path in tmp_path.iterdir()] == ["young"]


def stack() -> tuple[list[nn.Sequential], Tensor, Tensor, list[Generator]]:
    networks = [mlp(3, (8,), 2) for _ in range(3)]
    for seed, network in enumerate(networks):
        initialise(network, Generator().manual_seed(seed))
    x = torch.randn(3, 40, 3, generator=Generator().manual_seed(1))
    return networks, x, (x[0, :, 0] > 0).long(), [Generator().manual_seed(seed) for seed in range(3)]


def test_a_stack_that_was_stopped_ends_with_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.train.stacked.STACK_BYTES", 1)  # one network a stack
    networks, x, label, generators = stack()
    fit_stacked(networks, x, label, EPOCHS, 16, 1e-2, generators)
    whole = [numbers(network) for network in networks]
    looks = 0

    def clock() -> float:
        nonlocal looks
        looks += 1
        if looks == 14:  # 1 at the begin, 2 an epoch: after the second epoch of the second stack
            raise Stopped
        return 0.0

    networks, x, label, generators = stack()
    with pytest.raises(Stopped), checkpoints_in(tmp_path / "key", Throttle(0, clock=clock)):
        fit_stacked(networks, x, label, EPOCHS, 16, 1e-2, generators)
    assert len(list((tmp_path / "key").iterdir())) == 2
    networks, x, label, generators = stack()
    steps = 0

    def differentiate(*arguments: Any, original: Callable[..., None] = _Stack.differentiate) -> None:
        nonlocal steps
        steps += 1
        original(*arguments)

    monkeypatch.setattr(_Stack, "differentiate", differentiate)
    with checkpoints_in(tmp_path / "key", ALWAYS):
        fit_stacked(networks, x, label, EPOCHS, 16, 1e-2, generators)
    assert steps == 3 * (4 + 5)  # batches of the epochs that were left in the second and third stack
    assert [numbers(network) for network in networks] == whole
