(** * The discrete Laplace law

    [laplace a] is the law of noise of scale 1/a on the integers: the mass at z is
    (1 - q)/(1 + q) e^(-a|z|), with q = e^(-a) and a > 0 ([laplaceE]).
    [laplace_tail a x] is P[Z >= x], [laplace_below a x] is P[Z < x].

    - [laplace_sums_to_one]: the masses sum to one.
    - [laplace_tail_closed]: P[Z >= x] = e^(-ax)/(1 + q) for x >= 0, 1 - e^(-a(1-x))/(1 + q) for x <= 0.
    - [laplace_mass_ratio]: P[Z = z] <= e^(a|d|) P[Z = z + d].
    - [laplace_tail_ratio]: P[Z >= x] <= e^(ad) P[Z >= x + d] for d >= 0.
    - [laplace_below_ratio]: P[Z < x] <= e^(ad) P[Z < x - d] for d >= 0.
    - [laplace_within]: adding the noise to an integer that changes by at most d is (a d)-private. *)

From Sparsegate Require Import prelude privacy sums.
Local Open Scope ring_scope.

Section Decay.
Context {R : realType}.
Implicit Types (a : R) (z d : int).

Lemma expRNM_nat a (n : nat) : expR (- (a * n%:R)) = expR (- a) ^+ n.
Proof. by rewrite -mulNr mulrC expRMm. Qed.

Lemma decay01 a : 0 < a -> 0 <= expR (- a) < 1.
Proof. by move=> a0; rewrite ltW ?expR_gt0 //= expR_lt1 oppr_lt0. Qed.

Lemma one_minus_decay_gt0 a : 0 < a -> 0 < 1 - expR (- a).
Proof. by move=> /decay01 /andP[_ q1]; rewrite subr_gt0. Qed.

Lemma one_plus_expR_gt0 a : 0 < 1 + expR a.
Proof. by rewrite addr_gt0 ?expR_gt0 ?ltr01. Qed.

End Decay.

Section Laplace.
Context {R : realType}.
Implicit Types (a : R) (x z d : int).

