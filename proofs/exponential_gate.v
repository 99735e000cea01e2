From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.classical Require Import boolp classical_sets mathcomp_extra.
From mathcomp.analysis Require Import reals sequences exp.
From mathcomp.analysis.altreals Require Import xfinmap realseq realsum distr.
From Sparsegate Require Import privacy sums geometric gate.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Comparison.
Context {R : realType}.
Implicit Types (a : R) (q T kappa rho s d : int) (b : bool).

(** ABOVE where q + nu >= T + rho + kappa. *)
Definition one_sided a q T kappa rho : {distr bool / R} :=
  \dlet_(nu <- geometric a) dunit (T + rho + kappa <= q + nu).

Lemma one_sided_sums_to_one a q T kappa rho : 0 < a -> psum (one_sided a q T kappa rho) = 1.
Proof.
move=> a0; apply: dlet_sums_to_one; first exact: geometric_sums_to_one.
by move=> nu; apply: dunit_sums_to_one.
Qed.

Lemma one_sidedE a q T kappa rho b :
  one_sided a q T kappa rho b =
  \P_[geometric a] (fun nu => (T + rho + kappa - q <= nu) == b).
Proof.
rewrite /one_sided dletE; apply: eq_psum => nu /=.
by rewrite dunit1E mulrC ler_subl_addl.
Qed.

(** rho is matched with rho + s and the answer moves by d <= s, so the two sides of the comparison
    move apart by s - d: a BELOW gets likelier, an ABOVE pays the ratio of two tails. *)
Lemma one_sided_ratio a q q' T kappa rho s (w : int) b :
  0 < a -> q' - q <= s -> s - (q' - q) <= w ->
  one_sided a q T kappa rho b <=
  expR (if b then a * w%:~R else 0) * one_sided a q' T kappa (rho + s) b.
Proof.
move=> a0 ds dw; rewrite !one_sidedE.
have -> : T + (rho + s) + kappa - q' = T + rho + kappa - q + (s - (q' - q)).
  by rewrite opprB !addrA (addrAC _ s kappa) (addrAC _ s q) subrK.
move: (T + rho + kappa - q) => x.
have d0 : 0 <= s - (q' - q) by rewrite subr_ge0.
have tailE y : \P_[geometric a] (fun nu => (y <= nu) == true) = geometric_tail a y.
  by apply: eq_pr => z; rewrite !unfold_in eqb_id.
case: b; rewrite ?tailE.
- apply: le_trans (geometric_tail_ratio x a0 d0) _; rewrite ler_wpmul2r ?ge0_pr //.
  by rewrite ler_expR ler_wpmul2l ?(ltW a0) // ler_int.
rewrite expR0 mul1r; apply: subset_pr => z; rewrite !unfold_in !eqbF_neg -!ltNge => lt.
by apply: lt_le_trans lt _; rewrite ler_addl.
Qed.

End Comparison.
