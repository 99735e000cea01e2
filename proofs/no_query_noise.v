(** * No noise on the answers: Alg. 5

    Stoddard, Chen, Machanavajjhala 2014 draw rho ~ Lap(Delta/eps1) once, eps1 = eps/2, add no noise
    to the answers, and never stop: ABOVE iff q >= T + rho ([algorithm_5]).

    With two questions the transcript BELOW ABOVE needs x < T + rho <= y ([algorithm_5_two]):
    possible where x < y, impossible where y <= x.

    - [algorithm_5_zero_against_positive]: the answers (T, T + Delta) give it with a positive
      probability, their neighbours (T + Delta, T) with probability zero.
    - [algorithm_5_monotonic]: so do (T, T + Delta) and (T + Delta, T + Delta), where the answers move
      one way as counts do.
    - [algorithm_5_is_not_private]: no eps' is enough.
    - [algorithm_5_sums_to_one]: it is a whole law. *)

From Sparsegate Require Import prelude privacy sums laplace gate laplace_gate standard_gate rows.
Local Open Scope ring_scope.

Section Algorithm5.
Context {R : realType}.
Variables (eps : R) (Delta : nat) (T : int).
Hypotheses (eps0 : 0 < eps) (Delta0 : (0 < Delta)%N).

(** The comparison of the other rows where nu is 0. *)
Definition compare_exactly (q rho : int) : {distr bool / R} := dunit (T + rho <= q).

Definition algorithm_5 (u : seq int) : {distr (seq bool) / R} :=
  gate (laplace (eps / 2 / Delta%:R)) never (asked_row compare_exactly u) (size u).

Let rate_gt0 : 0 < eps / 2 / Delta%:R.
Proof. by rewrite !divr_gt0 ?ltr0n. Qed.

Theorem algorithm_5_sums_to_one u : psum (algorithm_5 u) = 1.
Proof.
apply: gate_sums_to_one => [|h rho]; first exact: laplace_sums_to_one.
exact: dunit_sums_to_one.
Qed.

Let between (x y rho : int) : along (asked_row compare_exactly [:: x; y]) [::] [:: false; true] rho =
  ((x < T + rho <= y)%R)%:R :> R.
Proof. by rewrite /= mulr1 !dunit1E eqbF_neg eqb_id -ltNge -natrM mulnb. Qed.

Lemma algorithm_5_two (x y : int) : algorithm_5 [:: x; y] [:: false; true] =
  psum (fun rho => laplace (eps / 2 / Delta%:R) rho * ((x < T + rho <= y)%R)%:R).
Proof.
rewrite /algorithm_5 gate_product complete_never mul1r; apply: eq_psum => rho.
by rewrite between.
Qed.

Lemma algorithm_5_possible (x y : int) : x < y -> 0 < algorithm_5 [:: x; y] [:: false; true].
Proof.
move=> xy; apply: (gate_gt0 (rho := y - T)); rewrite ?complete_never ?laplace_gt0 // between.
by rewrite addrCA subrr addr0 xy lexx ltr0n.
Qed.

Lemma algorithm_5_impossible (x y : int) : y <= x -> algorithm_5 [:: x; y] [:: false; true] = 0.
Proof.
move=> yx; rewrite algorithm_5_two; apply: psum_eq0 => rho.
case: (boolP (x < T + rho <= y)%R) => [/andP[lt le]|_]; last by rewrite mulr0.
by move: (lt_le_trans lt le); rewrite ltNge yx.
Qed.

Theorem algorithm_5_zero_against_positive :
  neighbouring Delta [:: T; T + Delta%:Z] [:: T + Delta%:Z; T] /\
  0 < algorithm_5 [:: T; T + Delta%:Z] [:: false; true] /\
  algorithm_5 [:: T + Delta%:Z; T] [:: false; true] = 0.
Proof.
split; [|split]; last by apply: algorithm_5_impossible; rewrite ler_addl.
  by apply: (@block_neighbouring _ 1 1); rewrite ?addrK ?opprD ?addrA ?subrr ?sub0r ?normrN //
     addrAC subrr add0r.
by apply: algorithm_5_possible; rewrite ltr_addl ltz_nat.
Qed.

Theorem algorithm_5_monotonic :
  neighbouring Delta [:: T; T + Delta%:Z] [:: T + Delta%:Z; T + Delta%:Z] /\
  0 < algorithm_5 [:: T; T + Delta%:Z] [:: false; true] /\
  algorithm_5 [:: T + Delta%:Z; T + Delta%:Z] [:: false; true] = 0.
Proof.
split; [|split]; last exact: algorithm_5_impossible.
  by apply: (@block_neighbouring _ 1 1); rewrite ?subrr ?normr0 // addrAC subrr add0r.
by apply: algorithm_5_possible; rewrite ltr_addl ltz_nat.
Qed.

Theorem algorithm_5_is_not_private eps' : refutable Delta eps' algorithm_5.
Proof.
have [near [pos zero]] := algorithm_5_monotonic.
by exists [:: T; T + Delta%:Z], [:: T + Delta%:Z; T + Delta%:Z], [:: false; true]; rewrite zero mulr0.
Qed.

End Algorithm5.
