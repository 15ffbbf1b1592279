"""`JobTemplate`: the description of a job, whose attributes are checked when they are set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Final, Self

from roost.compat.drmaa import const
from roost.compat.drmaa.active import active
from roost.compat.drmaa.core.codes import Code, DrmaaError
from roost.compat.drmaa.errors import InvalidJobTemplateException, raised


class _Attribute:
    """An attribute with one value."""

    def __init__(self, name: bytes) -> None:
        self._name = name.decode()

    def to_drmaa(self, value: Any) -> str:
        """The value as text."""
        return _text(value)

    def from_drmaa(self, text: str) -> Any:
        """The value from a text."""
        return text

    def __set__(self, template: JobTemplate, value: Any) -> None:
        template._put(self._name, self.to_drmaa(value))

    def __get__(self, template: JobTemplate | None, owner: type | None = None) -> Any:
        return self if template is None else self.from_drmaa(template._value(self._name))


class _Truth(_Attribute):
    """An attribute with one of two keywords."""

    def __init__(self, name: bytes, true: str, false: str) -> None:
        super().__init__(name)
        self._true, self._false = true, false

    def to_drmaa(self, value: Any) -> str:
        return self._true if value else self._false

    def from_drmaa(self, text: str) -> Any:
        return text == self._true


class _Seconds(_Attribute):
    """An attribute that is a duration, s."""

    def from_drmaa(self, text: str) -> Any:
        from roost.compat.drmaa.core.times import seconds

        return seconds(text, self._name)


class _Vector:
    """An attribute with a list of values."""

    def __init__(self, name: bytes) -> None:
        self._name = name.decode()

    def to_drmaa(self, value: Any) -> list[str]:
        """The values as strings."""
        return [_text(each) for each in value]

    def from_drmaa(self, texts: list[str]) -> Any:
        """The values from strings."""
        return texts

    def __set__(self, template: JobTemplate, value: Any) -> None:
        template._put(self._name, self.to_drmaa(value))

    def __get__(self, template: JobTemplate | None, owner: type | None = None) -> Any:
        return self if template is None else self.from_drmaa(list(template._value(self._name)))


class _Dictionary(_Vector):
    """An attribute with names and values."""

    def to_drmaa(self, value: Mapping[Any, Any]) -> list[str]:
        return [f"{_text(name)}={_text(each)}" for name, each in value.items()]

    def from_drmaa(self, texts: list[str]) -> Any:
        return dict(text.split("=", 1) for text in texts)


def _text(value: Any) -> str:
    return value.decode(const.ENCODING) if isinstance(value, bytes) else str(value)


class JobTemplate:
    """A template of a job."""

    HOME_DIRECTORY: Final = "$drmaa_hd_ph$"
    WORKING_DIRECTORY: Final = "$drmaa_wd_ph$"
    PARAMETRIC_INDEX: Final = "$drmaa_incr_ph$"

    remoteCommand = _Attribute(const.REMOTE_COMMAND)
    jobSubmissionState = _Attribute(const.JS_STATE)
    workingDirectory = _Attribute(const.WD)
    jobCategory = _Attribute(const.JOB_CATEGORY)
    nativeSpecification = _Attribute(const.NATIVE_SPECIFICATION)
    blockEmail = _Truth(const.BLOCK_EMAIL, "1", "0")
    startTime = _Attribute(const.START_TIME)
    jobName = _Attribute(const.JOB_NAME)
    inputPath = _Attribute(const.INPUT_PATH)
    outputPath = _Attribute(const.OUTPUT_PATH)
    errorPath = _Attribute(const.ERROR_PATH)
    joinFiles = _Truth(const.JOIN_FILES, "y", "n")
    transferFiles = _Attribute(const.TRANSFER_FILES)
    deadlineTime = _Attribute(const.DEADLINE_TIME)
    hardWallclockTimeLimit = _Seconds(const.WCT_HLIMIT)
    softWallclockTimeLimit = _Seconds(const.WCT_SLIMIT)
    hardRunDurationLimit = _Seconds(const.DURATION_HLIMIT)
    softRunDurationLimit = _Seconds(const.DURATION_SLIMIT)
    email = _Vector(const.V_EMAIL)
    args = _Vector(const.V_ARGV)
    jobEnvironment = _Dictionary(const.V_ENV)

    def __init__(self, **kwargs: Any) -> None:
        """A template with these attributes. Raises an exception of `errors`."""
        with raised():
            active()
        self._values: dict[str, str | list[str]] | None = {}
        for name, value in kwargs.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and not hasattr(type(self), name):
            raise AttributeError(f"job templates have no attribute {name!r}; see attributeNames")
        object.__setattr__(self, name, value)

    @property
    def attributeNames(self) -> list[str]:
        """The names of the attributes with one value that the pool supports."""
        from roost.compat.drmaa.core.attributes import scalars

        with raised():
            return list(scalars(has_cell=active().has_cell))

    def delete(self) -> None:
        """Delete the template; jobs submitted with it continue."""
        self._checked()
        self._values = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.delete()

    def _checked(self) -> dict[str, str | list[str]]:
        if self._values is None:
            raise InvalidJobTemplateException("code 4: the job template was deleted")
        return self._values

    def _put(self, name: str, value: str | list[str]) -> None:
        values = self._checked()
        with raised():
            active().check(name, value)
        values[name] = value

    def _value(self, name: str) -> Any:
        values = self._checked()
        with raised():
            active()
            if name not in values:
                raise DrmaaError(Code.INVALID_ATTRIBUTE_VALUE, f"{name} is not set")
        return values[name]


def copied(template: JobTemplate) -> dict[str, str | Iterable[str]]:
    """The attributes of a template as they are now. Raises InvalidJobTemplateException."""
    return {name: value if isinstance(value, str) else list(value) for name, value in template._checked().items()}
