# %% [markdown]
# # Notebook
#
# Results show themselves as tables, and draw themselves with `.plot()`. This page is
# [notebook.ipynb](notebook.ipynb), run when the site was built.

# %%
import topodesign as td

answer = td.pareto(200, 6, sizes=["64KiB", "64MiB"])
answer

# %% [markdown]
# Which one is the fastest depends on the size of the data.

# %%
answer.plot("times")

# %% [markdown]
# Beside what one would do anyway, every allreduce a verified plan:

# %%
td.compare(["best", "torus", "ring"], nodes=12, degree=4)

# %% [markdown]
# The best one of 12 nodes, as it is built, and how far its nodes are from each other:

# %%
topology = td.build("circulant(12,2,3)")
td.plot(topology)

# %%
td.evaluate(topology)

# %% [markdown]
# A plan is checked by code that did not make it; here is when each link is busy.

# %%
plan = td.schedule(topology, "allgather")
td.verify(plan)

# %%
td.simulate(plan, size="4MiB").plot()

# %% [markdown]
# Boxes behind switches: the best that any plan can do, and the links that allow no more.

# %%
best = td.optimum("dgx_a100(2)", "allgather")
best.plot()

# %% [markdown]
# Rows for programs, exact, and as a data frame:

# %%
answer.to_dataframe()[["spec", "steps", "bandwidth", "duplex"]]
