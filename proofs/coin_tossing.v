(** * A coin of any bias, from fair bits

    The program [toss] of noise/coins.py: a uniform number is compared with p, w digits at a time,
    until they differ. [toss] has w = 64. [toss_lanes], which runs many tosses side by side, has w = 16, and
    answers p = 1 without a draw.

    - [prefix p n] = floor(p 2^n), and [chance_digit p i w], digit number i of p in base 2^w.
    - [toss w p ends i f]: at most f turns of the loop, from digit number i. [ends] is None, or a number of bits
      after which all digits of p are zero ([ends_at]): then the loop stops there.
    - [tossed_coin w p ends] = [\dlim_(f) toss w p ends 0 f]: the whole loop.

    Proved, for 0 <= p <= 1 and every w > 0, given fair bits (uniform_bits.v):
    - [toss_is_exact]: heads with probability exactly p: [tossed_coin] is [dflip p], of mass one, so that the loop
      ends with probability one.
    - [toss_is_quick]: f turns leave at most 2^-wf of it open.

    A hypothesis, not a theorem: the digits are those of p. The code computes them by integer division, or in
    interval arithmetic. *)

From mathcomp Require Import rat.
From Sparsegate Require Import prelude sums programs coins uniform_bits.
Local Open Scope ring_scope.

Section Toss.
Context {R : realType}.
Implicit Types (p r : R) (n m w i d f : nat) (ends : option nat).

