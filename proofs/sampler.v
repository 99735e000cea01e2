(** * The samplers that toss digits

    The programs of noise/laplace.py and noise/laplace.py, line by line, given ideal
    coins: how a coin of a given bias is tossed from bits is no part of this file. The scale is 1/a.

    - [low_digits a n]: the loop over the low n digits of [geometric_one] and [_add_low_digits].
    - [climb p step f v]: the first f turns of [while toss(p): value += step], started at v;
      [\dlim_(f) climb p step f v] is the whole loop.
    - [geometric_one a n], [laplace_one a n]: the scalar draws, with n low digits. The code takes n from the
      scale; the theorems hold for every n.
    - [geometric_scaled a n], [laplace_lanes a n]: the batches of a scale above 2^22: the part above the
      low n digits is drawn as a geometric variable of rate 2^n a.

    Proved: all of them have the law that they should ([geometric_one_law], [geometric_scaled_law],
    [laplace_one_law], [laplace_lanes_law]), hence mass one: the loops end with probability one. *)

From Sparsegate Require Import prelude privacy sums laplace geometric programs coins digits.
Local Open Scope ring_scope.

Section Digits.
Context {R : realType}.
Implicit Types (a p : R) (n k v z step fuel : nat).

Fixpoint low_digits a n : {distr nat / R} :=
  if n is j.+1 then
    \dlet_(value <- low_digits a j) \dlet_(b <- coin (a * 2 ^+ j)) dunit (value + nat_of_bool b * 2 ^ j)%N
  else dunit 0%N.

Fixpoint climb p step fuel value : {distr nat / R} :=
  if fuel is f.+1 then
    \dlet_(heads <- dflip p) if heads then climb p step f (value + step)%N else dunit value
  else dnull.

Definition decay x : R := expR (- x).

Definition geometric_one a n : {distr nat / R} :=
  \dlet_(value <- low_digits a n) \dlim_(f) climb (decay (a * 2 ^+ n)) (2 ^ n) f value.

(** q^(2^n), the ratio of what is left above n digits. *)
Lemma decay_pow2 a n : expR (- (a * 2 ^+ n)) = expR (- a) ^+ (2 ^ n).
Proof. by rewrite -expRNM_nat natrX. Qed.

Lemma decay_pow2_01 a n : 0 < a -> 0 <= expR (- a) ^+ (2 ^ n) < 1.
Proof. by move=> a0; rewrite -decay_pow2 decay01 // mulr_gt0 ?exprn_gt0 ?ltr0n. Qed.

(** The low digits: q^v, for v < 2^n, over the sum of those. *)
Lemma low_digitsE a n v : 0 < a ->
  low_digits a n v =
  (v < 2 ^ n)%N%:R * (expR (- a) ^+ v * (1 - expR (- a)) / (1 - expR (- a) ^+ (2 ^ n))).
Proof.
move=> a0; set q := expR (- a); elim: n v => [|n IHn] v.
  rewrite dunit1E expn0 expr1 ltnS leqn0 eq_sym; case: eqP => [->|_]; rewrite ?mul0r //.
  by rewrite expr0 !mul1r divff // gt_eqF ?one_minus_decay_gt0.
have Q01 := decay_pow2_01 n a0; rewrite -/q in Q01; have d0 : (0 < 2 ^ n)%N by rewrite expn_gt0.
have step w : (\dlet_(b <- coin (a * 2 ^+ n)) dunit (w + nat_of_bool b * 2 ^ n)%N) v =
    (v == w + 2 ^ n)%N%:R * (q ^+ (2 ^ n) / (1 + q ^+ (2 ^ n))) +
    (v == w)%:R * (1 + q ^+ (2 ^ n))^-1 :> R.
  rewrite toss_then ?logistic01 // !dunit1E mul1n mul0n addn0 logisticN logisticE decay_pow2 -/q.
  by rewrite ![v == _]eq_sym mulrC [X in _ + X]mulrC.
rewrite /= dletE (psum_point (x := (v %% 2 ^ n)%N)) => [|w]; last first.
  rewrite step IHn => w_neq; have [w_lt|w_ge] := ltnP w (2 ^ n); last by rewrite !mul0r.
  suff [/negbTE -> /negbTE ->] : (v != w + 2 ^ n)%N /\ v != w by rewrite !mul0r addr0 mulr0.
  by split; apply: contra w_neq => /eqP ->; rewrite ?modnDr modn_small.
rewrite step IHn ltn_pmod // mul1r {step IHn}.
have -> : 1 - q ^+ (2 ^ n.+1) = (1 - q ^+ (2 ^ n)) * (1 + q ^+ (2 ^ n)).
  by rewrite expnS mulnC exprM expr2 mulrDr mulr1 mulrBl mul1r addrA subrK.
