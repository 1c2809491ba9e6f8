"""Figures that other people published, made again from their raw files by the way of the product.

Run by `make evidence`. The files lie beside the checkout and are no part of the project.
"""
