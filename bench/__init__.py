"""How fast agentsim is beside its peers: `python -m bench`."""
