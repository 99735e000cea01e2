"""What a holdout that says little, and that privately, proves: nobody fits its records by chance.

Let S be n records drawn independently from a population P, and let all that an analyst learned of S be the transcript
of k questions, in which at most c answers are paid for, each one of w numbers; her coins know nothing of S. Each
question is a function with values in [0, 1], chosen by the answers before it. q(S) is its mean over the records, q(P)
over the population. With probability 1 - b all k functions have |q(S) - q(P)| <= t, for each of these two:

**Theorem 1** (few answers). t = sqrt((ln(2k) + ln N + ln(1/b)) / 2n), where N is the sum over j <= c of C(k, j) w**j.
*Proof.* There are at most N transcripts, and each has k questions: at most k N functions, fixed before S is drawn. Each
is off by more than t with probability at most 2 exp(-2 n t**2) (Hoeffding); the union bound. []

**Theorem 2** (private answers). Let the transcript A be epsilon-DP for replacing one record, and u = epsilon sqrt(n/2).

    t = sqrt((y**2 + ln(2k)) / 2n),    y = (u + sqrt(u**2 + 4 ln(1/b))) / 2.

*Proof.* Fix a transcript a. f(S) = ln Pr[A = a | S] moves by at most epsilon when one record is replaced, so by the
bounded difference lemma E[exp(p (f - E f))] <= exp(p**2 n epsilon**2 / 8) over S ~ P**n. With Z = Pr[A = a | S] / Pr[A
= a] and Pr[A = a] = E exp(f) >= exp(E f) (Jensen), E[Z**p]**(1/p) <= exp(p n epsilon**2 / 8). Let B be the event that
one of the k functions of a is off by more than t. Under P**n alone Pr[B] <= exp(-l), l = 2 n t**2 - ln(2k) (Hoeffding).
Given A = a, by Hoelder, Pr[B] = E[Z 1_B] <= exp(p n epsilon**2/8 - l (1 - 1/p)) for every p > 1, and the best p =
sqrt(8 l / n)/epsilon makes that exp(-(l - u sqrt(l))), which is b for sqrt(l) = y; and p >= 2, as y >= u. []

Both ideas are of Dwork, Feldman, Hardt, Pitassi, Reingold, Roth (NIPS 2015: description length, and max-information of
pure privacy); statements and constants are those of the proofs above, and not of their Theorem on Thresholdout, whose
noise is another. For large n the second is epsilon/2, the order of Bassily, Nissim, Smith, Steinke, Stemmer, Ullman
(STOC 2016). **Where epsilon is 1 it says next to nothing, whatever n**; the first does not ask for privacy at all, and
grows with c. What a holdout does in practice is better than both.
"""

from __future__ import annotations

import math

from sparsegate.errors import ParameterError

_FINE = 10**9


def far_from_the_truth(
    size: int, *, epsilon: float, questions: int, cutoff: int, values: int, confidence: float
) -> float:
    """The smaller t of the two theorems, and 1 where neither says anything.

    >>> public = {"questions": 1000, "cutoff": 20, "values": 1000, "confidence": 0.95}
    >>> [round(far_from_the_truth(10_000, epsilon=epsilon, **public), 3) for epsilon in (0.02, 0.1, 1, 100)]
    [0.027, 0.056, 0.111, 0.111]
    """
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 < confidence < 1:
        raise ParameterError("confidence", "must lie strictly between 0 and 1", confidence, "pass for instance 0.95")
    ways, doubt = math.log(2 * questions), -math.log(1 - confidence)
    u = epsilon * math.sqrt(size / 2)
    private = ((u + math.sqrt(u**2 + 4 * doubt)) / 2) ** 2
    least = min(private, _log_transcripts(questions, cutoff, values) + doubt)
    return min(1.0, math.sqrt((least + ways) / (2 * size)))


def _log_transcripts(questions: int, cutoff: int, values: int) -> float:
    """ln N, from above: every term is at most the largest one."""
    most = min(questions, cutoff)

    def term(j: int) -> float:
        if questions > _FINE:  # differences of large logarithms are all rounding: C(k, j) <= k**j / j!
            return j * (math.log(questions) + math.log(values)) - math.lgamma(j + 1)
        chosen = math.lgamma(questions + 1) - math.lgamma(j + 1) - math.lgamma(questions - j + 1)
        return chosen + j * math.log(values)

    # The ratio of a term to the one before is values (k-j+1)/j, which falls with j: it is largest at the last j above.
    peak = min(most, values * (questions + 1) // (values + 1))
    return term(peak) + math.log(most + 1)
