(** * Noise that does not grow with the cutoff: Alg. 4

    Lee, Clifton 2014 stop after c ABOVE, but add nu ~ Lap(Delta/eps2), not Lap(2 c Delta/eps2), with
    eps1 = eps/4 and eps2 = 3 eps/4 ([algorithm_4]).

    The pair of [no_cutoff.v] with t = c: on c BELOW and c ABOVE it loses at least c eps2 = 3c eps/4.

    - [algorithm_4_loss]: that bound.
    - [algorithm_4_explicit_pair]: from c = 2 on, in particular at c = 3 (9 eps/4), the pair is more
      than e^eps apart, whatever eps > 0 is.
    - [algorithm_4_upper_bound], [algorithm_4_loss_is_tight]: the loss is exactly (1+6c) eps/4: that
      is enough, and nothing less.
    - [algorithm_4_is_not_private]: so it is eps-DP for no cutoff c.
    - [algorithm_4_sums_to_one]: it is a whole law. *)

From Sparsegate Require Import prelude privacy sums laplace gate laplace_gate standard_gate rows no_cutoff tight_loss.
Local Open Scope ring_scope.

Section Algorithm4.
Context {R : realType}.
Variables (eps : R) (c Delta : nat) (T : int).
Hypotheses (eps0 : 0 < eps) (c0 : (0 < c)%N) (Delta0 : (0 < Delta)%N).

Definition algorithm_4 : seq int -> {distr (seq bool) / R} :=
  laplace_row (closed_after id c) Delta (eps / 4) (3 * eps / 4) T.

Let eps10 : 0 < eps / 4. Proof. by rewrite divr_gt0 ?ltr0n. Qed.
Let eps20 : 0 < 3 * eps / 4. Proof. by rewrite divr_gt0 ?mulr_gt0 ?ltr0n. Qed.

Theorem algorithm_4_sums_to_one u : psum (algorithm_4 u) = 1.
Proof. exact: laplace_row_sums_to_one. Qed.

Theorem algorithm_4_loss :
  0 < algorithm_4 (crossed' Delta T c) (block c c false true) /\
  expR (c%:R * (3 * eps / 4)) * algorithm_4 (crossed' Delta T c) (block c c false true) <=
  algorithm_4 (crossed Delta T c) (block c c false true).
Proof. by apply: crossed_loss => //; apply: complete_block. Qed.

Theorem algorithm_4_explicit_pair : (1 < c)%N ->
  neighbouring Delta (crossed Delta T c) (crossed' Delta T c) /\
  expR eps * algorithm_4 (crossed' Delta T c) (block c c false true) <
  algorithm_4 (crossed Delta T c) (block c c false true).
Proof.
move=> c_gt1; have [pos le] := algorithm_4_loss; split; first exact: crossed_neighbouring.
apply: lt_le_trans le; rewrite ltr_pmul2r // ltr_expR.
rewrite mulrA ltr_pdivl_mulr ?ltr0n // mulrA mulrC ltr_pmul2r // -natrM ltr_nat.
by rewrite mulnC; apply: leq_trans (_ : (3 * 2 <= _)%N); rewrite ?leq_mul2l.
Qed.

Theorem algorithm_4_upper_bound u v : neighbouring Delta u v ->
  within ((1 + 6 * c%:R) * (eps / 4)) (algorithm_4 u) (algorithm_4 v).
Proof.
move=> [size_uv le]; rewrite /algorithm_4 /laplace_row size_uv.
have near_uv : near Delta (@listed bool u) (@listed bool v) by move=> h; apply: le.
apply: gate_within => t kc.
apply: le_trans (general_transcript (closed_after id c) (fun=> T) (size v) Delta0 eps10 eps20 t near_uv) _.
rewrite ler_wpmul2r // ler_expR /general_loss !le_minl; apply/orP; right; apply/orP; left.
rewrite [leRHS]mulrDl mul1r ler_add2l -[3 * eps / 4]mulrA mulrA [_ * 3]mulrAC -natrM.
by rewrite ler_pmul2r // ler_pmul2l ?ltr0n // ler_nat.
Qed.

Let exactly : (1 + 6 * c%:R) * (eps / 4) = eps / 4 + 2 * c%:R * (3 * eps / 4).
Proof.
rewrite mulrDl mul1r; congr (_ + _).
by rewrite -[3 * eps / 4]mulrA [RHS]mulrA [_ * 3]mulrAC -(natrM R 2 3).
Qed.

Theorem algorithm_4_loss_is_tight eps' :
  eps' < (1 + 6 * c%:R) * (eps / 4) -> refutable Delta eps' algorithm_4.
Proof. by rewrite exactly; apply: general_loss_is_tight. Qed.

Theorem algorithm_4_is_not_private : refutable Delta eps algorithm_4.
Proof.
apply: algorithm_4_loss_is_tight; rewrite mulrA ltr_pdivl_mulr ?ltr0n // mulrC ltr_pmul2r //.
by rewrite -natrM -(natrD _ 1) ltr_nat ltnS; apply: leq_trans (_ : (6 * 1 <= _)%N); rewrite ?leq_mul2l.
Qed.

End Algorithm4.