set Q := q ^+ (2 ^ n) in Q01 *; have /andP[Q0 Q1] := Q01; have q0 : 0 < q := expR_gt0 _.
have q1 : q < 1 by case/andP: (decay01 a0).
have c0 w : 0 <= q ^+ w * (1 - q) / (1 - Q).
  by rewrite mulr_ge0 ?invr_ge0 ?mulr_ge0 ?exprn_ge0 ?subr_ge0 ?ltW.
have i0 : 0 <= (1 + Q)^-1 by rewrite invr_ge0 addr_ge0 ?ler01.
rewrite ger0_norm; last by rewrite mulr_ge0 // addr_ge0 ?mulr_ge0 ?ler0n.
rewrite invfM; have [v_lt|v_ge] := ltnP v (2 ^ n).
  rewrite modn_small // eqxx (ltn_trans v_lt) ?ltn_exp2l // !mul1r.
  by rewrite ltn_eqF ?mul0r ?add0r ?mulrA // -{1}[v]addn0 ltn_add2l.
have mod_lt := ltn_pmod v d0; rewrite [v == (v %% _)%N]gtn_eqF ?(leq_trans mod_lt) // mul0r addr0.
have [v_lt2|v_ge2] := ltnP v (2 ^ n.+1); last first.
  by rewrite gtn_eqF ?mul0r ?mulr0 // (leq_trans _ v_ge2) // expnS mul2n -addnn ltn_add2r.
rewrite -(subnK v_ge) modnDr modn_small; last by rewrite ltn_subLR // addnn -mul2n -expnS.
by rewrite eqxx !mul1r exprD -/Q mulrACA; congr (_ * _); rewrite mulrAC.
Qed.

Lemma climb_miss p step fuel value z :
  0 <= p <= 1 -> (forall k, z <> (value + k * step)%N) -> climb p step fuel value z = 0.
Proof.
move=> p01; elim: fuel value => [|f IHf] value miss /=; first by rewrite dnullE.
rewrite toss_then // IHf => [|k]; last by rewrite -addnA -mulSn.
by rewrite dunit1E; case: eqP => [e|_]; rewrite !(mulr0, addr0) //; case: (miss 0%N); rewrite e addn0.
Qed.

Lemma climb_hit p step fuel value k : 0 <= p <= 1 -> (0 < step)%N -> (k < fuel)%N ->
  climb p step fuel value (value + k * step)%N = (1 - p) * p ^+ k.
Proof.
move=> p01 s0; elim: fuel value k => [|f IHf] value [|k] //= lt_k; rewrite toss_then //.
  rewrite climb_miss // => [|k]; last first.
    by rewrite mul0n -addnA => /addnI/eqP; rewrite eq_sym addn_eq0 (gtn_eqF s0).
  by rewrite mul0n addn0 dunit1E eqxx mulr0 add0r expr0.
rewrite mulSn addnA IHf // dunit1E -addnA -{1}[value]addn0 eqn_add2l eq_sym addn_eq0.
by rewrite (gtn_eqF s0) mulr0 addr0 exprS mulrCA.
Qed.

Lemma while_hit p step value k : 0 <= p <= 1 -> (0 < step)%N ->
  (\dlim_(f) climb p step f value) (value + k * step)%N = (1 - p) * p ^+ k.
Proof. by move=> p01 s0; apply: (dlim_const (k := k.+1)) => f lt_k; apply: climb_hit. Qed.

Lemma while_miss p step value z :
  0 <= p <= 1 -> (forall k, z <> (value + k * step)%N) -> (\dlim_(f) climb p step f value) z = 0.
Proof. by move=> p01 miss; apply: (dlim_const (k := 0%N)) => f _; apply: climb_miss. Qed.

Lemma geometric_oneE a n z : 0 < a -> geometric_one a n z = (1 - expR (- a)) * expR (- a) ^+ z.
Proof.
move=> a0; have Q01 := decay_pow2_01 n a0; have d0 : (0 < 2 ^ n)%N by rewrite expn_gt0.
have p01 : 0 <= decay (a * 2 ^+ n) <= 1.
  by rewrite /decay decay_pow2; case/andP: Q01 => -> /ltW ->.
rewrite dletE (psum_point (x := (z %% 2 ^ n)%N)) => [|v v_neq]; last first.
  rewrite low_digitsE //; have [v_lt|v_ge] := ltnP v (2 ^ n); last by rewrite !mul0r.
  rewrite while_miss ?mulr0 // => k z_eq; move/eqP: v_neq; apply.
  by rewrite z_eq addnC modnMDl modn_small.
