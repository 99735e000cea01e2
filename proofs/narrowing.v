(** * A value read off a uniform number, of which only as many digits are drawn as it takes

    U is uniform on (0, 1), known through its first digits: after n bits that read u it lies from u/2^n to
    (u+1)/2^n. The program looks at them and either names the value or draws w more bits.

    - [decide n u]: the value where n bits that read u suffice, else None. No more is asked of it than
      [decides_rightly decide lo hi]: where it says k, the whole interval lies from lo k to hi k; and
      [decides_in_time decide lo hi]: every interval strictly inside is decided once n is large enough.
    - [read_on decide w f n u]: at most f turns of the loop, from n bits that read u.

    Proved: where the cells (lo k, hi k) do not overlap and lie in (0, 1), the whole loop gives the value k with
    probability exactly hi k - lo k ([narrowing_is_exact]), whatever [decide] is. *)

From mathcomp Require Import rat.
From Sparsegate Require Import prelude sums programs coins uniform_bits.
Local Open Scope ring_scope.

Section Narrowing.
Context {R : realType} {T : choiceType}.
Implicit Types (decide : nat -> nat -> option T) (n u w f : nat) (c d x y : R) (k : T).

Definition at_bits n u : R := u%:R / 2 ^+ n.

Fixpoint read_on decide w f n u : {distr T / R} :=
  if decide n u is Some k then dunit k
  else if f is f'.+1 then
    \dlet_(more <- word w) read_on decide w f' (n + w) (u * 2 ^ w + more)
  else dnull.

Definition decides_rightly decide (lo hi : T -> R) :=
  forall n u k, decide n u = Some k -> lo k <= at_bits n u /\ at_bits n u.+1 <= hi k.

Definition decides_in_time decide (lo hi : T -> R) := forall k c d, lo k < c -> d < hi k ->
  exists n0 : nat, forall n u, (n0 <= n)%N -> c <= at_bits n u -> at_bits n u.+1 <= d -> decide n u = Some k.

(** How much of the interval lies between c and d: lengths add up, by telescoping. *)
Definition clipped c d x : R := Num.max c (Num.min x d).
Definition part c d n u : R := 2 ^+ n * (clipped c d (at_bits n u.+1) - clipped c d (at_bits n u)).

Lemma cut_ge c d x : c <= clipped c d x.
Proof. by rewrite /clipped le_maxr lexx. Qed.

Lemma min_cut c d x : Num.min x d <= clipped c d x.
Proof. by rewrite /clipped le_maxr lexx orbT. Qed.

Lemma cut_le c d x y : x <= y -> clipped c d x <= clipped c d y.
Proof.
move=> xy; rewrite {1}/clipped le_maxl cut_ge (le_trans _ (min_cut _ _ _)) //.
by rewrite le_minr !le_minl xy lexx orbT.
Qed.

Lemma cut_lipschitz c d x y : x <= y -> clipped c d y <= clipped c d x + (y - x).
Proof.
move=> xy; have xy0 : 0 <= y - x by rewrite subr_ge0.
rewrite {1}/clipped le_maxl ler_paddr ?cut_ge //=.
apply: le_trans (_ : Num.min x d + (y - x) <= _); last by rewrite ler_add2r min_cut.
rewrite le_minl; case: (leP x d) => _; first by rewrite addrC subrK lexx.
by rewrite [X in _ || X]ler_paddr // orbT.
Qed.

Lemma cut_inside c d x : c <= x -> x <= d -> clipped c d x = x.
Proof. by move=> cx xd; rewrite /clipped (min_idPl xd) (max_idPr cx). Qed.

Lemma cut_below c d x : x <= c -> clipped c d x = c.
Proof. by move=> xc; apply/max_idPl; rewrite le_minl xc. Qed.

Lemma cut_above c d x : c <= d -> d <= x -> clipped c d x = d.
Proof. by move=> cd dx; rewrite /clipped (min_idPr dx) (max_idPr cd). Qed.

Lemma cut_wider_up c d lo hi x : lo <= c -> d <= hi -> clipped lo hi x <= clipped c d x + (hi - d).
Proof.
move=> loc dhi; have dh0 : 0 <= hi - d by rewrite subr_ge0.
rewrite {1}/clipped le_maxl ler_paddr ?(le_trans loc) ?cut_ge //=.
apply: le_trans (_ : Num.min x d + (hi - d) <= _); last by rewrite ler_add2r min_cut.
rewrite le_minl; case: (leP x d) => _; first by rewrite ler_paddr.
by rewrite [d + _]addrC subrK lexx orbT.
Qed.

Lemma cut_wider_down c d lo hi x : lo <= c -> d <= hi -> clipped c d x <= clipped lo hi x + (c - lo).
Proof.
move=> loc dhi; have cl0 : 0 <= c - lo by rewrite subr_ge0.
rewrite {1}/clipped le_maxl; apply/andP; split.
  by rewrite -ler_subl_addr opprB addrC subrK cut_ge.
rewrite ler_paddr // (le_trans _ (min_cut _ _ _)) //.
by rewrite le_minr !le_minl lexx dhi orbT.
Qed.