Definition prefix p n : nat := `|floor (p * 2 ^+ n)|%N.
Definition chance_digit p i w : nat := (prefix p (w * i.+1) %% 2 ^ w)%N.

Definition ends_at p ends : Prop := if ends is Some e then exists m : nat, p * 2 ^+ e = m%:R else True.

Definition goes_on ends w i : bool := (if ends is Some e then (w * i < e)%N else true) || (i == 0%N).

Fixpoint toss w p ends i f : {distr bool / R} :=
  if f is f'.+1 then
    if goes_on ends w i then
      \dlet_(drawn <- word w)
        let digit := if i == 0%N then prefix p w else chance_digit p i w in
        if drawn != digit then dunit (drawn < digit)%N else toss w p ends i.+1 f'
    else dunit false
  else dnull.

Definition tossed_coin w p ends : {distr bool / R} := \dlim_(f) toss w p ends 0 f.

(** What is left of p after n digits, as a number from 0 to 1. *)
Definition chance_rest p n : R := p * 2 ^+ n - (prefix p n)%:R.

Lemma prefixP p n : 0 <= p -> (prefix p n)%:R <= p * 2 ^+ n < (prefix p n)%:R + 1.
Proof.
move=> p0; have x0 : 0 <= p * 2 ^+ n by rewrite mulr_ge0 // ltW ?pow2_gt0.
have -> : (prefix p n)%:R = (floor (p * 2 ^+ n))%:~R :> R.
  by rewrite pmulrn /prefix gez0_abs // floor_ge0.
by rewrite floor_le lt_succ_floor.
Qed.

Lemma prefix_unique p n k : 0 <= p -> k%:R <= p * 2 ^+ n < k%:R + 1 -> prefix p n = k.
Proof.
move=> p0 /andP[le_k lt_k]; have /andP[le_p lt_p] := prefixP n p0.
apply/eqP; rewrite eqn_leq -ltnS -[(k <= _)%N]ltnS -(ltr_nat R) -[(k < _)%N](ltr_nat R) -natr1 -[_.+1%:R]natr1.
by rewrite (le_lt_trans le_p lt_k) (le_lt_trans le_k lt_p).
Qed.

Lemma prefix_div p n m : 0 <= p -> prefix p n = (prefix p (n + m) %/ 2 ^ m)%N.
Proof.
move=> p0; apply: prefix_unique => //; have /andP[le_p lt_p] := prefixP (n + m) p0.
set q := prefix p (n + m) in le_p lt_p *; have m0 : (0 < 2 ^ m)%N by rewrite expn_gt0.
rewrite exprD mulrA in le_p lt_p; apply/andP; split.
  by rewrite -(ler_pmul2r (pow2_gt0 m)) (le_trans _ le_p) // -natrX -natrM ler_nat leq_trunc_div.
rewrite -(ltr_pmul2r (pow2_gt0 m)) (lt_le_trans lt_p) // !natr1 -natrX -natrM ler_nat.
by rewrite ltn_ceil.
Qed.

Lemma rest01 p n : 0 <= p -> 0 <= chance_rest p n < 1.
Proof. by move=> /prefixP - /(_ n) /andP[lo hi]; rewrite subr_ge0 lo ltr_subl_addl. Qed.

(** The number that is still to be compared, at digit number i. *)
Definition open_part p w i : R := if i == 0%N then p else chance_rest p (w * i).

Lemma open_part_next p w i : 0 <= p ->
  open_part p w i * 2 ^+ w = (if i == 0%N then prefix p w else chance_digit p i w)%:R + open_part p w i.+1.
Proof.
move=> p0; rewrite /open_part /=; case: eqP => [->|_]; first by rewrite /chance_rest muln1 addrC subrK.
rewrite /chance_digit /chance_rest; set P := prefix p (w * i.+1).
have -> : prefix p (w * i) = (P %/ 2 ^ w)%N by rewrite (prefix_div (w * i) w) // addnC -mulnS.
have -> : P%:R = (P %/ 2 ^ w)%N%:R * 2 ^+ w + (P %% 2 ^ w)%N%:R :> R.
  by rewrite {1}(divn_eq P (2 ^ w)) natrD natrM natrX.
rewrite mulnS [(w + _)%N]addnC exprD mulrA mulrBl [RHS]addrC opprD.
by rewrite [X in _ = X + _]addrA subrK.
Qed.

Definition side_chance b r : R := if b then r else 1 - r.

Lemma share01 b r : 0 <= r <= 1 -> 0 <= side_chance b r <= 1.
Proof. by case: b => //= /andP[r0 r1]; rewrite subr_ge0 r1 ger_addl oppr_le0. Qed.

(** One turn: d of the 2^w words are below, 2^w - d - 1 above, and one goes on. *)
Lemma turn w d r r' (later : {distr bool / R}) b : 0 <= r <= 1 -> 0 <= r' -> r * 2 ^+ w = d%:R + r' ->
  `|(\dlet_(drawn <- word w) if drawn != d then dunit (drawn < d)%N else later) b - side_chance b r| <=
  `|later b - side_chance b r'| / 2 ^+ w.
Proof.
move=> /andP[r0 r1] r'0 next; have W0 : 0 < 2 ^+ w :> R := pow2_gt0 w.
have rE : r = (d%:R + r') / 2 ^+ w by rewrite -next mulfK // gt_eqF.
have d_le : (d <= 2 ^ w)%N.
  rewrite -(ler_nat R) natrX (le_trans (_ : _ <= d%:R + r')) ?ler_addl // -next.
  by rewrite ler_pimull // ltW.
rewrite word_then (big_cat_nat _ _ _ (leq0n d) d_le) /=.
have -> : \sum_(0 <= v < d) (if v != d then dunit (v < d)%N else later) b = d%:R * b%:R :> R.
  rewrite (eq_big_nat _ _ (F2 := fun=> b%:R)) => [|v /andP[_ lt_v]].
    by rewrite sumr_const_nat subn0 mulr_natl.
  by rewrite ltn_eqF //= dunit1E lt_v; case: b.
have [d_lt|d_ge] := ltnP d (2 ^ w).
  rewrite big_ltn // eqxx /=.
  have -> : \sum_(d.+1 <= v < 2 ^ w) (if v != d then dunit (v < d)%N else later) b =
      (2 ^+ w - d%:R - 1) * (~~ b)%:R :> R.
    rewrite (eq_big_nat _ _ (F2 := fun=> (~~ b)%:R)) => [|v /andP[lt_v _]].
      by rewrite sumr_const_nat -mulr_natl natrB // natrX -[d.+1%:R]natr1 opprD addrA.
    by rewrite gtn_eqF //= dunit1E ltnNge ltnW //=; case: b.
  rewrite -[leRHS](ger0_norm (mulr_ge0 (normr_ge0 _) _)) ?invr_ge0 ?(ltW W0) //.
  rewrite normrM normr_id -normrM le_eqVlt; apply/orP; left; apply/eqP; congr (`|_|).
  rewrite rE; case: b => /=; rewrite !(mulr1, mulr0, addr0, add0r) -?mulrBl.
    by congr (_ / _); rewrite opprD addrACA subrr add0r.
  have -> : 1 - (d%:R + r') / 2 ^+ w = (2 ^+ w - (d%:R + r')) / 2 ^+ w.
    by rewrite mulrBl mulfV // gt_eqF.
  rewrite -mulrBl; congr (_ / _); rewrite -[LHS]addrA; congr (_ + _).
  by rewrite !opprB addrC addrA [X in X - 1]addrA subrK [d%:R + r']addrC addrK.
have dE : d = (2 ^ w)%N by apply/eqP; rewrite eqn_leq d_le d_ge.
have r'E : r' = 0.
  apply/eqP; rewrite eq_le r'0 andbT -(ler_add2l d%:R) -next addr0 dE natrX.
  by rewrite ler_pimull // ltW.
rewrite rE r'E dE big_geq // !addr0 natrX mulfV ?gt_eqF //.
rewrite (_ : _ - _ = 0) ?normr0 ?divr_ge0 ?normr_ge0 ?ltW //.
by case: b; rewrite /= ?mulr1 ?mulr0 ?mul0r ?mulfV ?gt_eqF // ?subrr ?subr0.
Qed.

Lemma open_part01 p w i : 0 <= p <= 1 -> 0 <= open_part p w i <= 1.
Proof.
move=> p01; have /andP[p0 _] := p01; rewrite /open_part; case: ifP => // _.
by have /andP[-> /ltW ->] := rest01 (w * i) p0.
Qed.

(** Where the digits have ended, nothing is left. *)
Lemma open_part_ended p w ends i : 0 <= p -> ends_at p ends -> ~~ goes_on ends w i -> open_part p w i = 0.
Proof.
rewrite /goes_on /open_part; case: ends => [e|] //= p0 [m pm]; case: eqP; rewrite ?orbT // orbF => _.
rewrite -leqNgt => /subnK; rewrite addnC => <-.
set j := (_ - _)%N; have px : p * 2 ^+ (e + j) = (m * 2 ^ j)%N%:R by rewrite exprD mulrA pm natrM natrX.
by rewrite /chance_rest (prefix_unique p0 (k := (m * 2 ^ j)%N)) px ?subrr // lexx ltr_addl ltr01.
Qed.

Theorem toss_is_quick w p ends i f b : 0 <= p <= 1 -> ends_at p ends ->
  `|toss w p ends i f b - side_chance b (open_part p w i)| <= (2 ^+ (w * f))^-1.
Proof.
move=> p01 pe; have /andP[p0 _] := p01; elim: f i => [|f IHf] i /=.
  rewrite dnullE sub0r normrN muln0 expr0 invr1.
  by have /andP[s0 s1] := share01 b (open_part01 w i p01); rewrite ger0_norm.
case: ifP => [_|/negbT stop]; last first.
  rewrite (open_part_ended p0 pe stop) dunit1E; have -> : (false == b)%:R - side_chance b 0 = 0 :> R.
    by case: (b); rewrite /= ?subr0 ?subrr.
  by rewrite normr0 invr_ge0 ltW ?pow2_gt0.
apply: le_trans (turn _ _ (open_part01 w i p01) _ (open_part_next w i p0)) _.
  by case/andP: (open_part01 w i.+1 p01).
by rewrite mulnS addnC exprD invfM ler_pmul2r ?invr_gt0 ?pow2_gt0.
Qed.

Theorem toss_is_exact w p ends : (0 < w)%N -> 0 <= p <= 1 -> ends_at p ends -> tossed_coin w p ends =1 dflip p.
Proof.
move=> w0 p01 pe b; have -> : dflip p b = side_chance b p by rewrite dflip1E /mflip clamp_in01.
apply: dlim_close => e /pow2_small[k small]; exists k => f le_f.
apply: le_trans (toss_is_quick w 0 f b p01 pe) _; apply: small.
by rewrite (leq_trans le_f) // leq_pmull.
Qed.

End Toss.
