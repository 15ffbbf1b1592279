"""The dataclasses of all rooms: their methods are compiled when first needed.

`dataclass` and `field` behave like those of the standard library for the forms used here: classes with
slots, frozen or not, with positional or keyword-only fields. The standard library generates and compiles half a dozen
methods for each class when it is defined, which takes half a millisecond; a command that submits one job defines a
hundred classes and instantiates a third of them. Here the constructor is compiled when the first object is created, and
the other methods are shared. The functions of the module `dataclasses` (`fields`, `replace`, `asdict`) work; their
first use imports it.

Not supported, and refused: `InitVar`, `KW_ONLY`, and bases that are dataclasses of the standard library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter, ge, gt, le, lt
from reprlib import recursive_repr
from typing import Any, Final, NamedTuple, TypeVar, dataclass_transform, overload

_C = TypeVar("_C", bound=type)
_R = TypeVar("_R")
#: The default of a field without one.
MISSING: Final[Any] = type("_Missing", (), {"__repr__": lambda self: "<missing>"})()


class _Field(NamedTuple):
    """The description of one field."""

    default: Any = MISSING
    default_factory: Any = MISSING
    compare: bool = True
    repr: bool = True
    init: bool = True
    metadata: Mapping[str, Any] | None = None


def field(
    *,
    default: Any = MISSING,
    default_factory: Any = MISSING,
    compare: bool = True,
    repr: bool = True,
    init: bool = True,
    metadata: Mapping[str, Any] | None = None,
) -> Any:
    """A field that needs more than an annotation and a default."""
    return _Field(default, default_factory, compare, repr, init, metadata)


@overload
@dataclass_transform(field_specifiers=(field,))
def dataclass(cls: _C, /) -> _C: ...
@overload
@dataclass_transform(field_specifiers=(field,))
def dataclass(
    *, frozen: bool = False, slots: bool = True, kw_only: bool = False, eq: bool = True, order: bool = False
) -> Callable[[_C], _C]: ...
@dataclass_transform(field_specifiers=(field,))
def dataclass(
    cls: Any = None,
    /,
    *,
    frozen: bool = False,
    slots: bool = True,
    kw_only: bool = False,
    eq: bool = True,
    order: bool = False,
) -> Any:
    """Make a class a dataclass with slots; without `slots` its objects accept other attributes, too."""
    if cls is None:
        return lambda cls: _made(cls, frozen, kw_only, eq, order, slots)
    return _made(cls, frozen, kw_only, eq, order, slots)


class Shape(NamedTuple):
    """The data from which the methods of a class are generated."""

    fields: dict[str, _Field]
    #: Names of the keyword-only fields.
    named: frozenset[str]
    frozen: bool


def _made(cls: type, frozen: bool, kw_only: bool, eq: bool, order: bool, slots: bool) -> type:
    base = _shape_of_base(cls)
    assert not base.frozen or frozen, f"{cls}: a subclass of a frozen class must be frozen"
    own = own_fields(cls)
    fields = {**base.fields, **own}
    shape = Shape(fields, (base.named - set(own)) | (frozenset(own) if kw_only else frozenset()), frozen)
    body = {name: value for name, value in cls.__dict__.items() if name not in ("__dict__", "__weakref__", *own)}
    body["__slots__"] = (*(name for name in own if name not in base.fields), *(() if slots else ("__dict__",)))
    body["__match_args__"] = tuple(name for name in fields if name not in shape.named)
    body["__record_shape__"] = shape
    body["__dataclass_fields__"] = DATACLASS_FIELDS
    body.setdefault("__init__", _first_init)
    body.setdefault("__repr__", show)
    if eq:
        compare_by_fields(body, fields, frozen)
    if order:
        _order_by_fields(body, fields)
    if frozen:
        body |= {"__setattr__": _no_set, "__delattr__": _no_delete, "__getstate__": _state, "__setstate__": _restore}
    made = type(cls)(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    return made


def _shape_of_base(cls: type) -> Shape:
    for base in cls.__mro__[1:]:
        shape = base.__dict__.get("__record_shape__")
        if shape is not None:
            assert isinstance(shape, Shape)
            return shape
        assert "__dataclass_fields__" not in base.__dict__, f"{base} is a dataclass of the standard library"
    return Shape({}, frozenset(), False)


def own_fields(cls: type) -> dict[str, _Field]:
    """The fields that a class itself declares, by name."""
    fields = {}
    for name, annotation in cls.__dict__.get("__annotations__", {}).items():  # noqa: RUF063  (inspect is what costs)
        text = annotation if isinstance(annotation, str) else str(annotation)
        if text.startswith(("ClassVar", "typing.ClassVar")):
            continue
        assert "InitVar" not in text and "KW_ONLY" not in text, f"{cls}: {text}"
        given = cls.__dict__.get(name, MISSING)
        fields[name] = given if isinstance(given, _Field) else _Field(given)
    return fields


#: Frozen classes with at least this many fields are created through a twin class.
_BY_TWIN_MIN: Final = 3
#: Sets `__class__` of an object, bypassing the `__setattr__` of a frozen class.
_CLASS: Final[Any] = object.__dict__["__class__"]

# -- the constructor ---------------------------------------------------------------------------------------------------


def _first_init(self: Any, *args: Any, **given: Any) -> None:
    """Compile the constructor of the class when its first object is created, and run it."""
    for cls in type(self).__mro__:
        if cls.__dict__.get("__init__") is _first_init:
            init = _init_of(cls)
            cls.__init__ = init  # type: ignore[misc]
            init(self, *args, **given)
            return


def _init_of(cls: type) -> Callable[..., None]:
    shape: Shape = cls.__dict__["__record_shape__"]
    known: dict[str, Any] = {"MISSING": MISSING}
    positional: list[str] = []
    named: list[str] = []
    stores: list[str] = []
    sets: list[str] = []
    for name, told in shape.fields.items():
        argument = value = name
        if told.default_factory is not MISSING:
            known[f"make_{name}"] = told.default_factory
            argument = f"{name}=MISSING"
            value = f"make_{name}() if {name} is MISSING else {name}" if told.init else f"make_{name}()"
        elif told.default is not MISSING:
            known[f"default_{name}"] = told.default
            argument = f"{name}=default_{name}"
            value = name if told.init else f"default_{name}"
        elif not told.init:
            continue
        if told.init:
            (named if name in shape.named else positional).append(argument)
        sets.append(f" self.{name} = {value}")
        if shape.frozen:
            # Through the slot descriptor: the class forbids ordinary assignment.
            known[f"store_{name}"] = getattr(cls, name).__set__
            stores.append(f" store_{name}(self, {value})")
    if not shape.frozen:
        stores = sets
    elif cls.__bases__ == (object,) and len(sets) >= _BY_TWIN_MIN and "__dict__" not in cls.__dict__["__slots__"]:
        # During construction the object has a class of the same layout whose fields can be set: that is much faster.
        known |= {"_become": _CLASS.__set__, "_cls": cls}
        known["_twin"] = type(f"{cls.__name__}InTheMaking", (), {"__slots__": tuple(shape.fields)})
        stores = [
            " if self.__class__ is _cls:",
            *_or_too_deep("_become(self, _twin)"),
            *(f" {each}" for each in sets),
            *_or_too_deep("self.__class__ = _cls"),
            " else:",
            *(f" {each}" for each in stores),
        ]
    arguments = ", ".join(["self", *positional, *(["*", *named] if named else [])])
    if hasattr(cls, "__post_init__"):
        stores.append(" self.__post_init__()")
    exec("\n".join([f"def __init__({arguments}):", *stores, " return None"]), known)
    init: Callable[..., None] = known["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__module__ = cls.__module__
    return init


def _or_too_deep(statement: str) -> list[str]:
    """A change of class. Near the recursion limit it fails with a TypeError, because layouts cannot be compared
    there."""
    error = 'raise RecursionError("maximum recursion depth exceeded") from None'
    return ["  try:", f"   {statement}", "  except TypeError:", f"   {error}"]


# -- the other methods -------------------------------------------------------------------------------------------------


def compare_by_fields(body: dict[str, Any], fields: dict[str, _Field], frozen: bool) -> None:
    """Add to the namespace of a class equality by its compared fields, and a hash if it is frozen."""
    names = [name for name, told in fields.items() if told.compare]
    key = _key(names)

    def __eq__(self: Any, other: Any) -> Any:
        return key(self) == key(other) if other.__class__ is self.__class__ else NotImplemented

    body.setdefault("__eq__", __eq__)
    if body.get("__hash__") is None:
        body["__hash__"] = (lambda self: hash(key(self))) if frozen else None


def _order_by_fields(body: dict[str, Any], fields: dict[str, _Field]) -> None:
    key = _key([name for name, told in fields.items() if told.compare])
    for name, compare in (("__lt__", lt), ("__le__", le), ("__gt__", gt), ("__ge__", ge)):
        body[name] = _ordered(key, compare)


def _ordered(key: Callable[[Any], Any], compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
    return lambda self, other: compare(key(self), key(other)) if other.__class__ is self.__class__ else NotImplemented


def _key(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """The fields of an object as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    # `attrgetter` with one name would return the bare value, not a tuple.
    return lambda self: tuple([getattr(self, name) for name in names])


