"""What the report says in words. Numbers that runs give are in its tables, not here."""

from collections.abc import Sequence

from uncubed.experiments.config import EXPERIMENTS
from uncubed.experiments.runner import Row


def head(command: str, rows: Sequence[Row]) -> str:
    """The title, and what made this report."""
    versions = sorted({", ".join(f"{name} {value}" for name, value in row["versions"].items()) for row in rows})
    seeds = {row["seed"] for row in rows}
    made = f"{len(rows):,} runs, seeds 0 to {max(seeds)}" if rows else "no runs yet"
    return f"""# The paper's experiments, reproduced

*Regret and Belief Complexity Trade-off in Gaussian Process Bandits via Information Thresholding* (Bedi, Peddireddy,
Aggarwal, Sadler, Koppel), Section 4, run by uncubed.

Last command: `{command}`. {made}. Versions: {"; ".join(versions) or "none"}. One BLAS thread per run.
Numbers are means over seeds, ± is half of a 95 % confidence interval (Student's t; regrets are skewed, so with few seeds
it may cross zero), and brackets in the claims are 95 % intervals of a ratio by resampling seeds. Each row of `results.jsonl` is one run; {", ".join(f"`{name}.toml`" for name in EXPERIMENTS)} and `methods.toml` in
`src/uncubed/experiments/configurations` are the whole configuration. Seconds are of a shared machine and compare only
within a table."""


INFERRED = """## What was inferred, and from what

The paper does not say everything that a run needs.

| | here | from |
|:--|:--|:--|
| domain of the example function | [-8, 8] | the first regrets of the earlier version's figure are those of GP-UCB from x = 4.79 on about 500 points of this interval |
| domain of Rosenbrock | [-2, 2]², maximising its negative | the first regrets of the figure, 361, 49, 41 and 369, are those of its corners |
| horizons, initial points | 200 / 1, 100 / 2, 100 / 16 | the earlier version's figures; the paper says 2^d initial points, which the runs of 1,000 rounds have |
| action sets | grids of 500 (T = 200) and 1,000 points, 50 × 50, 13 × 5 × 6 × 6 | ours; `--box` runs the continuous boxes |
| noise of an observation | standard deviation √σ² = 0.0316 | ours, so that the model's noise is the real one; the published curves look like 0.01, the earlier version's text says unit variance |
| "confidence δ = 0.9" | failure probability 0.1 | the bounds are meaningless otherwise |
| ranges of the four hyper-parameters | log10 learning rate [-6, 0], batch [20, 2000], dropout [0, 0.75], ℓ2 [0, 1] | a public benchmark with the same four parameters |
| optimum of the logistic experiment | best accuracy seen in any run of the setting | it is not known otherwise; being the luckiest of many, it is a little high, for all methods alike |"""

EPSILON = """## What ε = 10⁻⁴ keeps, with the arithmetic

The paper keeps an action iff its information gain ½ log(1 + v/σ²) exceeds ε, v being its posterior variance. With
σ² = 10⁻³ and ε = 10⁻⁴ that is v > σ²(e^{2ε} - 1) = 2.0·10⁻⁷. Looking n times at one place leaves v ≈ σ²/n, so one place
must be looked at about 5,000 times before a single look is refused. **In 1,000 rounds the printed rule refuses
nothing**: it is the dense GP.

The earlier version kept an action iff its conditional entropy ½ log(2πe(σ² + v)) itself exceeds ε = 10⁻⁴: that is
v > e^{2ε}/(2πe) - σ² = 0.0576, a gain of 2.035 nats, 288,000 times the variance above. Of the three rules here only this
one gives model orders like the published 13 and 8; the claims above say how near.

Theorem 3.1's ε = ½ log(1 + T^-α) lies between: with α = 1/(2p) and T = 1,000 it is v > 3.2·10⁻⁵ for p = 1, about 32 looks
at one place, and v > 1.8·10⁻⁴ for p = 2, about 6 looks.

So each printed claim has its rule: *the model order settles at about 13 and 8* is the absolute rule, whose resolution of
0.24 prior standard deviations is coarse, as its regret under UCB shows; *regret comparable to dense with a sublinear model* is the schedule; *ε = 10⁻⁴* with
the rule as printed is neither."""

