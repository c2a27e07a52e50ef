"""The catalog: the best known topologies of every size, as text rows that ship with the package."""
