(** * The geometric law

    [geometric a] is the one-sided noise of scale 1/a: the mass at an integer z >= 0 is (1 - q) e^(-az),
    with q = e^(-a) and a > 0, and there is none below zero ([geometricE]).
    [geometric_tail a x] is P[Z >= x], [geometric_below a x] is P[Z < x].

    - [geometric_sums_to_one]: the masses sum to one.
    - [geometric_tail_closed]: P[Z >= x] = e^(-ax) for x >= 0, and 1 for x <= 0.
    - [geometric_mass_ratio]: P[Z = z] <= e^(ad) P[Z = z + d] for d >= 0: a shift upwards only. No
      bound holds downwards ([geometric_one_way]): P[Z = z] > 0 = P[Z = z - d] for 0 <= z < d.
    - [geometric_tail_ratio]: P[Z >= x] <= e^(ad) P[Z >= x + d] for d >= 0.
    - [geometric_memoryless]: P[Z >= x + d] = P[Z >= x] P[Z >= d] for x, d >= 0. *)

From Sparsegate Require Import prelude privacy sums laplace.
Local Open Scope ring_scope.

Section Geometric.
Context {R : realType}.
Implicit Types (a : R) (x z d : int).

Definition geometric_mass a z : R :=
  if 0 <= z then (1 - expR (- a)) * expR (- (a * z%:~R)) else 0.

Definition geometric a : {distr int / R} := mkdistrd (geometric_mass a).

Lemma geometric_mass_nat a (n : nat) :
  geometric_mass a n%:Z = (1 - expR (- a)) * expR (- a) ^+ n.
Proof. by rewrite /geometric_mass /= -expRNM_nat. Qed.

Lemma geometric_mass_ge0 a z : 0 < a -> 0 <= geometric_mass a z.
Proof.
move=> a0; rewrite /geometric_mass; case: ifP => // _.
by rewrite mulr_ge0 ?(ltW (expR_gt0 _)) // ltW ?one_minus_decay_gt0.
Qed.

Lemma summable_geometric_mass a : 0 < a -> summable (geometric_mass a).
Proof.
move=> a0; have sg := summable_geometric (decay01 a0); apply: summable_int.
  by apply: eq_summable (summableZ _ sg) => n /=; rewrite geometric_mass_nat.
exact: eq_summable (@summable0 _ _).
Qed.

Lemma psum_geometric_mass a : 0 < a -> psum (geometric_mass a) = 1.
Proof.
move=> a0; have q0 := one_minus_decay_gt0 a0.
rewrite psum_int; last exact: summable_geometric_mass.
rewrite [X in _ + X]psum_eq0 ?addr0 //.
rewrite (eq_psum (F2 := (1 - expR (- a)) \*o (fun n : nat => expR (- a) ^+ n))); last first.
  by move=> n; rewrite geometric_mass_nat.
by rewrite psumZ ?(ltW q0) // psum_geometric ?decay01 // divff ?gt_eqF.
Qed.

Lemma geometricE a z : 0 < a -> geometric a z = geometric_mass a z.
Proof.
move=> a0; rewrite mkdistrdE ?psum_geometric_mass //; last exact: summable_geometric_mass.
by move=> y; rewrite geometric_mass_ge0.
Qed.

Lemma geometric_natE a (n : nat) : 0 < a -> geometric a n%:Z = (1 - expR (- a)) * expR (- a) ^+ n.
Proof. by move=> a0; rewrite geometricE // geometric_mass_nat. Qed.

Lemma geometric_neg a z : 0 < a -> z < 0 -> geometric a z = 0.
Proof. by move=> a0 z0; rewrite geometricE // /geometric_mass leNgt z0. Qed.

Lemma geometric_gt0 a z : 0 < a -> 0 <= z -> 0 < geometric a z.
Proof.
move=> a0 z0; rewrite geometricE // /geometric_mass z0.
by rewrite mulr_gt0 ?expR_gt0 // one_minus_decay_gt0.
Qed.

Theorem geometric_sums_to_one a : 0 < a -> psum (geometric a) = 1.
Proof. by move=> a0; rewrite -(psum_geometric_mass a0); apply: eq_psum => z; apply: geometricE. Qed.

Lemma geometric_shift a z d :
  0 < a -> 0 <= z -> 0 <= d -> geometric a (z + d) = expR (- (a * d%:~R)) * geometric a z.
Proof.
move=> a0 z0 d0; rewrite !geometricE // /geometric_mass z0 addr_ge0 //.
by rewrite mulrCA -expRD -opprD -mulrDr -intrD [d + z]addrC.
Qed.

