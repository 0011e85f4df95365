"""The generated pages of the documentation: what they say is read off the code.

`python -m tools.reference` writes them anew; a test fails where one is not what the code says.
"""
