From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.classical Require Import boolp classical_sets mathcomp_extra.
From mathcomp.analysis Require Import reals sequences exp.
From mathcomp.analysis.altreals Require Import xfinmap realseq realsum distr.
From Sparsegate Require Import privacy sums laplace geometric gate transcripts.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Step.
Context {R : realType}.
Implicit Types (law : {distr int / R}) (q T kappa rho s d g x : int) (b : option int).

(** ABOVE with its gap g, or BELOW. *)
Definition gap_of x : option int := if 0 <= x then Some x else None.

Definition gap_answer law q T kappa rho : {distr (option int) / R} :=
  \dlet_(nu <- law) dunit (gap_of (q + nu - T - rho - kappa)).

Lemma gap_answer_sums_to_one law q T kappa rho : psum law = 1 -> psum (gap_answer law q T kappa rho) = 1.
Proof. by move=> one; apply: dlet_sums_to_one => // nu; apply: dunit_sums_to_one. Qed.

Lemma gap_answerE law q T kappa rho b :
  gap_answer law q T kappa rho b =
  if b is Some g then if 0 <= g then law (g + (T + rho + kappa - q)) else 0
  else \P_[law] (fun nu => nu < T + rho + kappa - q).
Proof.
have E nu : q + nu - T - rho - kappa = nu - (T + rho + kappa - q).
  by rewrite opprB !opprD !addrA (addrC nu).
rewrite /gap_answer dletE; under eq_psum do rewrite E; move: (T + rho + kappa - q) => x.
case: b => [g|]; last first.
  apply: eq_psum => nu /=; rewrite dunit1E mulrC /gap_of subr_ge0 leNgt.
  by case: (nu < x).
rewrite (psum_point (x := g + x)) => [|nu ne].
  rewrite dunit1E /gap_of addrK; case: ifP => g0; first by rewrite eqxx mulr1 ger0_norm.
  by rewrite /= mulr0 normr0.
rewrite dunit1E /gap_of; case: ifP => _; last by rewrite /= mulr0.
case: eqP => [[gE]|_]; last by rewrite mulr0.
by move: ne; rewrite -gE subrK eqxx.
Qed.

(** What the answer [b] costs, in steps of the noise, where rho is matched with rho + s and the
    question moves by d. *)
Definition gap_steps s d b : int := if b is Some _ then `|s - d| else Num.max 0 (d - s).

Lemma gap_shift q q' T kappa rho s : T + (rho + s) + kappa - q' = T + rho + kappa - q + (s - (q' - q)).
Proof. by rewrite opprB !addrA (addrAC _ s kappa) (addrAC _ s q) subrK. Qed.

Lemma laplace_gap_ratio (a : R) q q' T kappa rho s b : 0 < a ->
  gap_answer (laplace a) q T kappa rho b <=
  expR (a * (gap_steps s (q' - q) b)%:~R) * gap_answer (laplace a) q' T kappa (rho + s) b.
Proof.
move=> a0; rewrite !gap_answerE (gap_shift q); move: (T + rho + _ - q) (q' - q) => x d.
case: b => [g|] /=.
  case: ifP => _; last by rewrite mulr0.
  by rewrite addrA; apply: laplace_mass_ratio.
rewrite -!/(laplace_below a _); case: (leP d s) => le.
  rewrite max_l ?subr_le0 // mulr0 expR0 mul1r.
  by apply: laplace_below_increases; rewrite ler_addl subr_ge0.
have le0 : 0 <= d - s by rewrite subr_ge0 ltW.
by rewrite max_r //; have := laplace_below_ratio x a0 le0; rewrite opprB.
Qed.

Lemma geometric_gap_ratio (a : R) q q' T kappa rho s b : 0 < a -> q' - q <= s ->
  gap_answer (geometric a) q T kappa rho b <=
  expR (a * (gap_steps s (q' - q) b)%:~R) * gap_answer (geometric a) q' T kappa (rho + s) b.
Proof.
move=> a0; rewrite !gap_answerE (gap_shift q); move: (T + rho + _ - q) (q' - q) => x d le.
have le0 : 0 <= s - d by rewrite subr_ge0.
case: b => [g|] /=.
  case: ifP => _; last by rewrite mulr0.
  by rewrite addrA ger0_norm //; apply: geometric_mass_ratio.
rewrite -!/(geometric_below a _) max_l ?subr_le0 // mulr0 expR0 mul1r.
by apply: geometric_below_increases; rewrite ler_addl.
Qed.

End Step.

Section Aligned.
Context {R : realType} {H : choiceType}.
Implicit Types (e a : R) (q T : H -> int) (kappa s : int) (l : seq (H * option int)).

(** What the answers of [l] cost in steps of the noise, where rho is matched with rho + s. *)
Definition all_steps q q' s l : int := \sum_(y <- l) gap_steps s (q' y.1 - q y.1) y.2.

Lemma laplace_gap_aligned e a q q' T kappa s l : 0 < e -> 0 < a ->
  likelihood (laplace e) (fun h => gap_answer (laplace a) (q h) (T h) kappa) l <=
  expR (e * `|s|%:~R + a * (all_steps q q' s l)%:~R) *
  likelihood (laplace e) (fun h => gap_answer (laplace a) (q' h) (T h) kappa) l.
Proof.
move=> e0 a0; rewrite /all_steps raddf_sum mulr_sumr; apply: likelihood_aligned.
- by move=> rho; apply: laplace_mass_ratio.
by move=> y _ rho; apply: laplace_gap_ratio.
Qed.

Lemma geometric_gap_aligned e a q q' T kappa s l : 0 < e -> 0 < a -> 0 <= s ->
  {in l, forall y, q' y.1 - q y.1 <= s} ->
  likelihood (geometric e) (fun h => gap_answer (geometric a) (q h) (T h) kappa) l <=
  expR (e * s%:~R + a * (all_steps q q' s l)%:~R) *
  likelihood (geometric e) (fun h => gap_answer (geometric a) (q' h) (T h) kappa) l.
Proof.
move=> e0 a0 s0 le; rewrite /all_steps raddf_sum mulr_sumr; apply: likelihood_aligned.
- by move=> rho; apply: geometric_mass_ratio.
by move=> y yl rho; apply: geometric_gap_ratio => //; apply: le.
Qed.

End Aligned.
