(** * Metered gates with their noise

    [metered.v] for the gates that the code runs: with gaps, of one-sided or of Laplace noise
    ([exponential_gap.v], [laplace_gap.v]).

    - [params]: the public numbers of a gate, chosen when it is opened by whoever asks, with all answers
      of all gates so far in view: which noise, whether the questions are monotonic, Delta, the cutoff c,
      kappa, eps1 and eps2. [proper]: Delta, c, eps1 and eps2 are positive.
    - [q p h] and [T p h]: what a gate with the numbers [p] is asked after the joint history [h], on one
      data set, and the public threshold.
    - The gate is charged eps1 + eps2 ([charge]); it has ended after c ABOVE; when it is shut it counts
      with [meter], L(m,k) of its own answers: the larger one of Up and Down for monotonic questions.

    [metered_gates_are_private]: under a budget B the joint history of all gates, interleaved and opened
    and shut as one likes, is B-DP. [metered_gates_sum_to_one]: it is a whole law.

    Of the code: a gate may give back less than eps1 + eps2 - L(m,k). Gates without gaps are in
    [metered_rows.v]; those with an answers share or with a delta are in neither. [metered.v] holds for all
    that have such an L. *)

From Sparsegate Require Import prelude privacy sums laplace geometric gate laplace_gate standard_gate.
From Sparsegate Require Import transcripts gap exponential_gap laplace_gap side_by_side metered.
Local Open Scope ring_scope.

Section Params.
Variable R : realType.

Record params := Params {
  exponential : bool; monotonic : bool; Delta : nat; cutoff : nat; kappa : int; eps1 : R; eps2 : R }.

Definition fields p :=
  (exponential p, monotonic p, Delta p, cutoff p, kappa p, eps1 p, eps2 p).
Definition of_fields (x : bool * bool * nat * nat * int * R * R) :=
  let: (a, b, c, d, e, f, g) := x in Params a b c d e f g.

Lemma fieldsK : cancel fields of_fields.
Proof. by case. Qed.

Definition params_eqMixin := CanEqMixin fieldsK.
Canonical params_eqType := EqType params params_eqMixin.
Definition params_choiceMixin := CanChoiceMixin fieldsK.
Canonical params_choiceType := ChoiceType params params_choiceMixin.

End Params.

Section Gates.
Context {R : realType}.
Implicit Types (p : params R) (s : seq (option int)).
Notation history := (@history [choiceType of params R] [choiceType of option int]).

Definition proper p := [&& (0 < Delta p)%N, (0 < cutoff p)%N, 0 < eps1 p & 0 < eps2 p].

(** What a comparison that moves by Delta costs: nu has scale s c Delta / eps2. *)
Definition rate p : R := eps2 p / (sides (monotonic p) * cutoff p)%:R.

Definition noise p : R -> {distr int / R} := if exponential p then geometric else laplace.

Definition threshold_noise p : {distr int / R} := noise p (eps1 p / (Delta p)%:R).

Definition answer (q T : params R -> history -> int) p h rho :=
  gap_answer (noise p (rate p / (Delta p)%:R)) (q p h) (T p h) (kappa p) rho.

Definition charge p := eps1 p + eps2 p.
Definition ended p s := (cutoff p <= count isSome s)%N.

Definition meter_of (u : way) p s : R :=
  (if exponential p then exponential_gap_loss else laplace_gap_loss)
    u (eps1 p) (rate p) (count (predC isSome) s) (count isSome s).

Definition meter p s : R :=
  if monotonic p then Num.max (meter_of Up p s) (meter_of Down p s) else meter_of Any p s.

Definition metered_gates B act q T n : {distr history / R} :=
  metered threshold_noise proper charge meter ended B act (answer q T) n.

Lemma rate_gt0 p : proper p -> 0 < rate p.
Proof. by case/and4P=> _ c0 _ e0; rewrite divr_gt0 // ltr0n muln_gt0 c0; case: (monotonic p). Qed.

