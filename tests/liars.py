"""Parts of problems that lie about themselves, which batteries over such parts have to notice."""


def altered(part, **attributes):
    """The same part with other declarations or methods."""
    other = object.__new__(type("Altered", (type(part),), attributes))
    other.__dict__.update(vars(part))
    return other