ABOUT = {
    "example": """f(x) = sin x + cos x + 0.1 x. *Dense* keeps everything; *relative* lies on it, because it refuses
nothing. *Absolute* stops looking early, and then selects whichever action its coarse model leaves on top: in some seeds
a good one, in some a bad one, for good. *Projected* absorbs every value into few atoms and is no method of the paper.

Under EI dense has the larger *cumulative* regret: it goes on exploring, while a compressed run freezes on the best
action it knows after a few dozen rounds and repeats it. What freezing costs is in the *simple* regret, and in the worst
seed of the table of frozen rounds.""",
    "rosenbrock": """-f for f(x, y) = (1 - x)² + 10 (y - x²)². **As printed** its values reach from -369 to 0, with a prior
of mean 0 and variance 1 and √β about 6: a corner some hundreds of prior deviations down drags the posterior mean of
everything within a length-scale or two with it and little there is looked at again, while the mean on the far side of
a steep slope overshoots by as much. What the search settles on depends on what it saw first, so the seeds differ by more
than the methods do, and the certificates, which believe in the prior, fail (see there). **Standardised** over the grid (mean 0,
variance 1) the same function is an ordinary problem for the same kernel.""",
    "logistic": """A softmax regressor on images of digits, trained by mini-batch SGD with input dropout and ℓ2, over
(log10 learning rate, batch size, dropout, ℓ2) scaled to the unit cube, in which the length-scale of 1 is meant. The
reward is the accuracy on held-out images, fresh random numbers for each training: that is the noise. The prior mean is 0,
as in the paper. `digits` is scikit-learn's set of 1,797 images of 8 × 8 pixels; it is not MNIST. `MNIST` is the real one,
50,000 images to train and 10,000 to validate. **A refused round is a training not made.** Its regret counts: where the
action was trained before, by the mean of those accuracies, else by one training off the clock.

The published run kept 83 of 116 observations on MNIST. The unit cube is one length-scale wide, so the absolute rule
keeps far fewer there. In raw units, batch sizes are many length-scales apart and teach nothing of each other: the setting
"in raw units" below keeps everything. The published number lies between the two; the units behind it are not
printed.

UCB with the theoretical β still explores after 100 rounds in four dimensions, and what it explores is informative: so
compression with α = 1/(2p) saves it the least. EI and MPI settle sooner, and then freeze.""",
}

CERTIFICATES = """## Certificates

After each round a bandit can say how large its cumulative regret can be: Σ_t [max UCB_t - LCB_t(x_t)], with
probability 0.9 for f drawn from the prior, for any acquisition; for UCB also Theorem 3.2's √(C_1 T β_T (I_T + Σε)) with
the information gain I_T that was realised. The functions here were not drawn from the prior. Where they are at least
plausible under it the certificate should hold. Raw Rosenbrock is not plausible: there the certificate can fail, and an
exact belief warns that its values do not look drawn from the prior. Projected and BKB cannot warn so far; their certificates
say that the posterior is an approximation. Standardised Rosenbrock is rougher than the kernel expects in places, so some
of its runs warn although the certificate holds. In the logistic experiment regret is measured from the best accuracy
seen, and accuracies are not centred, so the prior is a rough one there."""

PRINTED_BOUNDS = """### Corollary 3.3 and Theorem 3.4 as printed

* **Corollary 3.3**: √(C_1 β_T) max(√Z_1, 1) T^¾ with Z_1 = Σλ/(σ²(1 - 1/e)). The eigenvalues of a kernel matrix with unit
  diagonal sum to |X|, so Z_1 is 1.6·10⁶ for 1,000 actions. The bound is above what happened and says nothing: regret per
  round would have to exceed the whole range of f for it to matter at any horizon in reach. It is stated for p = 1, and its
  proof takes M_T ≤ √T with constant 1, which the model orders above exceed.
* **Theorem 3.4** (EI) is given here with the run's own model order and its largest z-score R over the marks of the
  curve; γ is by greedy selection, within 1 - 1/e of the largest, so the printed bound is at least this. It divides by
  log(1 + σ⁻²) where its proof gives the square root, and the proof bounds the variance at the optimum by the gain of the
  *selected* points, which does not follow. It is shown as printed; no certificate uses it.
* **Theorem 3.2** with the realised gain is what a run can use; where f suits the prior it is one to two orders of
  magnitude above what happened."""

