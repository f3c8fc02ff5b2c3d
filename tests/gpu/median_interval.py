"""The median, with an interval that has it with a probability of 95 %, whatever the noise."""
import math
import statistics


def median_interval(values):
    """Median, low and high; with fewer than six numbers the interval is all of them."""
    values = sorted(values)
    n, skip, tail = len(values), 0, 2.0**-len(values)
    while tail <= 0.025:
        skip += 1
        tail += math.comb(n, skip) / 2**n
    skip = max(skip - 1, 0)
    return statistics.median(values), values[skip], values[n - 1 - skip]
