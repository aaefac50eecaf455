"""Launched graphs: branches of a capture are ordered only by the events that joined them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import fakegpu
import pytest
from conftest import Gpu, kinds
from fakegpu.driving import Cuda, Number

RELAXED = 2


class Branches:
    """A capture with two streams: `side` is forked from `main` and joined at the end."""

    def __init__(self, each: Gpu) -> None:
        self.each, self.main, self.side = each, each.stream(), each.stream()
        self.memory, self.other = each.memory(), each.memory()
        self.run = 0

    @contextmanager
    def captured(self) -> Iterator[None]:
        each, cuda = self.each, isinstance(self.each, Cuda)
        each("cuStreamBeginCapture_v2" if cuda else "hipStreamBeginCapture", self.main, RELAXED)
        each.after(self.side, self.main)
        yield
        each.after(self.main, self.side)
        graph = Number()
        each(f"{each.prefix}StreamEndCapture", self.main, graph)
        name = "cuGraphInstantiateWithFlags" if cuda else "hipGraphInstantiate"
        self.run = each.made(name, graph.value, *((0,) if cuda else (0, 0, 0)))

    def launch(self, stream: int = 0) -> None:
        self.each(f"{self.each.prefix}GraphLaunch", self.run, stream or self.main)


@pytest.fixture
def branches(each: Gpu) -> Branches:
    return Branches(each)


@pytest.mark.parametrize("joined", [False, True])
def test_branches_that_share_memory_need_an_event(
    each: Gpu, branches: Branches, joined: bool
) -> None:
    with branches.captured():
        each.fill(branches.memory, branches.main, 1)
        if joined:
            each.after(branches.side, branches.main)
        each.copy(branches.other, branches.memory, branches.side)
    assert not kinds()  # nothing has run
    branches.launch()
    assert kinds() == ([] if joined else ["race"])
    each.synchronize(branches.main)
    if joined:
        assert fakegpu.peek(branches.other, 1) == b"\1"


def test_a_branch_may_run_before_work_captured_earlier(each_cuda: Cuda) -> None:
    fakegpu.configure(order="latest")
    branches = Branches(each_cuda)
    with branches.captured():
        each_cuda.fill(branches.memory, branches.main, 1)
        each_cuda.copy(branches.other, branches.memory, branches.side)
    branches.launch()
    each_cuda.synchronize(branches.main)
    assert fakegpu.peek(branches.other, 1) == b"\xcd"
    assert kinds() == ["race"]


def test_branches_on_other_memory_need_none(each: Gpu, branches: Branches) -> None:
    with branches.captured():
        each.fill(branches.memory, branches.main)
        each.fill(branches.other, branches.side)
        each.fill(branches.memory, branches.main)
        each.fill(branches.other, branches.side)
    branches.launch()
    assert not kinds()


def test_work_after_the_launch_follows_all_branches(each: Gpu, branches: Branches) -> None:
    with branches.captured():
        each.fill(branches.memory, branches.main)
        each.fill(branches.other, branches.side)
    each.fill(branches.other, branches.main)  # and comes before all branches
    branches.launch()
    each.fill(branches.other, branches.main)
    each.synchronize(branches.main)
    each.fill(branches.memory, branches.side)
    assert not kinds()


def test_other_streams_are_not_ordered_with_a_branch(each: Gpu, branches: Branches) -> None:
    with branches.captured():
        each.fill(branches.memory, branches.main)
        each.fill(branches.other, branches.side)
    branches.launch()
    each.fill(branches.other, branches.side)  # the capture's streams mean nothing any more
    assert kinds() == ["race"]


def test_launches_of_one_graph_follow_each_other(each: Gpu, branches: Branches) -> None:
    with branches.captured():
        each.fill(branches.memory, branches.main)
        each.fill(branches.other, branches.side)
    branches.launch()
    branches.launch(branches.side)
    assert not kinds()
    each.fill(branches.memory, branches.main)
    assert kinds() == ["race"]


def test_a_kernel_of_a_graph_is_a_kernel(each: Gpu, branches: Branches) -> None:
    fakegpu.configure(concurrent_managed=False)
    increment, managed = each.kernel("fakegpu_increment"), each.managed()
    with branches.captured():
        each.launch(increment, branches.side, branches.memory, 4)
    fakegpu.touch(managed, 1)
    assert not kinds()
    branches.launch()
    fakegpu.touch(managed, 1)
    assert kinds() == ["managed-access"]
    each.synchronize(branches.main)
    fakegpu.touch(managed, 1, write=True)
    assert kinds() == ["managed-access"]
