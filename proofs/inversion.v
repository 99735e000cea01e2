(** * The sampler that inverts: whole parts of exponential variables

    The program of noise/laplace.py, which batches of a scale 1/a up to 2^22 use. U is uniform on (0, 1), q = e^(-a).

    - [steps_of a m x] = -log(m x) / a: what is rounded down. m = 1 gives b E of the docstring, m = (1 + q)/2 gives b E plus its
      constant, with b = 1/a and E = -log U.
    - [decide]: the first 63 bits of U ([first]) are decided by [fast], in floats, or not at all. Later, 64 bits more
      at a time ([more]), the ends [low] and [high] of an enclosure are rounded down and must agree; where the bits are
      all zeros or all ones more are drawn at once.
    - [floors]: the whole draw of one lane.

    Proved, for every a > 0 and any numbers of bits: [geometric_floor_law], [laplace_floor_law]: the laws are
    exactly the geometric and, with a sign, the discrete Laplace one.

    Hypotheses, not theorems ([truthful], [tight]): where floats decide, they are right (the error bound of the docstring);
    enclosures hold the truth, and come as close to it as one likes with more bits, away from U = 0. The sign may change what
    floats do: the code takes the logarithm of |w|, which is u or u + 1. [exact_enclosures] shows that such
    arithmetic exists. [low] and [high] are the ends with the code's one unit more on either side. *)

From mathcomp Require Import rat.
From Sparsegate Require Import prelude sums laplace geometric programs coins uniform_bits narrowing.
Local Open Scope ring_scope.

Section Inversion.
Context {R : realType}.
Implicit Types (a m x : R) (n u k first more : nat) (fast : nat -> option nat) (low high : nat -> nat -> R).

Definition steps_of a m x : R := - ln (m * x) / a.

Definition decide first fast low high n u : option nat :=
  if n == first then fast u
  else if (u == 0%N) || (2 ^ n <= u.+1)%N then None
  else let floor_low := floor (Num.max 0 (low n u)) in
    if floor_low == floor (high n u) then Some `|floor_low|%N else None.

Definition floors first more fast low high : {distr nat / R} :=
  \dlet_(u <- word first) \dlim_(f) read_on (decide first fast low high) more f first u.

Definition truthful a m first fast low high : Prop :=
  (forall u k, fast u = Some k ->
     [/\ (0 < u)%N, (u.+1 <= 2 ^ first)%N & k%:R <= steps_of a m (at_bits first u.+1) /\
         steps_of a m (at_bits first u) < k.+1%:R]) /\
  (forall n u, (0 < u)%N -> low n u <= steps_of a m (at_bits n u.+1) /\ steps_of a m (at_bits n u) <= high n u).

Definition tight a m low high : Prop := forall c e : R, 0 < c -> 0 < e -> exists n0 : nat, forall n u, (n0 <= n)%N ->
  c <= at_bits n u -> steps_of a m (at_bits n u.+1) - e <= low n u /\ high n u <= steps_of a m (at_bits n u) + e.

Lemma exact_enclosures a m first : let low n u := steps_of a m (at_bits n u.+1) in
  let high n u := steps_of a m (at_bits n u) in truthful a m first (fun=> None) low high /\ tight a m low high.
Proof.
split; first by split=> [//|n u _]; rewrite !lexx.
by move=> c e c0 e0; exists 0%N => n u _ _; rewrite ler_subl_addr !ler_addl ltW.
Qed.

Section Cells.
Variables (a m : R) (first more : nat) (fast : nat -> option nat) (low high : nat -> nat -> R).
Hypotheses (a0 : 0 < a) (m0 : 0 < m) (m1 : m <= 1) (q_m : expR (- a) < m) (more0 : (0 < more)%N).
Hypotheses (truth : truthful a m first fast low high) (tightness : tight a m low high).

Let q := expR (- a).
Definition bound k : R := Num.min 1 (q ^+ k / m).

Lemma steps_ge k x : 0 < x -> (k%:R <= steps_of a m x) = (x <= q ^+ k / m).
Proof.
move=> x0; have mx0 : 0 < m * x by rewrite mulr_gt0.
rewrite /steps_of ler_pdivl_mulr // ler_oppr -[LHS]ler_expR lnK ?posrE // [k%:R * a]mulrC expRNM_nat.
by rewrite ler_pdivl_mulr // [x * m]mulrC.
Qed.

Lemma steps_lt k x : 0 < x -> (steps_of a m x < k%:R) = (q ^+ k / m < x).
Proof. by move=> x0; rewrite !ltNge steps_ge. Qed.

Lemma steps_decrease x y : 0 < x -> x <= y -> steps_of a m y <= steps_of a m x.
Proof.
move=> x0 xy; have y0 := lt_le_trans x0 xy.
by rewrite /steps_of ler_pmul2r ?invr_gt0 // ler_opp2 ler_ln ?posrE ?mulr_gt0 // ler_pmul2l.
Qed.

Lemma at_bits_gt0 n u : (0 < u)%N -> 0 < at_bits n u :> R.
Proof. by move=> u0; rewrite divr_gt0 ?ltr0n ?pow2_gt0. Qed.

Lemma at_bits_le1 n u : (at_bits n u <= 1 :> R) = (u <= 2 ^ n)%N.
Proof. by rewrite /at_bits ler_pdivr_mulr ?pow2_gt0 // mul1r -natrX ler_nat. Qed.

Lemma floor_is (y : R) k : k%:R <= y -> y < k.+1%:R -> floor y = k%:Z.
Proof.
move=> ky yk; apply/eqP; rewrite eq_le -floor_ge_int ky andbT -ltz_addr1 -floor_lt_int.
by rewrite -PoszD addn1.
Qed.

Lemma cell_lt1 k : q ^+ k.+1 / m < 1.
Proof.
have q0 : 0 < q := expR_gt0 _; have q1 : q < 1 by case/andP: (decay01 a0).
by rewrite ltr_pdivr_mulr // mul1r (le_lt_trans _ q_m) // exprS ler_pimulr ?(ltW q0) // exprn_ile1 ?ltW.
Qed.

Lemma bound_lt k : bound k.+1 < bound k.
Proof.
have q0 : 0 < q := expR_gt0 _; have q1 : q < 1 by case/andP: (decay01 a0).
have lt1 := cell_lt1 k.
rewrite /bound (min_idPr (ltW lt1)) lt_minr lt1 /=.
by rewrite ltr_pmul2r ?invr_gt0 // exprS gtr_pmull ?exprn_gt0.
Qed.

Lemma bound_decreases k l : (k <= l)%N -> bound l <= bound k.
Proof.
move=> /subnK <-; elim: (l - k)%N => [|j IHj]; first by rewrite lexx.
by rewrite addSn (le_trans _ IHj) // ltW ?bound_lt.
Qed.

Lemma bound_gt0 k : 0 < bound k.
Proof. by rewrite /bound lt_minr ltr01 divr_gt0 ?exprn_gt0 ?expR_gt0. Qed.

Lemma cells_apart : apart (fun k => bound k.+1) bound.
Proof. by move=> k l; rewrite neq_ltn => /orP[]/bound_decreases; [right|left]. Qed.

(** Both ends of the interval have the whole part k. *)
Lemma in_cell n u k : (0 < u)%N -> (u.+1 <= 2 ^ n)%N ->
  k%:R <= steps_of a m (at_bits n u.+1) -> steps_of a m (at_bits n u) < k.+1%:R ->
  bound k.+1 <= at_bits n u /\ at_bits n u.+1 <= bound k.
Proof.
move=> u0 u1; rewrite steps_ge ?steps_lt ?at_bits_gt0 // => hi lo; split.
  by rewrite /bound le_minl (ltW lo) orbT.
by rewrite /bound le_minr hi at_bits_le1 u1.
Qed.

Lemma decide_sound : decides_rightly (decide first fast low high) (fun k => bound k.+1) bound.
Proof.
move=> n u k; rewrite /decide; case: eqP => [->|_].
  by move=> /(proj1 truth)[u0 u1 [ge lt]]; apply: in_cell.
case: ifP => // /negbT; rewrite negb_or -lt0n -ltnNge => /andP[u0 u1].
case: eqP => // same [<-]; have [lo hi] := proj2 truth n u u0.
have z0 : 0 <= floor (Num.max 0 (low n u)) by rewrite floor_ge0 le_maxr lexx.
have ge0 : 0 <= steps_of a m (at_bits n u.+1).
  rewrite (steps_ge 0) ?at_bits_gt0 // expr0 (le_trans (_ : _ <= 1)) ?at_bits_le1 ?(ltnW u1) //.
  by rewrite ler_pdivl_mulr // mul1r.
apply: in_cell => //; first exact: ltnW.
  by rewrite pmulrn gez0_abs // (le_trans (floor_le _)) // le_maxl ge0 lo.
by rewrite -natr1 pmulrn gez0_abs // same (le_lt_trans hi) // lt_succ_floor.
Qed.

Lemma decide_complete : decides_in_time (decide first fast low high) (fun k => bound k.+1) bound.
Proof.
move=> k c d lo_c d_hi; have c0 : 0 < c := lt_trans (bound_gt0 _) lo_c.
have [d0|d0] := leP d 0.
  exists 0%N => n u _ _ le; have := lt_le_trans (at_bits_gt0 n (ltn0Sn u)) (le_trans le d0).
  by rewrite ltxx.
have sc : steps_of a m c < k.+1%:R by rewrite steps_lt // (le_lt_trans _ lo_c) // /bound le_minr lexx (ltW (cell_lt1 k)).
have /andP[d1 dk] : (d < 1) && (d < q ^+ k / m) by rewrite -lt_minr.
have sd : k%:R < steps_of a m d.
  have md0 : 0 < m * d by rewrite mulr_gt0.
  rewrite /steps_of ltr_pdivl_mulr // ltr_oppr -[X in is_true X]ltr_expR lnK ?posrE // [k%:R * a]mulrC expRNM_nat.
  by rewrite [m * d]mulrC -ltr_pdivl_mulr.
pose e := Num.min ((k.+1%:R - steps_of a m c) / 2) (steps_of a m d - k%:R).
have e0 : 0 < e by rewrite lt_minr divr_gt0 ?subr_gt0 ?ltr0n.
have [n0 near] := tightness c0 e0; exists (maxn n0 first.+1) => n u; rewrite geq_max => /andP[le_n n_first] cu ud.
have u0 : (0 < u)%N by case: u cu {ud} => //; rewrite /at_bits mul0r leNgt c0.
have u1 : (u.+1 < 2 ^ n)%N.
  have := le_lt_trans ud d1; rewrite /at_bits ltr_pdivr_mulr ?pow2_gt0 // mul1r -natrX ltr_nat.
  by [].
have [lo hi] := near n u le_n cu; have [lo' hi'] := proj2 truth n u u0.
have ux0 := at_bits_gt0 n u0; have s1 := steps_decrease c0 cu.
have s2 := steps_decrease (at_bits_gt0 n (ltn0Sn u)) ud; have s3 := steps_decrease ux0 (at_bits_le n u).
have kl : k%:R <= low n u.
  by rewrite (le_trans _ lo) // ler_subr_addr (le_trans _ s2) // -ler_subr_addl /e le_minl lexx orbT.
have lk : low n u < k.+1%:R by rewrite (le_lt_trans (le_trans lo' (le_trans s3 s1))).
have hk : high n u < k.+1%:R.
  rewrite (le_lt_trans hi) // (le_lt_trans (ler_add s1 (lexx e))) // -ltr_subr_addl.
  rewrite /e lt_minl ltr_pdivr_mulr ?ltr0n // ltr_pmulr ?subr_gt0 ?sc //.
  by rewrite ltr1n.
have kh : k%:R <= high n u by rewrite (le_trans _ hi') // (le_trans _ s3) // (le_trans _ s2) // ltW.
rewrite /decide gtn_eqF // gtn_eqF // leqNgt u1 /= (max_idPr (le_trans (ler0n _ _) kl)).
by rewrite (floor_is kl lk) (floor_is kh hk) eqxx.
Qed.

Lemma floors_cell k : floors first more fast low high k = bound k - bound k.+1.
Proof.
apply: narrowing_is_exact decide_sound decide_complete cells_apart _ _ => //.
  by rewrite ltW ?bound_gt0 // bound_lt.
by rewrite /bound le_minl lexx.
Qed.

End Cells.

Theorem geometric_floor_law a first more fast low high :
  0 < a -> (0 < more)%N -> truthful a 1 first fast low high -> tight a 1 low high ->
  dmargin Posz (floors first more fast low high) =1 geometric a.
Proof.
move=> a0 more0 truth tightness; have /andP[q0 q1] := decay01 a0.
have boundE k : bound a 1 k = expR (- a) ^+ k.
  by rewrite /bound divr1; apply/min_idPr; rewrite exprn_ile1 // ltW.
move=> [k|k]; last by rewrite map_miss // geometric_neg.
rewrite map_hit => [|x y []] //; rewrite (floors_cell a0 ltr01 (lexx 1) q1 more0 truth tightness).
by rewrite !boundE geometric_natE // mulrBl mul1r exprS.
Qed.

(** With a sign, which is drawn with the first bits. *)
Definition laplace_floors first more (fast : bool -> nat -> option nat) low high : {distr int / R} :=
  \dlet_(negative <- dflip 2^-1) \dlet_(k <- floors first more (fast negative) low high)
    dunit (if negative then - k%:Z else k%:Z).

Theorem laplace_floor_law a first more (fast : bool -> nat -> option nat) low high : let m := (1 + expR (- a)) / 2 in
  0 < a -> (0 < more)%N -> (forall b, truthful a m first (fast b) low high) -> tight a m low high ->
  laplace_floors first more fast low high =1 laplace a.
Proof.
move=> m a0 more0 truth tightness z; have /andP[q0 q1] := decay01 a0; set q := expR (- a) in q0 q1.
have q_gt0 : 0 < 1 + q by rewrite ltr_paddr ?ltr01.
have m0 : 0 < m by rewrite divr_gt0 ?ltr0n.
have m1 : m <= 1 by rewrite ler_pdivr_mulr ?ltr0n // mul1r -[2]/(1 + 1)%:R natrD ler_add2l ltW.
have q_m : q < m by rewrite ltr_pdivl_mulr ?ltr0n // mulr_natr mulr2n ltr_add2r.
have cell b k := floors_cell a0 m0 m1 q_m more0 (truth b) tightness k.
have b0 : bound a m 0 = 1 by rewrite /bound expr0; apply/min_idPl; rewrite ler_pdivl_mulr // mul1r.
have bS k : bound a m k.+1 = q ^+ k.+1 / m.
  by rewrite /bound; apply/min_idPr; rewrite ltW // (cell_lt1 a0 m0 q_m).
have mV : m^-1 = 2 / (1 + q) by rewrite /m invf_div.
have zero : bound a m 0 - bound a m 1 = laplace_mass a 0%N.
  rewrite b0 bS laplace_mass_nat expr0 mulr1 expr1 mV -/q -[X in X - _](mulfV (lt0r_neq0 q_gt0)).
  by rewrite mulrA -mulrBl mulr_natr mulr2n opprD addrA addrK.
have other k : 2^-1 * (bound a m k.+1 - bound a m k.+2) = laplace_mass a k.+1%:Z.
  rewrite !bS laplace_mass_nat -/q -mulrBl [q ^+ k.+2]exprS -{1}[q ^+ k.+1]mul1r -mulrBl mV.
  by rewrite mulrC -!mulrA [(1 + q)^-1 * 2^-1]mulrC [2 * _]mulrA mulfV ?pnatr_eq0 // mul1r mulrCA mulrC -mulrA.
have pos_inj : injective (fun k : nat => k%:Z) by move=> x y [].
have neg_inj : injective (fun k : nat => - k%:Z) by move=> x y /oppr_inj [].
rewrite toss_then ?half01 // one_minus_half laplaceE //; case: z => [[|k]|k].
- have neg0 (mu : {distr nat / R}) : (\dlet_(k <- mu) dunit (- k%:Z)) 0%:Z = mu 0%N := map_hit mu 0%N neg_inj.
  have pos0 (mu : {distr nat / R}) : (\dlet_(k <- mu) dunit k%:Z) 0%:Z = mu 0%N := map_hit mu 0%N pos_inj.
  rewrite neg0 pos0 !cell zero -mulrDl.
  by rewrite -{1}one_minus_half subrK mul1r.
- rewrite map_miss ?mulr0 ?add0r; last by case.
  by rewrite (map_hit _ k.+1 pos_inj) cell other.
rewrite NegzE [X in _ + _ * X]map_miss ?mulr0 ?addr0 //.
by rewrite (map_hit _ k.+1 neg_inj) cell other laplace_massN.
Qed.

End Inversion.