@recursive_repr()
def show(self: Any) -> str:
    """The repr of an object: its class, and the fields with `repr`."""
    shown = (name for name, told in self.__record_shape__.fields.items() if told.repr)
    return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


def _no_set(self: Any, name: str, value: object) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _no_delete(self: Any, name: str) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self.__record_shape__.fields]


def _restore(self: Any, state: list[Any]) -> None:
    for name, value in zip(self.__record_shape__.fields, state, strict=True):
        object.__setattr__(self, name, value)


def replace(record: _R, /, **changes: Any) -> _R:
    """A copy with some fields changed."""
    shape: Shape = type(record).__record_shape__  # type: ignore[attr-defined]
    return type(record)(**({name: getattr(record, name) for name, told in shape.fields.items() if told.init} | changes))


class _Fields:
    """The attribute by which the module `dataclasses` recognizes a class, computed on first access."""

    def __get__(self, instance: object, owner: type) -> dict[str, Any]:
        import dataclasses

        shape: Shape = owner.__record_shape__  # type: ignore[attr-defined]
        annotations: dict[str, Any] = {}
        for each in reversed(owner.__mro__):
            annotations |= each.__dict__.get("__annotations__", {})  # noqa: RUF063  (as above)
        made: Any = dataclasses.make_dataclass(
            owner.__name__,
            [(name, annotations[name], _standard(told)) for name, told in shape.fields.items()],
            kw_only=True,
        )
        found: dict[str, Any] = made.__dataclass_fields__
        for name in found:
            found[name].kw_only = name in shape.named
        owner.__dataclass_fields__ = found  # type: ignore[attr-defined]
        return found


def _standard(told: _Field) -> Any:
    import dataclasses

    more = {} if told.default is MISSING else {"default": told.default}
    if told.default_factory is not MISSING:
        more = {"default_factory": told.default_factory}
    return dataclasses.field(compare=told.compare, repr=told.repr, init=told.init, metadata=told.metadata, **more)


#: Shared by all classes.
DATACLASS_FIELDS: Final = _Fields()
