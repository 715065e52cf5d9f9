"""Between scikit-learn and skdp, and on to other systems."""

__all__: list[str] = []
