"""User lists with departments, projects and users."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from roost.base.records import dataclass
from roost.gridengine.objects.pairs import LIST_TYPE
from roost.gridengine.objects.rows import attribute
from roost.gridengine.objects.values import BLANK_NAMES, ENTRIES, ULONG, ValueType, is_none

_PROJECT: Final = ValueType("project", lambda text: "NONE" if is_none(text) else text, str, "a project, or NONE")


@dataclass(frozen=True, slots=True, kw_only=True)
class UserList:
    """A list of users and of operating system groups (`@group`): an access list, a department, or both."""

    name: str
    type: tuple[str, ...] = attribute(LIST_TYPE, "ACL", "Whether the list is an access list, a department, or both.")
    fshare: int = attribute(ULONG, "0", "Functional share of the department.")
    oticket: int = attribute(ULONG, "0", "Override tickets of the department.")
    entries: tuple[str, ...] = attribute(ENTRIES, "NONE", "Users, and operating system groups as @group.")

    @property
    def is_department(self) -> bool:
        """Whether the list is a department."""
        return "DEPT" in self.type

    def holds(self, user: str, groups: tuple[str, ...] = ()) -> bool:
        """Whether a user, or one of the user's groups, is in the list."""
        return user in self.entries or any(f"@{group}" in self.entries for group in groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project."""

    name: str
    oticket: int = attribute(ULONG, "0", "Override tickets of the project.")
    fshare: int = attribute(ULONG, "0", "Functional share of the project.")
    acl: tuple[str, ...] = attribute(BLANK_NAMES, "NONE", "User lists that may use the project; NONE is every user.")
    xacl: tuple[str, ...] = attribute(BLANK_NAMES, "NONE", "User lists that may not use the project.")


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """The cell's entry for a user."""

    name: str
    oticket: int = attribute(ULONG, "0", "Override tickets of the user.")
    fshare: int = attribute(ULONG, "0", "Functional share of the user.")
    delete_time: int = attribute(ULONG, "0", "When an automatically created user is deleted; 0 is never.")
    default_project: str = attribute(_PROJECT, "NONE", "Project of the user's jobs that do not name one.")


#: the department of users in no other
DEFAULT_DEPARTMENT: Final = "defaultdepartment"


def department_of(lists: Mapping[str, UserList], user: str, groups: tuple[str, ...] = ()) -> str:
    """The department of a user."""
    named = (name for name, one in lists.items() if one.is_department and one.holds(user, groups))
    return next(named, DEFAULT_DEPARTMENT)


#: user lists that every new cell has, with the type of each
BUILT_IN_LISTS: Final = {"arusers": ("ACL",), "deadlineusers": ("ACL",), "defaultdepartment": ("DEPT",)}
