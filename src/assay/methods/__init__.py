"""Attribution methods. A class is imported when it is first taken from here; ``__init__.pyi`` lists them."""

from assay.catalogue.families import family

__getattr__, __dir__ = family(__name__)
