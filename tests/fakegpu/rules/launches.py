"""Kernels: their image, and the grid, block and shared memory of a launch. Every rule is broken
once, and kept by a launch that differs in nothing else."""

from __future__ import annotations

import ctypes
import struct

import fakegpu
import pytest
from conftest import Gpu, kinds
from fakegpu.driving import Cuda, Geometry, Hip, Number, bundle

KERNEL = "refarray_fill_1"
BLOCK, PER_BLOCK = 256, 1024  # threads, bytes filled
#: Of the kernels' parameter, which is passed by value.
PARAMETER_BYTES = 656


def ptx(name: str = KERNEL, threads: int = BLOCK, parameter: int = PARAMETER_BYTES) -> bytes:
    return (
        "// made by hand\n\n.version 6.0\n.target sm_60\n.address_size 64\n"
        f".visible .entry {name}(\n  .param .align 8 .b8 {name}_param_0[{parameter}]\n)\n"
        f".maxntid {threads}, 1, 1\n{{\n  ret;\n}}\n"
    ).encode()


def image_of(driver: Gpu, name: str = KERNEL) -> bytes:
    return ptx(name) if isinstance(driver, Cuda) else bundle("gfx90a", name)


def filling(pointer: int, count: int) -> list[bytes]:
    """The parameter of KERNEL that fills `count` bytes with the number 5."""
    head = struct.pack("<QQIi8xIIQQ", pointer, 0, count, 1, 8, 0, 5, 0)
    axis = struct.pack("<IIIIqq", count, 1, 0, 0, 1, 0)
    return [(head.ljust(144, b"\0") + axis).ljust(PARAMETER_BYTES, b"\0")]


def grid(blocks: int, threads: int = BLOCK, shared: int = 0) -> Geometry:
    return (blocks, 1, 1), (threads, 1, 1), shared


class Launched:
    """One launch of KERNEL over two blocks' worth of new memory."""

    def __init__(self, driver: Gpu, geometry: Geometry) -> None:
        self.memory, self.stream = driver.memory(2 * PER_BLOCK), driver.stream()
        kernel = driver.kernel(KERNEL, image_of(driver))
        values = filling(self.memory, 2 * PER_BLOCK)
        self.code = driver.launch_code(kernel, self.stream, values, geometry)
        fakegpu.run()
        self.filled = fakegpu.peek(self.memory, 2 * PER_BLOCK).count(b"\5")


def test_a_launch_that_suits_the_kernel(each: Gpu) -> None:
    done = Launched(each, grid(2))
    assert (done.code, done.filled, kinds()) == (0, 2 * PER_BLOCK, [])


@pytest.mark.parametrize(
    ("geometry", "filled"),
    [
        (grid(1), PER_BLOCK),  # too few blocks
        (grid(3), 2 * PER_BLOCK),  # too many
        (grid(2, threads=128), PER_BLOCK),  # half of each block's threads
        (((2, 1, 1), (16, 16, 1), 0), 2 * PER_BLOCK // 16),  # thread numbers repeat
        (((1, 2, 1), (BLOCK, 1, 1), 0), PER_BLOCK),  # block numbers repeat
        (grid(2, shared=16), 2 * PER_BLOCK),
    ],
)
def test_another_geometry_is_reported_and_runs_as_launched(
    each: Gpu, geometry: Geometry, filled: int
) -> None:
    done = Launched(each, geometry)
    assert (done.code, done.filled, kinds()) == (0, filled, ["wrong-launch"])


@pytest.mark.parametrize(
    "geometry",
    [
        grid(2, threads=512),  # more than the kernel's .maxntid
        grid(2, threads=2048),
        ((2, 1, 1), (1, 1, 65), 0),
        ((2, 1, 1), (64, 8, 4), 0),
        grid(0),
        grid(2, threads=0),
        ((2, 65536, 1), (BLOCK, 1, 1), 0),
        grid(2**31),
        grid(2, shared=65537),
    ],
)
def test_a_geometry_that_no_device_runs_is_refused(each: Gpu, geometry: Geometry) -> None:
    done = Launched(each, geometry)
    assert (done.code, done.filled, kinds()) == (1, 0, ["wrong-launch"])


def test_hip_runs_fewer_than_2_to_the_32_threads(each_hip: Hip) -> None:
    assert Launched(each_hip, grid(2**24)).code == 1
    assert kinds() == ["wrong-launch"]


def test_static_and_dynamic_shared_memory_share_a_limit(each_cuda: Cuda) -> None:
    """Static: 16896 bytes of the tiled kernel; dynamic memory above 48 KiB needs an attribute."""
    kernel = each_cuda.kernel("refarray_tiled_1", ptx("refarray_tiled_1"))
    values = [bytes(PARAMETER_BYTES)]
    assert each_cuda.launch_code(kernel, each_cuda.stream(), values, grid(1, shared=32257)) == 1
    assert kinds() == ["wrong-launch"]


def test_parameters_are_given_in_one_form(each: Gpu) -> None:
    kernel, pair = each.kernel("fakegpu_increment"), (ctypes.c_void_p * 2)()
    name = "cuLaunchKernel" if isinstance(each, Cuda) else "hipModuleLaunchKernel"
    assert each.code(name, kernel, 1, 1, 1, 1, 1, 1, 0, each.stream(), pair, pair) == 1


def test_a_module_has_the_kernels_of_its_image(each: Gpu) -> None:
    other = image_of(each, "refarray_rows")
    module = each.made(f"{each.prefix}ModuleLoadData", other)
    function = f"{each.prefix}ModuleGetFunction"
    assert each.code(function, Number(), module, KERNEL.encode()) == 500
    each.made(function, module, b"refarray_rows")
    each.made(function, module, b"fakegpu_increment")  # in every module
    assert not kinds()


def test_an_image_for_another_vendor_is_refused_and_reported(each: Gpu) -> None:
    wrong = bundle() if isinstance(each, Cuda) else ptx()
    load = f"{each.prefix}ModuleLoadData"
    assert each.code(load, Number(), wrong) == 200
    assert kinds() == ["wrong-image"]
    assert each.code(load, Number(), image_of(each)) == 0
    assert kinds() == ["wrong-image"]


def test_an_image_without_the_devices_architecture_is_refused(each: Gpu) -> None:
    load, cuda = f"{each.prefix}ModuleLoadData", isinstance(each, Cuda)
    wrong = ptx().replace(b"sm_60", b"sm_100") if cuda else bundle("gfx1100", KERNEL)
    assert each.code(load, Number(), wrong) == 209
    if cuda:
        assert each.code(load, Number(), ptx().replace(b"6.0", b"9.9")) == 222
    assert not kinds()


def test_an_image_whose_parameters_differ_is_reported(each_cuda: Cuda) -> None:
    each_cuda.kernel(KERNEL, ptx(parameter=PARAMETER_BYTES - 8))
    assert kinds() == ["wrong-image"]


def test_the_images_limit_of_threads_counts(each_cuda: Cuda) -> None:
    kernel = each_cuda.kernel(KERNEL, ptx(threads=128))
    values = filling(each_cuda.memory(), 256)
    assert each_cuda.launch_code(kernel, each_cuda.stream(), values, grid(1)) == 1
    assert kinds() == ["wrong-launch"]
