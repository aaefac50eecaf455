"""A producer of device memory for the consumer's checks, and imports from it."""

from __future__ import annotations

from typing import Any

from refarray.conformance.cases import NotApplicable
from refarray.conformance.gpu.device_fixture import SIZE, DeviceFixture
from refarray.conformance.harness.consumer import Consumer
from refarray.conformance.harness.recorder import Recorder
from refarray.conformance.native_method import NativeMethod
from refarray.conformance.subjects.devices import COUNT

LEFT_OUT = "nothing"


class Lender(Recorder):
    """A correct producer of the kit's device memory, which is filled in a stream of the kit."""

    def __init__(self, fixture: DeviceFixture, number: int = 0, **fields: Any) -> None:
        fixture.driver.use(number)
        self.fixture = fixture
        self.number = number
        """The device that holds the memory."""
        self.pointer: int = fixture.driver.make("memory", SIZE)
        fixture.scratch.append(self.pointer)
        self.own: int = fixture.driver.stream()
        fixture.driver.call("fill", self.pointer, 0, SIZE, self.own)
        fixture.driver.call("wait", self.own)
        fixture.driver.use(0)
        super().__init__(
            **{
                "device": (fixture.vendor.kind, number),
                "data": self.pointer,
                "shape": (COUNT,),
                "dtype": (2, 32, 1),
                **fields,
            }
        )

    @NativeMethod
    def __dlpack__(self, **keywords: Any) -> Any:
        """Makes the consumer's stream wait for the kit's, unless -1 is passed."""
        given = stream_number(keywords.get("stream"))
        if given != -1:
            before = self.fixture.driver.current()
            self.fixture.driver.use(self.number)
            legacy = self.fixture.vendor.legacy
            self.fixture.driver.after(legacy if given is None else given, self.own)
            if before is not None:
                self.fixture.driver.use(before)
        return super().__dlpack__(**keywords)

    @property
    def stream(self) -> int | str | None:
        """The stream of the first call; LEFT_OUT if it passed none. NotApplicable without a
        call."""
        if not self.requests:
            raise NotApplicable("it asks for no capsule")
        request = self.requests[0]
        return stream_number(request["stream"]) if "stream" in request else LEFT_OUT


def stream_number(stream: Any) -> int | None:
    """The number of a stream: an int, or an object with `__cuda_stream__`."""
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    return None if stream is None else int(stream)


def write_spy_repro(
    fixture: DeviceFixture, consumer: Consumer, *lines: str, device: int = 0
) -> str:
    """A repro: a spy on an array of refarray shows the consumer's requests."""
    place = f"{fixture.vendor.name}:{device}"
    return fixture.repro(
        "import refarray as ra; from refarray.conformance import spy",
        f"x = spy(ra.ones(256, dtype=ra.float32, device='{place}'))",
        *(lines or (consumer.subject.from_dlpack.format("x"),)),
        "print(x)",
    )