Lemma at_bits_step n u : at_bits n u.+1 = at_bits n u + (2 ^+ n)^-1.
Proof. by rewrite /at_bits -natr1 mulrDl mul1r. Qed.

Lemma at_bits_le n u : at_bits n u <= at_bits n u.+1.
Proof. by rewrite at_bits_step ler_addl invr_ge0 ltW ?pow2_gt0. Qed.

Lemma part01 c d n u : 0 <= part c d n u <= 1.
Proof.
have n0 : 0 < 2 ^+ n :> R := pow2_gt0 n; rewrite /part; apply/andP; split.
  by rewrite mulr_ge0 ?(ltW n0) // subr_ge0 cut_le ?at_bits_le.
rewrite mulrC -ler_pdivl_mulr // mul1r ler_subl_addl (le_trans (cut_lipschitz _ _ (at_bits_le _ _))) //.
by rewrite ler_add2l at_bits_step addrC addrA addNr add0r.
Qed.

Lemma part_inside c d n u : c <= at_bits n u -> at_bits n u.+1 <= d -> part c d n u = 1.
Proof.
move=> cu ud; have le := at_bits_le n u; rewrite /part (cut_inside (le_trans cu le) ud) (cut_inside cu (le_trans le ud)).
by rewrite at_bits_step addrC addrA addNr add0r mulfV // gt_eqF ?pow2_gt0.
Qed.

Lemma part_outside c d n u : c <= d -> (at_bits n u.+1 <= c) || (d <= at_bits n u) -> part c d n u = 0.
Proof.
move=> cd; have le := at_bits_le n u; rewrite /part => /orP[uc|du].
  by rewrite !cut_below ?subrr ?mulr0 // (le_trans le).
by rewrite !cut_above ?subrr ?mulr0 // (le_trans du).
Qed.

(** An interval is the union of the 2^w intervals that w more bits tell apart. *)
Lemma part_average c d n w u :
  (\sum_(0 <= v < 2 ^ w) part c d (n + w) (u * 2 ^ w + v)) / 2 ^+ w = part c d n u.
Proof.
have w0 : 2 ^+ w != 0 :> R by rewrite gt_eqF ?pow2_gt0.
have same v : at_bits (n + w) (v * 2 ^ w) = at_bits n v.
  by rewrite /at_bits natrM natrX exprD invfM [X in _ * X]mulrC mulrA mulfK.
pose F v := clipped c d (at_bits (n + w) (u * 2 ^ w + v)).
rewrite -mulr_sumr (eq_bigr (fun v => F v.+1 - F v)) => [|v _]; last by rewrite /F addnS.
rewrite telescope_sumr // /F.
by rewrite addn0 -mulSnr !same exprD mulrAC mulfK.
Qed.

Definition apart (lo hi : T -> R) := forall k l, k != l -> hi k <= lo l \/ hi l <= lo k.

Lemma settle_upper decide (lo hi : T -> R) w f n u k :
  decides_rightly decide lo hi -> read_on decide w f n u k <= part (lo k) (hi k) n u.