Lemma allowed_positives p s : allowed ended p s -> (count isSome s <= cutoff p)%N.
Proof.
case/lastP: s => // s a /allP ok; have := ok (size s).
rewrite mem_iota size_rcons ltnSn -cats1 take_size_cat // => /(_ isT).
rewrite /ended -ltnNge => lt; rewrite count_cat /= addn0.
by apply: leq_trans lt; rewrite -addn1 leq_add2l leq_b1.
Qed.

Lemma meter_le_charge p s : proper p -> allowed ended p s -> meter p s <= charge p.
Proof.
move=> ok /allowed_positives le_c; have r0 := ltW (rate_gt0 ok).
have /and4P[_ c0 /ltW e0 e2] := ok.
have le u : reach u = sides (monotonic p) -> meter_of u p s <= charge p.
  move=> s_u; apply: le_trans (_ : _ <= eps1 p + (count isSome s)%:R * ((reach u)%:R * rate p)) _.
    rewrite /meter_of; case: ifP => _; last exact: laplace_gap_loss_le.
    exact: exponential_gap_loss_le.
  rewrite ler_add2l s_u /rate natrM invfM.
  have s0 : (sides (monotonic p))%:R != 0 :> R by case: (monotonic p); rewrite pnatr_eq0.
  rewrite (mulrCA _ (eps2 p)) mulVKf // mulrCA ger_pmulr // ler_pdivr_mulr ?ltr0n //.
  by rewrite mul1r ler_nat.
rewrite /meter; case mono: (monotonic p) => //; last by apply: le; rewrite mono.
by rewrite le_maxl !le // mono.
Qed.

Lemma meter_ratio q q' T p (l : seq (history * option int)) :
  proper p -> neighbours (monotonic p) (Delta p) (q p) (q' p) ->
  likelihood (threshold_noise p) (answer q T p) l <=
  expR (meter p [seq y.2 | y <- l]) * likelihood (threshold_noise p) (answer q' T p) l.
Proof.
move=> ok near_q; have r0 := rate_gt0 ok; have /and4P[D0 c0 e0 e2] := ok.
have [u mv s_u] := neighbours_move near_q.
have le : meter_of u p [seq y.2 | y <- l] <= meter p [seq y.2 | y <- l].
  rewrite /meter; case: (monotonic p) s_u; case: u {mv} => //= _; rewrite le_maxr lexx ?orbT //.
suff h : likelihood (threshold_noise p) (answer q T p) l <=
    expR (meter_of u p [seq y.2 | y <- l]) * likelihood (threshold_noise p) (answer q' T p) l.
  by apply: le_trans h _; rewrite ler_wpmul2r ?ge0_psum // ler_expR.
rewrite /meter_of /threshold_noise /answer /noise; case: (exponential p).
  exact: exponential_gap_likelihood.
exact: laplace_gap_likelihood.
Qed.

Theorem metered_gates_are_private B act q q' T n :
  0 <= B -> (forall p, neighbours (monotonic p) (Delta p) (q p) (q' p)) ->
  within B (metered_gates B act q T n) (metered_gates B act q' T n).
Proof.
move=> B0 near_q; apply: metered_is_private => //; first exact: meter_le_charge.
by move=> p l ok _; apply: meter_ratio.
Qed.

Theorem metered_gates_sum_to_one B act q T n : psum (metered_gates B act q T n) = 1.
Proof.
have noise1 p (a : R) : 0 < a -> psum (noise p a) = 1.
  by rewrite /noise; case: ifP => _; [exact: geometric_sums_to_one | exact: laplace_sums_to_one].
apply: metered_sums_to_one => p => [ok|h x ok]; have /and4P[D0 _ e0 _] := ok.
  by apply: noise1; rewrite divr_gt0 ?ltr0n.
by apply: gap_answer_sums_to_one; apply: noise1; rewrite divr_gt0 ?ltr0n ?rate_gt0.
Qed.

End Gates.
