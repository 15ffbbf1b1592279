"""Graphics processors, as the driver's program lists them."""

from __future__ import annotations

from roost.runtime.node.inventories import gpus_of

TABLE = """\
GPU-8c1b0f3e-aaaa-bbbb-cccc-0123456789ab, NVIDIA A100-SXM4-40GB, 40960, 8.0, 535.104, 00000000:07:00.0
GPU-1234abcd-aaaa-bbbb-cccc-0123456789ab, NVIDIA "odd" card, 24576, 8.6, 535.104, 00000000:08:00.0
"""


def test_processors_become_units_with_properties() -> None:
    assert gpus_of(TABLE).splitlines() == [
        'DetectedGPUs = "GPU-8c1b0f3e, GPU-1234abcd"',
        'GPU_8c1b0f3e = [ DeviceUuid = "8c1b0f3e-aaaa-bbbb-cccc-0123456789ab"; DeviceName = "NVIDIA A100-SXM4-40GB"; '
        'GlobalMemoryMb = 40960; Capability = 8.0; DriverVersion = 535.104; DevicePciBusId = "00000000:07:00.0"; '
        'Id = "GPU-8c1b0f3e" ]',
        'GPU_1234abcd = [ DeviceUuid = "1234abcd-aaaa-bbbb-cccc-0123456789ab"; DeviceName = "NVIDIA \\"odd\\" card"; '
        'GlobalMemoryMb = 24576; Capability = 8.6; DriverVersion = 535.104; DevicePciBusId = "00000000:08:00.0"; '
        'Id = "GPU-1234abcd" ]',
    ]


def test_no_processor_is_no_processor() -> None:
    assert gpus_of("") == "DetectedGPUs = 0\n"
    assert gpus_of("No devices were found\n") == "DetectedGPUs = 0\n"
