"""Patches that let a model's own modules report what happens inside them."""

from monkey_patch.modify_vit import enable_vit_custom_block

__all__ = ["enable_vit_custom_block"]