Theorem geometric_mass_ratio a z d :
  0 < a -> 0 <= d -> geometric a z <= expR (a * d%:~R) * geometric a (z + d).
Proof.
move=> a0 d0; have [z0|z0] := leP 0 z; last first.
  by rewrite geometric_neg // mulr_ge0 ?(ltW (expR_gt0 _)).
by rewrite geometric_shift // mulrA expRxMexpNx_1 mul1r.
Qed.

Theorem geometric_one_way a z d (k : R) :
  0 < a -> 0 <= z < d -> ~ geometric a z <= k * geometric a (z - d).
Proof.
move=> a0 /andP[z0 zd]; rewrite [geometric a (z - d)]geometric_neg ?subr_lt0 // mulr0.
by apply/negP; rewrite -ltNge geometric_gt0.
Qed.

Lemma geometric_shifted_event a (E : pred int) d :
  0 < a -> 0 <= d ->
  \P_[geometric a] E <= expR (a * d%:~R) * \P_[geometric a] (fun z => E (z - d)).
Proof.
move=> a0 d0; apply: (psum_le_shift (d := d)); first exact: ltW (expR_gt0 _).
- by move=> z; rewrite mulr_ge0 ?ler0n.
- by move=> z; rewrite addrK mulrCA ler_wpmul2l ?ler0n // geometric_mass_ratio.
- exact: summable_pr.
Qed.

Definition geometric_tail a x : R := \P_[geometric a] (fun z => x <= z).
Definition geometric_below a x : R := \P_[geometric a] (fun z => z < x).

Lemma geometric_tail_below a x : 0 < a -> geometric_below a x = 1 - geometric_tail a x.
Proof.
move=> a0; rewrite -(geometric_sums_to_one a0) -pr_predT -pr_predC.
by apply: eq_pr => z; rewrite !unfold_in ltNge.
Qed.

Lemma geometric_tail_decreases a x y : x <= y -> geometric_tail a y <= geometric_tail a x.
Proof. by move=> le; apply: subset_pr => z; rewrite !unfold_in; apply: le_trans. Qed.

Lemma geometric_below_increases a x y : x <= y -> geometric_below a x <= geometric_below a y.
Proof. by move=> le; apply: subset_pr => z; rewrite !unfold_in => /lt_le_trans; apply. Qed.

Theorem geometric_tail_closed a x :
  0 < a -> geometric_tail a x = if 0 <= x then expR (- (a * x%:~R)) else 1.
Proof.
move=> a0; have q0 := one_minus_decay_gt0 a0; case: x => n; last first.
  rewrite -(geometric_sums_to_one a0) /geometric_tail; apply: eq_psum => z.
  have [z0|z0] := leP 0 z; last by rewrite geometric_neg // mulr0.
  by rewrite (le_trans _ z0) // mul1r.
rewrite /geometric_tail /pr -(psum_shift _ n%:Z) psum_int; last exact: summable_shift (summable_pr _ _).
rewrite [X in _ + X]psum_eq0 ?addr0; last first.
  by move=> m; rewrite ler_addr oppr_ge0 lez_nat mul0r.
rewrite (eq_psum (F2 := (expR (- a) ^+ n * (1 - expR (- a))) \*o (fun m : nat => expR (- a) ^+ m))).
  rewrite psumZ ?psum_geometric ?decay01 ?mulr_ge0 ?exprn_ge0 ?(ltW (expR_gt0 _)) ?(ltW q0) //.
  by rewrite mulfK ?gt_eqF //= -expRNM_nat.
move=> m; rewrite /= ler_addr lez_nat /= mul1r -PoszD geometric_natE // exprD.
by rewrite [_ ^+ m * _]mulrC mulrCA mulrA.
Qed.

Theorem geometric_tail_ratio a x d :
  0 < a -> 0 <= d -> geometric_tail a x <= expR (a * d%:~R) * geometric_tail a (x + d).
Proof.
move=> a0 d0; apply: le_trans (geometric_shifted_event _ a0 d0) _.
rewrite ler_wpmul2l ?(ltW (expR_gt0 _)) // le_eqVlt; apply/orP; left; apply/eqP.
by apply: eq_pr => z; rewrite !unfold_in ler_subr_addr.
Qed.

Theorem geometric_memoryless a x d :
  0 < a -> 0 <= x -> 0 <= d -> geometric_tail a (x + d) = geometric_tail a x * geometric_tail a d.
Proof.
move=> a0 x0 d0; rewrite !geometric_tail_closed // x0 d0 addr_ge0 //.
by rewrite -expRD -opprD -mulrDr -intrD.
Qed.

End Geometric.
