(** * Metered gates with gaps

    [metered.v] for the gates that the code runs by default: with gaps, of one-sided or of Laplace noise
    ([exponential_gap.v], [laplace_gap.v]). [None] is BELOW, [Some g] is ABOVE with the gap g.

    - A gate is a [row] (metered_rows.v) that is not two-sided ([proper_gap]): its public numbers, chosen when it is
      opened by whoever asks, with all answers of all gates so far in view.
    - [q p h] and [T p h]: what a gate with the numbers [p] is asked after the joint history [h], on one
      data set, and the public threshold.
    - The gate is charged eps1 + eps2 ([charge]); it has ended after c ABOVE; when it is shut it counts
      with [gap_meter], L(m,k) of its own answers: the larger one of Up and Down for monotonic questions.

    [metered_gates_are_private]: under a budget B the joint history of all gates, interleaved and opened
    and shut as one likes, is B-DP. [metered_gates_sum_to_one]: it is a whole law.

    Of the code: a gate may give back less than eps1 + eps2 - L(m,k). Gates without gaps are in
    [metered_rows.v]; those with an answers share or with a delta are in neither. [metered.v] holds for all
    that have such an L. *)

From Sparsegate Require Import prelude privacy sums laplace geometric gate laplace_gate standard_gate.
From Sparsegate Require Import transcripts gap exponential_gap laplace_gap side_by_side metered metered_rows.
Local Open Scope ring_scope.

(** ** One gate *)
Section Gate.
Context {R : realType}.
Implicit Types (p : row R) (s : seq (option int)).

Definition proper_gap p := proper p && ~~ two_sided p.

Definition gap_row_answer p (q T rho : int) : {distr (option int) / R} :=
  gap_answer (noise p (rate p / (Delta p)%:R)) q T (kappa p) rho.

Definition gap_ended p s := (cutoff p <= count isSome s)%N.

Definition gap_meter_of (u : way) p s : R :=
  (if one_sided_noise p then exponential_gap_loss else laplace_gap_loss)
    u (eps1 p) (rate p) (count (predC isSome) s) (count isSome s).

Definition gap_meter p s : R :=
  if monotonic p then Num.max (gap_meter_of Up p s) (gap_meter_of Down p s) else gap_meter_of Any p s.

Lemma allowed_positives p s : allowed gap_ended p s -> (count isSome s <= cutoff p)%N.
Proof.
case/lastP: s => // s a /allP ok; have := ok (size s).
rewrite mem_iota size_rcons ltnSn -cats1 take_size_cat // => /(_ isT).
rewrite /gap_ended -ltnNge => lt; rewrite count_cat /= addn0.
by apply: leq_trans lt; rewrite -addn1 leq_add2l leq_b1.
Qed.

Lemma gap_meter_le_charge p s : proper_gap p -> allowed gap_ended p s -> gap_meter p s <= charge p.
Proof.
case/andP=> ok _ /allowed_positives le_c; have r0 := ltW (rate_gt0 ok).
have /and5P[_ _ /ltW e0 _ _] := ok.
have le u : reach u = sides (monotonic p) -> gap_meter_of u p s <= charge p.
  move=> s_u; apply: le_trans (_ : _ <= eps1 p + (count isSome s)%:R * ((reach u)%:R * rate p)) _.
    rewrite /gap_meter_of; case: ifP => _; last exact: laplace_gap_loss_le.
    exact: exponential_gap_loss_le.
  by rewrite ler_add2l s_u rate_times.
rewrite /gap_meter; case mono: (monotonic p) => //; last by apply: le; rewrite mono.
by rewrite le_maxl !le // mono.
Qed.

Lemma gap_meter_ratio (X : choiceType) (q q' T : seq X -> int) p (l : seq (seq X * option int)) :
  proper p -> neighbours (monotonic p) (Delta p) q q' ->
  likelihood (threshold_noise p) (fun h => gap_row_answer p (q h) (T h)) l <=
  expR (gap_meter p [seq y.2 | y <- l]) * likelihood (threshold_noise p) (fun h => gap_row_answer p (q' h) (T h)) l.
Proof.
move=> ok near_q; have r0 := rate_gt0 ok; have /and5P[D0 _ e0 _ _] := ok.
have [u mv s_u] := neighbours_move near_q.
have le : gap_meter_of u p [seq y.2 | y <- l] <= gap_meter p [seq y.2 | y <- l].
  by rewrite /gap_meter; case: (monotonic p) s_u; case: u {mv} => //= _; rewrite le_maxr lexx ?orbT.
suff h : likelihood (threshold_noise p) (fun h => gap_row_answer p (q h) (T h)) l <=
    expR (gap_meter_of u p [seq y.2 | y <- l]) *
    likelihood (threshold_noise p) (fun h => gap_row_answer p (q' h) (T h)) l.
  by apply: le_trans h _; rewrite ler_wpmul2r ?ge0_psum // ler_expR.
rewrite /gap_meter_of /threshold_noise /gap_row_answer /noise; case: (one_sided_noise p).
  exact: exponential_gap_likelihood.
exact: laplace_gap_likelihood.
Qed.

Lemma gap_row_answer_sums_to_one p q T rho : proper p -> psum (gap_row_answer p q T rho) = 1.
Proof.
move=> ok; have /and5P[D0 _ _ _ _] := ok; apply: gap_answer_sums_to_one.
have pos : 0 < rate p / (Delta p)%:R by rewrite divr_gt0 ?ltr0n ?rate_gt0.
by rewrite /noise; case: ifP => _; [exact: geometric_sums_to_one | exact: laplace_sums_to_one].
Qed.

End Gate.

(** ** All of them *)
Section Gates.
Context {R : realType}.
Notation history := (@history [choiceType of row R] [choiceType of option int]).
Implicit Types (q T : row R -> history -> int).

Definition metered_gates B act q T n : {distr history / R} :=
  metered threshold_noise proper_gap charge gap_meter gap_ended B act
    (fun p h => gap_row_answer p (q p h) (T p h)) n.

Theorem metered_gates_are_private B act q q' T n :
  0 <= B -> (forall p, neighbours (monotonic p) (Delta p) (q p) (q' p)) ->
  within B (metered_gates B act q T n) (metered_gates B act q' T n).
Proof.
move=> B0 near_q; apply: metered_is_private => //; first exact: gap_meter_le_charge.
by move=> p l /andP[ok _] _; apply: gap_meter_ratio.
Qed.

Theorem metered_gates_sum_to_one B act q T n : psum (metered_gates B act q T n) = 1.
Proof.
apply: metered_sums_to_one => p => [/andP[ok _]|h x /andP[ok _]].
  exact: threshold_noise_sums_to_one.
exact: gap_row_answer_sums_to_one.
Qed.

End Gates.
