"""A yard of small components, a store, and a cache of models of its own."""

from yard_study import own_cache, store, study, yard

__all__ = ["own_cache", "store", "study", "yard"]
