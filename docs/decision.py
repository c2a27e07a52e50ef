# %% [markdown]
# # From a request to a decision
#
# Twelve hosts with four ports each, a training step of two collectives, and alternatives: names, a networkx graph, and
# a matrix of links.

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
# One row per design:

# %%
found.to_dataframe()[["name", "time_s", "cables", "price", "frontier"]]

# %% [markdown]
# Time of a step against price, and the fastest design by size:

# %%
found.plot()

# %%
found.plot("ahead")

# %% [markdown]
# Verify the plan of the first collective:

# %%
plan = found.recommendation.parts[0].plan
td.verify(plan)

# %% [markdown]
# The bill, and how the wiring grows:

# %%
found.bill

# %%
[(stage.name, stage.moves, float(stage.seconds)) for stage in found.growth]

# %% [markdown]
# The same request with other bandwidths:

# %%
step = {"collectives": [{"collective": "allreduce", "size": "64MiB"}]}
for rate in np.array([100e9, 400e9]):
    print(td.design(nodes=12, degree=4, bandwidth=float(rate), workload=step).verdict)

# %% [markdown]
# Write all files and the report:

# %%
written = found.save("decision")
td.report_page(found).save("decision/decision.html")
[file.path for file in written.files]
