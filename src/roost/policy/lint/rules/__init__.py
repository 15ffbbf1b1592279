"""The rules, a module each: importing a module registers its rule."""
