"""What the commands do with fabrics and the trees on them."""
