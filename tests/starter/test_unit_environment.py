"""Jobs are told which units of custom resources are theirs, in the variables that HTCondor sets."""

from __future__ import annotations

import pytest

from roost.classad import ClassAd, parse_expression
from roost.config import ConfigError
from roost.starter.unit_environment import check, unit_environment
from tests.startd.layout_cases import configured

GPUS = "MACHINE_RESOURCE_GPUs = CUDA0, CUDA1\n"


def told(text: str = "", **attributes: object) -> dict[str, str]:
    """What a job on a slot with those attributes is told; a text with `=` before it is an expression."""
    ad = ClassAd({"MachineResources": "Cpus Memory Disk Swap GPUs"})
    for name, value in attributes.items():
        is_expression = isinstance(value, str) and value.startswith("=")
        ad[name] = parse_expression(value[1:]) if is_expression else value  # type: ignore[index, assignment]
    return unit_environment(ad, configured(text))


def test_the_defaults_are_those_of_gpus() -> None:
    assert told(GPUs=2, AssignedGPUs="CUDA0,CUDA3") == {
        "CUDA_VISIBLE_DEVICES": "0,3",
        "GPU_DEVICE_ORDINAL": "0,3",
        "NVIDIA_VISIBLE_DEVICES": "none",
        "_CONDOR_AssignedGPUs": "CUDA0,CUDA3",
    }
    assert told(GPUs=1, AssignedGPUs="OCL1") == {
        "CUDA_VISIBLE_DEVICES": "OCL1",
        "GPU_DEVICE_ORDINAL": "1",
        "NVIDIA_VISIBLE_DEVICES": "none",
        "_CONDOR_AssignedGPUs": "OCL1",
    }
    assert told(GPUs=1, AssignedGPUs="GPU-abcdef")["CUDA_VISIBLE_DEVICES"] == "GPU-abcdef"


@pytest.mark.parametrize("nothing", [{}, {"AssignedGPUs": ""}])
def test_a_job_without_a_gpu_on_a_machine_that_has_some_finds_none(nothing: dict[str, str]) -> None:
    assert told(GPUs=0, **nothing) == {
        "CUDA_VISIBLE_DEVICES": "10000",
        "GPU_DEVICE_ORDINAL": "10000",
        "NVIDIA_VISIBLE_DEVICES": "none",
        "_CONDOR_AssignedGPUs": "10000",
    }


def test_a_machine_without_gpus_says_nothing_of_them() -> None:
    assert told(MachineResources="Cpus Memory Disk Swap") == {}


def test_the_uuids_of_gpus_are_told_where_they_are_known() -> None:
    ads = {"GPUs_a": ClassAd({"DeviceUuid": "1-2"}), "GPUs_b": ClassAd({"DeviceUuid": "3-4"})}
    found = told(GPUs=2, AssignedGPUs="GPU-a,GPU-b", AvailableGPUs="={GPUs_a, GPUs_b}", **ads)
    assert found["NVIDIA_VISIBLE_DEVICES"] == "GPU-1-2,GPU-3-4"
    assert "NVIDIA_VISIBLE_DEVICES" not in told("AUTO_SET_NVIDIA_VISIBLE_DEVICES = False\n", GPUs=2)


def test_any_resource_may_have_variables_with_patterns() -> None:
    text = """
        ENVIRONMENT_FOR_Assignedrobot = ARM  BOTH=/^/robot:/, SWAPPED=|(.)-(.)|$2/$1$3| CUDA_VISIBLE_DEVICES
        ENVIRONMENT_VALUE_FOR_UnAssignedrobot = nothing
    """
    common = {"MachineResources": "Cpus Memory robot lamp"}
    assert told(text, **common, robot=2, Assignedrobot="a-1, b-2", lamp=1, Assignedlamp="north") == {
        "ARM": "a-1, b-2",
        "BOTH": "robot:a-1,robot:b-2",
        "CUDA_VISIBLE_DEVICES": "1,2",
        "SWAPPED": "1/a,2/b",
        "_CONDOR_Assignedlamp": "north",
        "_CONDOR_Assignedrobot": "a-1, b-2",
    }
    assert told(text, **common, robot=0, lamp=0) == {
        "ARM": "nothing",
        "BOTH": "robot:nothing",
        "CUDA_VISIBLE_DEVICES": "",
        "SWAPPED": "nothing",
        "_CONDOR_Assignedrobot": "nothing",
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("A=/x", "A= is not followed by /pattern/replacement/"),
        ("B A=", "A= is not followed by /pattern/replacement/"),
        ("A=/(/b/", r"A: '(' is not a regular expression"),
    ],
)
def test_variables_that_cannot_be_read_are_refused(text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as found:
        check(["robot"], configured(f"ENVIRONMENT_FOR_Assignedrobot = {text}\n"))
    assert f": error: ENVIRONMENT_FOR_Assignedrobot: {problem} [" in str(found.value)