SWEEP = """### Regret against complexity

All with UCB. *Constant ε* and *α* are two ways to set one threshold on the variance, so they trace one curve. *Projected*
evaluates every round whatever its novelty threshold c is, so its curve is vertical against evaluations. Down and left is
better. The tables below name the points."""

GROWTH = """### Table 1 as an experiment

Each horizon T has runs of its own, because ε depends on T. Exponents are slopes of log Reg_T and log M_T over log T by
least squares in each seed, mean and 95 % interval over seeds; the first hundred rounds or so explore at a regret that no
threshold changes, so the slope over the last decade says more. *Implied* is what Theorems 3.1 and 3.2 give: T^(1-α/2) and
T^(αp). **The printed regret exponents of CGP-UCB for α = 1/p and 1/(2p) are swapped**: a smaller ε must not mean more
regret. Both are upper bounds, up to logarithms and for f drawn from the prior. With p = 1 and α = 1/p the threshold is σ²/T:
no place can be looked at often enough to be refused, so that row is the dense GP."""

COST = """### Time per round and storage

The paper claims O(|X| T) time per round and O(|X| √T) storage for ε of order 1/√T, against O(|X| T²) and O(|X| T) of the
dense GP. Our dense GP is incremental, O(|X| T) per round with repeats kept apart, and with repeats merged it costs by the
distinct actions. A refused round costs O(|X|) at most. Storage is counted in numbers kept per action: rows of the
model times |X|."""

DIFFERENCES = """## What differs from the paper, and why

* **The rule.** The text's relative rule and its ε = 10⁻⁴ do not give the paper's own figures; see the arithmetic above.
* **Error bars.** The published curves look like single runs. A seed here changes regret more than many of the
  differences that the paper reports.
* **BKB.** The published BKB has a dictionary that jumps between 1 and t and regrets far above dense. Here it is the
  algorithm of its authors, rebuilt each round by leverage scores with λ = σ², oversampling 2 and the same acquisition as
  the others: its regret is near dense, its dictionary small, and its rounds cost the most of all methods with a small model.
* **Clock time.** The printed seconds suggest a GP computed anew each round (30 ms a round at 200 observations); ours is
  incremental in every method, and a round takes tens of microseconds. Which rule the printed times are of is not said;
  they are set beside the absolute rule, because the figures follow it.
* **Repeats.** On a grid the dense posterior can be kept with one row per distinct action, exactly. Where few
  actions repeat many times this takes away most of what compression saves in *time*; what remains are the evaluations, and
  action sets so large that actions do not repeat.
  "Repeats not merged" is the paper's dense GP.
* **Frozen rounds.** Under EI and MPI a refused action changes nothing, so it is selected and refused for ever. The paper
  counts those rounds; so do we, and the tables above say from which round on, and at what regret.
* **Lock-in.** Under UCB β_t grows, but slowly; a constant threshold leaves a floor of O(√(β ε)) in the regret per round.
* **MNIST regret.** The published regret reaches 7.8, so it is not an accuracy. Ours is an accuracy. Most of the time
  saved there is training not done, as the table shows, not a smaller GP.
* **Table 1.** Its CGP-UCB regret exponents for α = 1/p and α = 1/(2p) are swapped; its EI row prints 1 - 1/(4p) for both."""

REPEAT = """## Repeat it

```sh
make reproduce                                        # quick: the earlier version's horizons, 5 seeds
make reproduction                                     # everything here but MNIST
make mnist && .venv/bin/uncubed reproduce logistic --data mnist --out docs/reproduction
.venv/bin/uncubed reproduce example --box             # the continuous box
```"""

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a; }}
h1, h2, h3 {{ line-height: 1.2; margin-top: 2rem; }}
img {{ max-width: 100%; height: auto; }}
table {{ border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; display: block; overflow-x: auto; }}
th, td {{ border-bottom: 1px solid #ddd; padding: 0.2rem 0.7rem; text-align: left; }}
td[style*="right"] {{ white-space: nowrap; }}
code, pre {{ background: #f4f4f4; border-radius: 3px; }}
code {{ padding: 0 0.2em; }}
pre {{ padding: 0.7rem; overflow-x: auto; }}
</style>
{body}
</html>
"""