rewrite ger0_norm ?mulr_ge0 ?ge0_mu // low_digitsE // ltn_pmod // mul1r.
have := while_hit (z %% 2 ^ n) (z %/ 2 ^ n) p01 d0; rewrite addnC -divn_eq => ->.
rewrite /decay decay_pow2 mulrA divfK; last by rewrite gt_eqF // subr_gt0; case/andP: Q01.
by rewrite -exprM mulrAC -exprD addnC mulnC -divn_eq mulrC.
Qed.

End Digits.

Section Samplers.
Context {R : realType}.
Implicit Types (a : R) (n : nat) (z : int).

Theorem geometric_one_law a n : 0 < a -> dmargin Posz (geometric_one a n) =1 geometric a.
Proof.
move=> a0 [m|m]; first by rewrite map_hit ?geometric_oneE ?geometric_natE // => x y [].
by rewrite map_miss // geometric_neg.
Qed.

(** A batch of a large scale: the part above the low digits comes first, then they. *)
Definition geometric_scaled a n : {distr int / R} :=
  \dlet_(k <- geometric (a * 2 ^+ n)) \dlet_(value <- low_digits a n) dunit (k * (2 ^ n)%:Z + value%:Z).

Theorem geometric_scaled_law a n : 0 < a -> geometric_scaled a n =1 geometric a.
Proof.
move=> a0 z; have d0 : (0 < 2 ^ n)%N by rewrite expn_gt0.
have b0 : 0 < a * 2 ^+ n by rewrite mulr_gt0 ?exprn_gt0 ?ltr0n.
have inj k : injective (fun v : nat => k * (2 ^ n)%:Z + v%:Z) by move=> x y /addrI [].
rewrite dletE; case: z => m; last first.
  rewrite psum_eq0 ?geometric_neg // => -[k|k]; last by rewrite geometric_neg ?mul0r.
  by rewrite map_miss ?mulr0 // => v; rewrite -PoszM -PoszD.
rewrite (psum_point (x := Posz (m %/ 2 ^ n))) => [|[k|k] k_neq]; last first.
- by rewrite geometric_neg ?mul0r.
- have [[v v_eq]|miss] := pselect (exists v : nat, m = (k * 2 ^ n + v)%N); last first.
    by rewrite map_miss ?mulr0 // => v; rewrite -PoszM -PoszD => -[e]; apply: miss; exists v.
  have -> : Posz m = Posz k * (2 ^ n)%:Z + v%:Z by rewrite v_eq PoszD PoszM.
  rewrite map_hit // low_digitsE // ltnNge; case: leqP => [_|v_lt]; rewrite ?mul0r ?mulr0 //.
  by case/eqP: k_neq; rewrite v_eq divnMDl // divn_small // addn0.
have {1}-> : Posz m = Posz (m %/ 2 ^ n) * (2 ^ n)%:Z + (m %% 2 ^ n)%N%:Z.
  by rewrite -PoszM -PoszD -divn_eq.
rewrite map_hit // ger0_norm ?mulr_ge0 ?ge0_mu // low_digitsE // ltn_pmod // mul1r !geometric_natE //.
rewrite decay_pow2 mulrC mulrA divfK; last first.
  by rewrite gt_eqF // subr_gt0; case/andP: (decay_pow2_01 n a0).
by rewrite -exprM mulrAC -exprD addnC mulnC -divn_eq mulrC.
Qed.

Definition centre a : R := (1 - expR (- a)) / (1 + expR (- a)).

(** Zero, sign, and one more than a geometric magnitude. *)
Definition signed a (magnitude : {distr int / R}) : {distr int / R} :=
  \dlet_(zero <- dflip (centre a)) \dlet_(negative <- dflip 2^-1) \dlet_(g <- magnitude)
    dunit ((nat_of_bool (~~ zero))%:Z * (1 - 2 * (nat_of_bool negative)%:Z) * (1 + g)).

Lemma centre01 a : 0 < a -> 0 <= centre a <= 1.
Proof.
move=> a0; rewrite divr_ge0 ?ler_pdivr_mulr ?mul1r ?one_plus_expR_gt0 //=.
- by rewrite ler_add2l (le_trans _ (ltW (expR_gt0 _))) // oppr_le0 ltW ?expR_gt0.
- by rewrite ltW ?one_minus_decay_gt0.
- by rewrite ltW ?one_plus_expR_gt0.
Qed.

Lemma signed_law a (magnitude : {distr int / R}) :
  0 < a -> magnitude =1 geometric a -> signed a magnitude =1 laplace a.
