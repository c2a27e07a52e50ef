# %% [markdown]
# # Notebook
#
# Results are tables, and `.plot()` draws them. This page is [notebook.ipynb](notebook.ipynb).

# %%
import topodesign as td

answer = td.pareto(200, 6, sizes=["64KiB", "64MiB"])
answer

# %% [markdown]
# The fastest topology depends on the size of the data.

# %%
answer.plot("times")

# %% [markdown]
# Compare it with standard designs. Every allreduce is a verified plan:

# %%
td.compare(["best", "torus", "ring"], nodes=12, degree=4)

# %% [markdown]
# The best topology of 12 nodes:

# %%
topology = td.build("circulant(12,2,3)")
td.plot(topology)

# %%
td.evaluate(topology)

# %% [markdown]
# Independent code verifies a plan. The plot shows when each link is busy.

# %%
plan = td.schedule(topology, "allgather")
td.verify(plan)

# %%
td.simulate(plan, size="4MiB").plot()

# %% [markdown]
# Boxes with switches: the maximum throughput, and the links that limit it.

# %%
best = td.optimum("dgx_a100(2)", "allgather")
best.plot()

# %% [markdown]
# Exact rows as a data frame:

# %%
answer.to_dataframe()[["spec", "steps", "bandwidth", "duplex"]]