Definition laplace_mass a z : R :=
  (1 - expR (- a)) / (1 + expR (- a)) * expR (- (a * `|z|%:~R)).

Definition laplace a : {distr int / R} := mkdistrd (laplace_mass a).

Lemma laplace_mass_gt0 a z : 0 < a -> 0 < laplace_mass a z.
Proof.
move=> a0; rewrite mulr_gt0 ?expR_gt0 // divr_gt0 ?one_plus_expR_gt0 //.
exact: one_minus_decay_gt0.
Qed.

Lemma laplace_mass_nat a (n : nat) :
  laplace_mass a n%:Z = (1 - expR (- a)) / (1 + expR (- a)) * expR (- a) ^+ n.
Proof. by rewrite /laplace_mass -expRNM_nat. Qed.

Lemma laplace_massN a z : laplace_mass a (- z) = laplace_mass a z.
Proof. by rewrite /laplace_mass normrN. Qed.

Lemma summable_laplace_mass a : 0 < a -> summable (laplace_mass a).
Proof.
move=> a0; have sg := summable_geometric (decay01 a0); apply: summable_int.
  by apply: eq_summable (summableZ _ sg) => n /=; rewrite laplace_mass_nat.
apply: eq_summable (summableZ ((1 - expR (- a)) / (1 + expR (- a)) * expR (- a)) sg) => n /=.
by rewrite laplace_massN laplace_mass_nat exprS mulrA.
Qed.

Lemma psum_laplace_mass a : 0 < a -> psum (laplace_mass a) = 1.
Proof.
move=> a0; have q01 := decay01 a0.
rewrite psum_int; last exact: summable_laplace_mass.
set c := (1 - expR (- a)) / (1 + expR (- a)).
have c0 : 0 <= c by rewrite ltW // divr_gt0 ?one_minus_decay_gt0 ?one_plus_expR_gt0.
rewrite (eq_psum (F2 := c \*o (fun n : nat => expR (- a) ^+ n))); last first.
  by move=> n; rewrite laplace_mass_nat.
rewrite (eq_psum (F1 := fun n : nat => laplace_mass a (- n.+1%:Z))
  (F2 := (c * expR (- a)) \*o (fun n : nat => expR (- a) ^+ n))); last first.
  by move=> n; rewrite laplace_massN laplace_mass_nat exprS mulrA.
have cq0 : 0 <= c * expR (- a) by apply: mulr_ge0 => //; case/andP: q01.
rewrite !psumZ // psum_geometric //.
rewrite -mulrDl -{1}[c]mulr1 -mulrDr /c divfK ?gt_eqF ?one_plus_expR_gt0 // divff //.
by rewrite gt_eqF ?one_minus_decay_gt0.
Qed.

Lemma laplaceE a z : 0 < a -> laplace a z = laplace_mass a z.
Proof.
move=> a0; rewrite mkdistrdE ?psum_laplace_mass //; last exact: summable_laplace_mass.
by move=> y; rewrite ltW ?laplace_mass_gt0.
Qed.

Theorem laplace_sums_to_one a : 0 < a -> psum (laplace a) = 1.
Proof. by move=> a0; rewrite -(psum_laplace_mass a0); apply: eq_psum => z; apply: laplaceE. Qed.

Lemma laplace_gt0 a z : 0 < a -> 0 < laplace a z.
Proof. by move=> a0; rewrite laplaceE ?laplace_mass_gt0. Qed.

Lemma laplaceN a z : 0 < a -> laplace a (- z) = laplace a z.
Proof. by move=> a0; rewrite !laplaceE ?laplace_massN. Qed.

Theorem laplace_mass_ratio a z d :
  0 < a -> laplace a z <= expR (a * `|d|%:~R) * laplace a (z + d).
Proof.
move=> a0; rewrite !laplaceE // /laplace_mass mulrCA ler_wpmul2l //.
  by rewrite ltW // divr_gt0 ?one_minus_decay_gt0 ?one_plus_expR_gt0.
rewrite -expRD ler_expR ler_subr_addr addrC ler_subl_addr -mulrDr ler_pmul2l //.
by rewrite -intrD ler_int addrC ler_norm_add.
Qed.

(** Any event, shifted. *)
Lemma laplace_shifted_event a (E : pred int) d :
  0 < a -> \P_[laplace a] E <= expR (a * `|d|%:~R) * \P_[laplace a] (fun z => E (z - d)).
Proof.
move=> a0; apply: (psum_le_shift (d := d)); first exact: ltW (expR_gt0 _).
- by move=> z; rewrite mulr_ge0 ?ler0n.
- by move=> z; rewrite addrK mulrCA ler_wpmul2l ?ler0n // laplace_mass_ratio.
- exact: summable_pr.
Qed.

Definition laplace_tail a x : R := \P_[laplace a] (fun z => x <= z).
Definition laplace_below a x : R := \P_[laplace a] (fun z => z < x).

Lemma laplace_tail_below a x : 0 < a -> laplace_below a x = 1 - laplace_tail a x.
Proof.
move=> a0; rewrite -(laplace_sums_to_one a0) -pr_predT -pr_predC.
by apply: eq_pr => z; rewrite !unfold_in ltNge.
Qed.

(** By symmetry: Z < x is -Z >= 1 - x. *)
Lemma laplace_below_mirror a x : 0 < a -> laplace_below a x = laplace_tail a (1 - x).
Proof.
move=> a0; rewrite /laplace_below /laplace_tail /pr -psum_mirror; apply: eq_psum => z.
by rewrite laplaceN // ltr_oppl -lez_addr1 addrC.
Qed.

Theorem laplace_tail_ratio a x d :
  0 < a -> 0 <= d -> laplace_tail a x <= expR (a * d%:~R) * laplace_tail a (x + d).
Proof.
move=> a0 d0; apply: le_trans (laplace_shifted_event _ d a0) _; rewrite (ger0_norm d0).
rewrite ler_wpmul2l ?(ltW (expR_gt0 _)) // le_eqVlt; apply/orP; left; apply/eqP.
by apply: eq_pr => z; rewrite !unfold_in ler_subr_addr.
Qed.

Theorem laplace_below_ratio a x d :
  0 < a -> 0 <= d -> laplace_below a x <= expR (a * d%:~R) * laplace_below a (x - d).
Proof.
move=> a0 d0; rewrite !laplace_below_mirror // opprB addrA addrAC.
exact: laplace_tail_ratio.
Qed.

Lemma laplace_tail_decreases a x y : x <= y -> laplace_tail a y <= laplace_tail a x.
Proof. by move=> le; apply: subset_pr => z; rewrite !unfold_in; apply: le_trans. Qed.

Lemma laplace_below_increases a x y : x <= y -> laplace_below a x <= laplace_below a y.
Proof. by move=> le; apply: subset_pr => z; rewrite !unfold_in => /lt_le_trans; apply. Qed.

(** Shifts in either direction: towards the likely side the ratio is at most one. *)
Lemma laplace_tail_ratio_norm a x d :
  0 < a -> laplace_tail a x <= expR (a * `|d|%:~R) * laplace_tail a (x + d).
Proof.
move=> a0; have [d0|d0] := leP 0 d; first by rewrite (ger0_norm d0) laplace_tail_ratio.
apply: le_trans (laplace_tail_decreases a (_ : x + d <= x)) _; first by rewrite ger_addl ltW.
rewrite ler_pemull ?ge0_pr // -[leLHS](@expR0 R) ler_expR mulr_ge0 ?(ltW a0) //.
by rewrite ler0z.
Qed.

Lemma laplace_below_ratio_norm a x d :
  0 < a -> laplace_below a x <= expR (a * `|d|%:~R) * laplace_below a (x + d).
Proof.
move=> a0; rewrite !laplace_below_mirror // opprD addrA -normrN.
exact: laplace_tail_ratio_norm.
Qed.

(** The noise is added to an integer, which changes by at most [b] between neighbours. *)
Theorem laplace_within a (b s t : int) :
  0 < a -> `|s - t| <= b ->
  within (a * b%:~R) (dmargin (fun z => s + z) (laplace a)) (dmargin (fun z => t + z) (laplace a)).
Proof.
have shiftE u y : 0 < a -> dmargin (fun z => u + z) (laplace a) y = laplace a (y - u).
  move=> a0; rewrite dmargin_psumE (psum_point (x := y - u)).
    by rewrite addrC subrK eqxx mul1r ger0_norm.
  move=> z neq; rewrite (_ : (_ == _) = false) ?mul0r //; apply/negbTE.
  by apply: contra neq => /eqP <-; rewrite [u + z]addrC addrK.
move=> a0 le y; rewrite !shiftE //; apply: le_trans (laplace_mass_ratio (y - s) (s - t) a0) _.
rewrite addrA subrK ler_wpmul2r // ler_expR ler_pmul2l // ler_int.
exact: le.
Qed.

Theorem laplace_tail_closed a x :
  0 < a ->
  laplace_tail a x = if 0 <= x then expR (- (a * x%:~R)) / (1 + expR (- a))
                     else 1 - expR (- (a * (1 - x)%:~R)) / (1 + expR (- a)).
Proof.
move=> a0; have q01 := decay01 a0; have c0 := one_plus_expR_gt0 (- a).
have up (n : nat) : laplace_tail a n = expR (- (a * n%:~R)) / (1 + expR (- a)).
  rewrite /laplace_tail /pr -(psum_shift _ n%:Z) psum_int; last exact: summable_shift (summable_pr _ _).
  rewrite [X in _ + X]psum_eq0 ?addr0; last first.
    by move=> m; rewrite ler_addr oppr_ge0 lez_nat mul0r.
  set c := (1 - expR (- a)) / (1 + expR (- a)).
  rewrite (eq_psum (F2 := (c * expR (- a) ^+ n) \*o (fun m : nat => expR (- a) ^+ m))); last first.
    move=> m; rewrite /= ler_addr lez_nat /= mul1r laplaceE // -PoszD laplace_mass_nat exprD.
    by rewrite [_ ^+ m * _]mulrC mulrA.
  rewrite psumZ ?psum_geometric //; last first.
    by rewrite mulr_ge0 ?exprn_ge0 ?(ltW (expR_gt0 _)) // divr_ge0 ?ltW ?one_minus_decay_gt0.
  rewrite expRNM_nat /c mulrAC [_ / _ / _]mulrAC divff ?mul1r 1?mulrC //.
  by rewrite gt_eqF ?one_minus_decay_gt0.
case: x => n; first by rewrite up.
rewrite -[laplace_tail _ _](subKr 1) -laplace_tail_below // laplace_below_mirror //=.
by rewrite NegzE opprK -PoszD up.
Qed.

End Laplace.