Proof.
move=> a0 mE z; have half01 : 0 <= (2^-1 : R) <= 1 by rewrite invr_ge0 ler0n invf_le1 ?ltr0n // ler1n.
have m1 : psum magnitude = 1 by rewrite -(geometric_sums_to_one a0); apply: eq_psum.
rewrite !toss_then ?centre01 // !mul0r /=.
have -> : (\dlet_(g <- magnitude) dunit (0 * (1 + g))) z = (z == 0)%:R.
  rewrite dletE (eq_psum (F2 := (z == 0)%:R \*o magnitude)) ?psumZ ?ler0n ?m1 ?mulr1 //.
  by move=> g; rewrite dunit1E mul0r eq_sym mulrC.
have -> : (\dlet_(g <- magnitude) dunit (1%Z * (1 - 2 * 1%Z) * (1 + g))) z = geometric a (- z - 1).
  have {1}-> : z = 1%Z * (1 - 2 * 1%Z) * (1 + (- z - 1)) by rewrite addrCA subrr addr0 mulrN mulNr opprK !mul1r.
  by rewrite map_hit // => x y /mulfI h; apply: (addrI 1); apply: h.
have -> : (\dlet_(g <- magnitude) dunit (1%Z * (1 - 2 * 0%Z) * (1 + g))) z = geometric a (z - 1).
  have {1}-> : z = 1%Z * (1 - 2 * 0%Z) * (1 + (z - 1)) by rewrite addrCA subrr addr0 !mul1r.
  by rewrite map_hit // => x y; rewrite !mul1r => /addrI.
have half2 : 1 - 2^-1 = 2^-1 :> R.
  by rewrite -{1}(@mulfV _ 2%:R) ?pnatr_eq0 // -{2}[2^-1]mul1r -mulrBl (_ : 2 - 1 = 1) ?mul1r // addrK.
rewrite half2 -!mulrDr.
have oneC : 1 - centre a = 2 * (expR (- a) / (1 + expR (- a))).
  rewrite /centre -{1}(@mulfV _ (1 + expR (- a))) ?gt_eqF ?one_plus_expR_gt0 // -mulrBl mulrA.
  by congr (_ / _); rewrite opprB addrC addrA subrK -mulr2n mulr_natl.
have key m : (1 - centre a) * (2^-1 * geometric a (Posz m)) = laplace_mass a (Posz m.+1).
  rewrite oneC geometric_natE // laplace_mass_nat mulrACA mulfV ?pnatr_eq0 // mul1r exprS.
  by rewrite mulrACA [RHS]mulrACA [expR (- a) * (1 - _)]mulrC.
rewrite laplaceE //; case: z => [[|m]|m].
- rewrite !geometric_neg // addr0 !mulr0 addr0 eqxx mulVf ?pnatr_eq0 // mulr1.
  by rewrite laplace_mass_nat expr0 mulr1.
- have -> : (Posz m.+1 == 0)%:R = 0 :> R by [].
  rewrite [geometric a (- _ - 1)]geometric_neg // !add0r !mulr0 add0r.
  by rewrite -key -[m.+1]addn1 PoszD addrK.
- have -> : (Negz m == 0)%:R = 0 :> R by [].
  rewrite [geometric a (Negz m - 1)]geometric_neg // !addr0 !mulr0 add0r NegzE opprK laplace_massN.
  by rewrite -key -[m.+1]addn1 PoszD addrK.
Qed.

(** The scalar draw, in the order of the code. *)
Definition laplace_one a n : {distr int / R} :=
  \dlet_(zero <- dflip (centre a)) \dlet_(negative <- dflip 2^-1) \dlet_(g <- geometric_one a n)
    dunit ((nat_of_bool (~~ zero))%:Z * (1 - 2 * (nat_of_bool negative)%:Z) * (1 + g%:Z)).

Theorem laplace_one_law a n : 0 < a -> laplace_one a n =1 laplace a.
Proof.
move=> a0 z; rewrite -(signed_law a0 (geometric_one_law n a0)).
do 2!apply: dlet_ext => // ?; move=> ?; symmetry; exact: dlet_map.
Qed.

(** A batch of a large scale: magnitudes first, then zeros, then signs. *)
Definition laplace_lanes a n : {distr int / R} :=
  \dlet_(g <- geometric_scaled a n) \dlet_(zero <- dflip (centre a)) \dlet_(negative <- dflip 2^-1)
    dunit ((nat_of_bool (~~ zero))%:Z * (1 - 2 * (nat_of_bool negative)%:Z) * (1 + g)).

Theorem laplace_lanes_law a n : 0 < a -> laplace_lanes a n =1 laplace a.
Proof.
move=> a0 z; rewrite -(signed_law a0 (geometric_scaled_law n a0)) [LHS]dlet_commute.
by apply: dlet_ext => // zero y; apply: dlet_commute.
Qed.

End Samplers.
