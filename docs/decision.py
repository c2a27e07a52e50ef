# %% [markdown]
# # From a request to a decision
#
# Twelve hosts with four ports each, a training step of two collectives, and what one would wire otherwise: names, a
# graph of networkx, and a matrix of links.

# %%
import networkx as nx
import numpy as np

import topodesign as td

ring = np.roll(np.eye(12, dtype=int), 1, axis=1)
found = td.design(
    name="twelve hosts",
    nodes=12,
    degree=4,
    bandwidth="4x25Gbps",
    alpha="10us",
    cabling="duplex",
    workload={
        "name": "two collectives",
        "collectives": [
            {"collective": "allreduce", "size": "64MiB", "count": 4},
            {"collective": "all-to-all", "size": "1MiB", "count": 10},
        ],
    },
    rivals=["torus", "fattree", nx.random_regular_graph(4, 12, seed=1), 2 * (ring + ring.T)],
    prices={"cable": 40, "port": 300, "switch": 5000},
    grow=range(16, 17),
)
found

# %% [markdown]
# Every contender as a row, with floats and exact fractions:

# %%
found.to_dataframe()[["name", "time_s", "cables", "price", "frontier"]]

# %% [markdown]
# The time of a step against the price, and who is ahead when sizes or the mix change:

# %%
found.plot()

# %%
found.plot("ahead")

# %% [markdown]
# The plan of the first collective, checked by code that did not make it:

# %%
plan = found.recommendation.parts[0].plan
td.verify(plan)

# %% [markdown]
# What to buy, and how the wiring grows:

# %%
found.bill

# %%
[(stage.name, stage.moves, float(stage.seconds)) for stage in found.growth]

# %% [markdown]
# The same request with other bandwidths; arrays and ranges are taken wherever lists are:

# %%
step = {"collectives": [{"collective": "allreduce", "size": "64MiB"}]}
for rate in np.array([100e9, 400e9]):
    print(td.design(nodes=12, degree=4, bandwidth=float(rate), workload=step).verdict)

# %% [markdown]
# Everything for the bench and the racks, with the page that one decides by:

# %%
written = found.save("decision")
td.report_page(found).save("decision/decision.html")
[file.path for file in written.files]