Proof.
move=> snd; have said n' v l : decide n' v = Some l -> (l == k)%:R <= part (lo k) (hi k) n' v.
  case: eqVneq => [->|_] E; last by case/andP: (part01 (lo k) (hi k) n' v).
  by have [lov vhi] := snd _ _ _ E; rewrite part_inside.
elim: f n u => [|f IHf] n u /=; case E: (decide n u) => [l|]; rewrite ?dunit1E ?(said _ _ _ E) //.
  by rewrite dnullE; case/andP: (part01 (lo k) (hi k) n u).
rewrite word_then -(part_average _ _ _ w) ler_pmul2r ?invr_gt0 ?pow2_gt0 //.
by apply: ler_sum => v _.
Qed.

Lemma settle_lower decide (lo hi : T -> R) w f n u k c d :
  decides_rightly decide lo hi -> apart lo hi -> lo k <= c -> c <= d -> d <= hi k ->
  (forall v, c < at_bits (n + w * f) v.+1 -> at_bits (n + w * f) v < d -> decide (n + w * f)%N v = Some k) ->
  part c d n u <= read_on decide w f n u k.
Proof.
move=> snd sep loc cd dhi; have met n' v : part c d n' v != 0 -> c < at_bits n' v.+1 /\ at_bits n' v < d.
  by move=> nz; rewrite !ltNge; split; apply: contra nz => h; rewrite part_outside ?h ?orbT.
have same n' v l : decide n' v = Some l -> part c d n' v <= (l == k)%:R.
  move=> E; case: eqVneq => [_|lk]; first by case/andP: (part01 c d n' v).
  have [-> //|/met[cv vd]] := eqVneq (part c d n' v) 0; have [lov vhi] := snd _ _ _ E; exfalso.
  case: (sep _ _ lk) => h.
    by have := lt_le_trans cv (le_trans vhi (le_trans h loc)); rewrite ltxx.
  by have := le_lt_trans (le_trans (le_trans dhi h) lov) vd; rewrite ltxx.
elim: f n u => [|f IHf] n u dec /=; case E: (decide n u) => [l|]; rewrite ?dunit1E ?(same _ _ _ E) //.
  rewrite dnullE; have [->|/met[cv vd]] := eqVneq (part c d n u) 0; first by [].
  by have := dec u; rewrite muln0 addn0 E => /(_ cv vd).
rewrite word_then -(part_average _ _ _ w) ler_pmul2r ?invr_gt0 ?pow2_gt0 //.
by apply: ler_sum => v _; apply: IHf => v'; rewrite -addnA -mulnS; apply: dec.
Qed.

Lemma part_wider c d lo hi n u : lo <= c -> d <= hi ->
  part lo hi n u <= part c d n u + 2 ^+ n * ((c - lo) + (hi - d)).
Proof.
move=> loc dhi; rewrite /part -mulrDr ler_pmul2l ?pow2_gt0 // ler_subl_addr.
apply: le_trans (cut_wider_up _ loc dhi) _; have le_X := cut_wider_down (at_bits n u) loc dhi.
move: le_X; set X := clipped c d (at_bits n u); set L := clipped lo hi (at_bits n u); set Y := clipped c d _.
set p := c - lo; set q := hi - d => le_X; rewrite [p + q]addrC [Y - X + _]addrACA -[leRHS]addrA ler_addl.
by rewrite addrC [- X + _]addrC addrA subr_ge0.
Qed.

Lemma settle_limit decide (lo hi : T -> R) w n u k :
  (0 < w)%N -> decides_rightly decide lo hi -> decides_in_time decide lo hi -> apart lo hi -> lo k < hi k ->
  (\dlim_(f) read_on decide w f n u) k = part (lo k) (hi k) n u.
Proof.
move=> w0 snd cmp sep lohi; apply: dlim_close => e e0.
pose g := Num.min (e / (2 ^+ n * 4)) ((hi k - lo k) / 4).
have n0 : 0 < 2 ^+ n :> R := pow2_gt0 n.
have g0 : 0 < g by rewrite lt_minr !divr_gt0 ?mulr_gt0 ?subr_gt0 ?ltr0n.
have g_e : 2 ^+ n * (g * 4) <= e.
  by rewrite mulrC -mulrA [4 * _]mulrC -ler_pdivl_mulr ?mulr_gt0 ?ltr0n // /g le_minl lexx.
have g_w : g * 4 <= hi k - lo k by rewrite -ler_pdivl_mulr ?ltr0n // /g le_minl lexx orbT.
have g4 : g * 4 = g + g + (g + g) by rewrite -[4]/(2 * 2)%N%:R natrM mulrA !mulr_natr !mulr2n.
have [||n1 dec] := cmp k (lo k + g) (hi k - g); rewrite ?ltr_addl ?ltr_subl_addr ?ltr_addl //.
have [n2 small] := pow2_small g0.
exists (n1 + n2)%N => f le_f; have le_N : (n1 + n2 <= n + w * f)%N.
  by rewrite (leq_trans le_f) // (leq_trans _ (leq_addl _ _)) // leq_pmull.
have le1 := leq_trans (leq_addr _ _) le_N; have le2 := leq_trans (leq_addl _ _) le_N.
have up := settle_upper w f n u k snd.
rewrite distrC ger0_norm ?subr_ge0 // ler_subl_addr.
have loc : lo k <= lo k + (g + g) by rewrite ler_addl addr_ge0 ?ltW.
have dhi : hi k - (g + g) <= hi k by rewrite ger_addl oppr_le0 addr_ge0 ?ltW.
have cd : lo k + (g + g) <= hi k - (g + g).
  by rewrite ler_subr_addr -addrA -g4 addrC -ler_subr_addr.
apply: le_trans (part_wider n u loc dhi) _; rewrite addrC; apply: ler_add.
  by rewrite [lo k + _]addrC addrK opprB [hi k + _]addrC subrK -g4.
apply: (settle_lower u snd sep loc cd dhi) => v cv vd; apply: dec => //.
  move: cv; rewrite at_bits_step => /ltW cv.
  by rewrite -(ler_add2r g) -addrA (le_trans cv) // ler_add2l small.
rewrite at_bits_step; apply: le_trans (ler_add (ltW vd) (small _ le2)) _.
by rewrite opprD addrA subrK.
Qed.

Theorem narrowing_is_exact decide (lo hi : T -> R) w n k :
  (0 < w)%N -> decides_rightly decide lo hi -> decides_in_time decide lo hi -> apart lo hi -> 0 <= lo k < hi k -> hi k <= 1 ->
  (\dlet_(u <- word n) \dlim_(f) read_on decide w f n u) k = hi k - lo k.
Proof.
move=> w0 snd cmp sep /andP[lo0 lohi] hi1; rewrite word_then.
rewrite (eq_bigr (fun u => part (lo k) (hi k) (0 + n) (0 * 2 ^ n + u))) => [|u _]; last first.
  by rewrite add0n mul0n add0n (settle_limit _ _ w0 snd cmp sep lohi).
rewrite part_average /part /at_bits expr0 mul1r !divr1 cut_above ?(ltW lohi) //.
by rewrite cut_below.
Qed.

End Narrowing.
