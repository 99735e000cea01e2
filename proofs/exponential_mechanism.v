(** * The exponential mechanism: one draw

    Candidates are a finite type [T], [A] is the set of those that may still be drawn, [q] gives every
    candidate its score, a real number (whole scores are real numbers, too).

    - [proportional w]: x with probability proportional to w(x).
    - [exponential a q A]: candidate x of [A] with probability proportional to e^(a q(x)).
    - [scores_move monotonic Delta q q']: what one person can do to the scores. In general every score moves
      by at most Delta, either way; monotonic scores all move up, or all move down. Nothing else is known
      of the neighbour: it is the adversary's choice.
    - [selection_rate eps c Delta monotonic]: the factor a of one of c draws, as the code computes it:
      eps / (2 c Delta) in general, eps / (c Delta) for monotonic scores.
    - [bounded_range eps mu nu]: the logarithm of mu(x) / nu(x) lies in one interval of length eps for all
      outcomes x. It is stronger than [within]: eps-bounded-range laws of mass one are eps-private.

    Exported:
    - [exponential_sums_to_one]: where there is a candidate, one is drawn with probability one.
    - [exponential_bounded_range]: at rate [selection_rate eps 1 Delta monotonic] the draws of neighbours
      are eps-bounded-range.
    - [exponential_is_private]: the same draws are eps-private.
    - [bounded_range_is_private]: what eps-bounded-range means for privacy, in both directions. *)

From Sparsegate Require Import prelude.
(* Sets are finite here, and not those of the classical library. *)
From mathcomp Require Import finset.
From Sparsegate Require Import privacy.
Local Open Scope ring_scope.

Section BoundedRange.
Context {R : realType} {T : choiceType}.
Implicit Types (mu nu : {distr T / R}) (eps : R).

Definition bounded_range eps mu nu :=
  exists t, forall x, expR t * nu x <= mu x <= expR (t + eps) * nu x.

Lemma bounded_range_sym eps mu nu : bounded_range eps mu nu -> bounded_range eps nu mu.
Proof.
case=> t h; exists (- (t + eps)) => x; have /andP[lo hi] := h x.
by rewrite opprD addrNK -opprD !expRN ler_pdivr_mull ?expR_gt0 // hi ler_pdivl_mull ?expR_gt0.
Qed.

(** The interval must contain zero: not every outcome can be likelier under one of the two laws. *)
Lemma bounded_range_within eps mu nu :
  psum mu = 1 -> psum nu = 1 -> bounded_range eps mu nu -> within eps mu nu.
Proof.
move=> mu1 nu1 [t h]; have t_le0 : expR t <= expR 0.
  rewrite expR0 -mu1 -[expR t]mulr1 -nu1 -psumZ ?(ltW (expR_gt0 _)) //.
  apply: le_psum; last exact: summable_mu.
  by move=> x; rewrite mulr_ge0 ?(ltW (expR_gt0 _)) //=; case/andP: (h x).
move=> x; case/andP: (h x) => _ /le_trans-> //; rewrite ler_wpmul2r // ler_expR.
by rewrite ler_expR in t_le0; rewrite -[leRHS]add0r ler_add2r.
Qed.

Theorem bounded_range_is_private eps mu nu :
  psum mu = 1 -> psum nu = 1 -> bounded_range eps mu nu -> within eps mu nu /\ within eps nu mu.
Proof.
move=> mu1 nu1 h; split; apply: bounded_range_within => //.
exact: bounded_range_sym.
Qed.

End BoundedRange.

Section Neighbours.
Context {R : realType} {T : Type}.
Implicit Types (q : T -> R) (Delta : R) (monotonic : bool).

(** Every score moves by at most Delta; monotonic: all of them up, or all of them down. *)
Definition scores_move monotonic Delta q q' :=
  if monotonic
  then (forall x, q x <= q' x <= q x + Delta) \/ (forall x, q' x <= q x <= q' x + Delta)
  else forall x, `|q x - q' x| <= Delta.

Lemma scores_move_sym monotonic Delta q q' : scores_move monotonic Delta q q' -> scores_move monotonic Delta q' q.
Proof. by case: monotonic => /= h; [case: h => h; [right | left] | move=> x; rewrite distrC]. Qed.

Definition score_sides monotonic : R := if monotonic then 1 else 2.

Definition selection_rate eps (c : nat) Delta monotonic : R := eps / (score_sides monotonic * c%:R * Delta).

(** What both kinds of neighbours have in common: all differences of scores lie in one interval. *)
Lemma scores_move_interval monotonic Delta q q' : scores_move monotonic Delta q q' ->
  exists lo, forall x, lo <= q x - q' x <= lo + score_sides monotonic * Delta.
Proof.
rewrite /score_sides; case: monotonic => /=; last first.
  move=> h; exists (- Delta) => x; rewrite mulrDl mul1r addKr.
  by rewrite -ler_norml.
rewrite mul1r; case=> h; [exists (- Delta) | exists 0] => x; case/andP: (h x) => h1 h2.
  by rewrite addNr subr_le0 h1 andbT ler_subr_addr addrC ler_subl_addr.
by rewrite add0r subr_ge0 h1 ler_subl_addl.
Qed.

End Neighbours.

(** ** Drawing by weight *)
Section Proportional.
Context {R : realType} {T : finType}.
Implicit Type (w : T -> R).

(** [proportional w]: x with probability proportional to w(x). (Weights are not negative: the absolute
    value is there for this to be a law whatever [w] is.) *)
Definition proportional_mass w x := `|w x| / \sum_y `|w y|.

Lemma isd_proportional w : isdistr (proportional_mass w).
Proof.
apply/isdistr_finP; split=> [x|]; first by rewrite divr_ge0 ?sumr_ge0.
rewrite -mulr_suml; have [->|nz] := eqVneq (\sum_y `|w y|) 0; first by rewrite mul0r ler01.
by rewrite divff.
Qed.

Definition proportional w : {distr T / R} := locked (mkdistr (isd_proportional w)).

Lemma proportionalE w x : (forall x, 0 <= w x) -> proportional w x = w x / \sum_y w y.
Proof.
move=> w0; unlock proportional; rewrite /= /proportional_mass ger0_norm //.
by under eq_bigr => y _ do rewrite ger0_norm //.
Qed.

Lemma proportional_sums_to_one w x : (forall x, 0 <= w x) -> 0 < w x -> psum (proportional w) = 1.
Proof.
move=> w0 wx; rewrite psum_fin.
under eq_bigr => y _ do rewrite ger0_norm // proportionalE //.
rewrite -mulr_suml divff // (bigD1 x) //= gt_eqF // ltr_paddr //.
exact: sumr_ge0.
Qed.

End Proportional.

Section Exponential.
Context {R : realType} {T : finType}.
Implicit Types (q : T -> R) (A : {set T}) (a eps Delta : R).

Definition weight a q A x : R := if x \in A then expR (a * q x) else 0.

Definition exponential a q A : {distr T / R} := proportional (weight a q A).

Definition total_weight a q A := \sum_(y in A) expR (a * q y).

Lemma weight_ge0 a q A x : 0 <= weight a q A x.
Proof. by rewrite /weight; case: ifP => // _; apply: ltW (expR_gt0 _). Qed.

Lemma total_weight_gt0 a q A x : x \in A -> 0 < total_weight a q A.
Proof.
move=> xA; rewrite /total_weight (bigD1 x) //= ltr_paddr ?expR_gt0 //.
by apply: sumr_ge0 => y _; apply: ltW (expR_gt0 _).
Qed.

Lemma exponentialE a q A x :
  exponential a q A x = if x \in A then expR (a * q x) / total_weight a q A else 0.
Proof.
rewrite /exponential proportionalE; last exact: weight_ge0.
by rewrite -big_mkcond {1}/weight /=; case: ifP; rewrite ?mul0r.
Qed.

Theorem exponential_sums_to_one a q A : A != set0 -> psum (exponential a q A) = 1.
Proof.
case/set0Pn=> x xA; apply: (proportional_sums_to_one (x := x)); first exact: weight_ge0.
by rewrite /weight xA expR_gt0.
Qed.

Lemma exponential_gt0 a q A x : (0 < exponential a q A x) = (x \in A).
Proof.
rewrite exponentialE; case: ifP => xA; last by rewrite ltxx.
by rewrite divr_gt0 ?expR_gt0 // (total_weight_gt0 _ _ xA).
Qed.

Lemma exponential_null a q x : exponential a q set0 x = 0.
Proof. by rewrite exponentialE inE. Qed.

(** Weights that move by factors between e^lo and e^hi: the total moves all outcomes alike. *)
Lemma exponential_interval a q q' A lo hi :
  (forall x, x \in A -> lo <= a * (q x - q' x) <= hi) ->
  bounded_range (hi - lo) (exponential a q A) (exponential a q' A).
Proof.
move=> h; have [->|/set0Pn[x0 x0A]] := eqVneq A set0.
  by exists 0 => x; rewrite !exponential_null !mulr0 lexx.
have W_gt0 (p : T -> R) : 0 < total_weight a p A by exact: total_weight_gt0 x0A.
pose r := total_weight a q' A / total_weight a q A.
have r_gt0 : 0 < r by rewrite divr_gt0.
exists (lo + ln r) => x; rewrite !exponentialE; case: ifP => [xA|_]; last by rewrite !mulr0 lexx.
have move_r u : expR (u + ln r) * (expR (a * q' x) / total_weight a q' A)
    = expR (u + a * q' x) / total_weight a q A.
  rewrite !expRD lnK ?posrE // /r; move: (W_gt0 q') => /lt0r_neq0 nz.
  by rewrite -!mulrA; congr (_ * _); rewrite mulrC -!mulrA mulVf ?mulr1 1?mulrC.
have -> : lo + ln r + (hi - lo) = hi + ln r by rewrite addrC addrA subrK.
have Wq_gt0 : 0 < (total_weight a q A)^-1 by rewrite invr_gt0.
rewrite (move_r lo) (move_r hi) (ler_pmul2r Wq_gt0) (ler_pmul2r Wq_gt0) !ler_expR.
by have := h x xA; rewrite mulrBr ler_subr_addr ler_subl_addr.
Qed.

(** At a rate a >= 0 the differences of the scores themselves decide. *)
Lemma exponential_moves monotonic a Delta q q' A : 0 <= a -> scores_move monotonic Delta q q' ->
  bounded_range (a * (score_sides monotonic * Delta)) (exponential a q A) (exponential a q' A).
Proof.
move=> a_ge0 /scores_move_interval[lo h].
have -> : a * (score_sides monotonic * Delta) = a * (lo + score_sides monotonic * Delta) - a * lo.
  by rewrite -mulrBr addrC addKr.
apply: exponential_interval => x _.
by case/andP: (h x) => h1 h2; rewrite !ler_wpmul2l.
Qed.

Lemma sides_gt0 monotonic : 0 < @score_sides R monotonic.
Proof. by case: monotonic; rewrite /score_sides ?ltr01 ?ltr0n. Qed.

Lemma selection_rate_ge0 monotonic eps c Delta : 0 <= eps -> 0 < Delta ->
  0 <= selection_rate eps c Delta monotonic.
Proof. by move=> e0 D0; rewrite divr_ge0 // !mulr_ge0 ?ler0n // ltW ?sides_gt0. Qed.

Lemma selection_rateK monotonic eps c Delta : (0 < c)%N -> 0 < Delta ->
  selection_rate eps c Delta monotonic * (score_sides monotonic * Delta) = eps / c%:R.
Proof.
move=> c0 D0; have nz : score_sides monotonic * Delta != 0 by rewrite mulf_neq0 ?gt_eqF // sides_gt0.
by rewrite /selection_rate [_ * c%:R * _]mulrAC invfM [eps * (_ * _)]mulrCA mulrAC mulVf ?mul1r.
Qed.

Theorem exponential_bounded_range monotonic eps Delta q q' A :
  0 <= eps -> 0 < Delta -> scores_move monotonic Delta q q' ->
  bounded_range eps (exponential (selection_rate eps 1 Delta monotonic) q A)
                    (exponential (selection_rate eps 1 Delta monotonic) q' A).
Proof.
move=> e0 D0 /(exponential_moves A (selection_rate_ge0 monotonic 1 e0 D0)).
by rewrite selection_rateK // divr1.
Qed.

(** A round of c: eps / c each. *)
Lemma exponential_round_is_private monotonic eps c Delta q q' A :
  (0 < c)%N -> 0 <= eps -> 0 < Delta -> scores_move monotonic Delta q q' ->
  within (eps / c%:R) (exponential (selection_rate eps c Delta monotonic) q A)
                      (exponential (selection_rate eps c Delta monotonic) q' A).
Proof.
move=> c0 e0 D0 h; have [->|nA] := eqVneq A set0.
  by move=> x; rewrite !exponential_null mulr0.
rewrite -(selection_rateK monotonic eps c0 D0).
apply: bounded_range_within; rewrite ?exponential_sums_to_one //.
by apply: exponential_moves => //; apply: selection_rate_ge0.
Qed.

Theorem exponential_is_private monotonic eps Delta q q' A :
  0 <= eps -> 0 < Delta -> scores_move monotonic Delta q q' ->
  within eps (exponential (selection_rate eps 1 Delta monotonic) q A)
             (exponential (selection_rate eps 1 Delta monotonic) q' A).
Proof.
by move=> e0 D0 h; rewrite -{1}[eps]divr1; apply: exponential_round_is_private.
Qed.

End Exponential.
