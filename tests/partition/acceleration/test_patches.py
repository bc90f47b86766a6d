import sys
import types

import pytest

from transforms.partition.acceleration.patches import Patches


@pytest.fixture
def package(monkeypatch):
    """A package with a module that has a function, and one that imported it by name."""

    def add(name, **content):
        module = types.ModuleType(name)
        module.__dict__.update(content)
        monkeypatch.setitem(sys.modules, name, module)
        return module

    def original():
        return "original"

    return types.SimpleNamespace(
        add=add,
        original=original,
        owner=add("some_package.owner", f=original),
        user=add("some_package.user", f=original),
        namesake=add("some_package.namesake", f=len),
        stranger=add("some_packages.stranger", f=original),
    )


def test_a_function_is_replaced_wherever_it_was_imported_to(package):
    Patches("some_package").function(package.owner, "f", max)
    assert (package.owner.f, package.user.f, package.namesake.f, package.stranger.f) == (max, max, len, package.original)


def test_undoing_reaches_modules_that_were_imported_after(package):
    patches = Patches("some_package")
    patches.function(package.owner, "f", max)
    late = package.add("some_package.late", f=max)
    patches.undo()
    assert (package.owner.f, package.user.f, late.f) == (package.original,) * 3
    patches.undo()
    assert package.owner.f is package.original


def test_attributes_of_classes_are_put_back_as_they_were():
    class Base:
        def inherited(self):
            return "base"

    class Owner(Base):
        @classmethod
        def made(cls):
            return "made"

    patches = Patches("some_package")
    patches.attribute(Owner, "made", classmethod(lambda cls: "replaced"))
    patches.attribute(Owner, "inherited", lambda self: "replaced")
    assert (Owner.made(), Owner().inherited()) == ("replaced", "replaced")
    patches.undo()
    assert (Owner.made(), Owner().inherited()) == ("made", "base")
    assert "inherited" not in Owner.__dict__
