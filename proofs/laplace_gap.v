(** * The free gap, with Laplace noise

    The gate of [laplace_gate.v], rho and nu of scales Delta/eps1 and Delta/r, whose ABOVE also says by how
    much ([gap.v]): it releases g = q + nu - T - rho. (kappa is 0 in the code; any public number will do.)

    [laplace_gap_gate_sums_to_one]: it is a whole law.

    [laplace_gap_transcript]: for m BELOW and k ABOVE, with any gaps, the probability is within e^L,
    L = [laplace_gap_loss] as the code has it:

        answers move either way (Any):  min{ (m+k) r,  eps1 + 2 r min(k, floor((m+k)/2)) }
        answers only rise (Up):         max over h = 0..k of  min{ (m+h) r,  eps1 + (k-h) r }
        answers only fall (Down):       max over h = 0..k of  min{ (k-h) r,  eps1 + (m+h) r }

    [laplace_gap_is_free]: with r = eps2 / (s c) the whole transcript with its gaps is (eps1 + eps2)-DP, as
    it is without them; s = 2, and s = 1 where all answers move one way.

    The argument: rho is matched with rho + t. t is 0, or Delta, or the median of the moves where they go
    either way; it is between 0 and Delta, or -Delta, where they go one way ([shifts.v]). *)

From Sparsegate Require Import prelude privacy sums laplace gate laplace_gate standard_gate.
From Sparsegate Require Import transcripts gap shifts.
Local Open Scope ring_scope.

Definition laplace_gap_loss {R : realType} (u : way) (e1 r : R) (m k : nat) : R :=
  match u with
  | Any => Num.min ((m + k)%:R * r) (e1 + (2 * minn k (m + k)./2)%:R * r)
  | Up => \big[Num.max/0]_(h < k.+1) Num.min ((m + h)%:R * r) (e1 + (k - h)%:R * r)
  | Down => \big[Num.max/0]_(h < k.+1) Num.min ((k - h)%:R * r) (e1 + (m + h)%:R * r)
  end.

Lemma laplace_gap_loss_le {R : realType} u (e1 r : R) m k :
  0 <= e1 -> 0 <= r -> laplace_gap_loss u e1 r m k <= e1 + k%:R * ((reach u)%:R * r).
Proof.
move=> e0 r0; have kr0 j : 0 <= j%:R * r by rewrite mulr_ge0 ?ler0n.
have le_r (i j : nat) : (i <= j)%N -> i%:R * r <= j%:R * r by move=> ij; rewrite ler_wpmul2r ?ler_nat.
rewrite mulrA -natrM; case: u => /=; rewrite ?muln1.
- by rewrite le_minl; apply/orP; right; rewrite ler_add2l le_r // mulnC leq_mul2r geq_minl.
- apply: bigmax_le => [|h _]; first exact: addr_ge0.
  by rewrite le_minl ler_add2l le_r ?leq_subr // orbT.
apply: bigmax_le => [|h _]; first exact: addr_ge0.
by rewrite le_minl ler_paddl // le_r ?leq_subr.
Qed.

Section Steps.
Context {H : choiceType}.
Implicit Types (q : H -> int) (l : seq (H * option int)) (t D : nat).

(** How far the positives move. *)
Definition positive_moves q q' l :=
  [seq `|q' y.1 - q y.1|%N | y <- l & isSome y.2].

Lemma size_positive_moves q q' l : size (positive_moves q q' l) = positives l.
Proof. by rewrite size_map size_filter /positives count_map. Qed.

Lemma apartE (t x : nat) : `|t%:Z - x%:Z| = (steps_apart t x)%:Z.
Proof.
rewrite /steps_apart -abszE; case: (leqP t x) => [le|/ltnW le].
  by rewrite distnEr // (eqP (_ : (t - x)%N == 0%N)) ?subn_eq0.
by rewrite distnEl // (eqP (_ : (x - t)%N == 0%N)) ?subn_eq0 ?addn0.
Qed.

Lemma steps_median q q' (s : int) l :
  all_steps q q' s l <= \sum_(y <- l) `|s - (q' y.1 - q y.1)|.
Proof.
apply: ler_sum => y _; rewrite /gap_steps; case: y.2 => [g|] //.
by rewrite le_maxl normr_ge0 distrC ler_norm.
Qed.

Lemma steps_up q q' l t D : (forall h, moves Up D (q' h - q h)) -> (t <= D)%N ->
  all_steps q q' t%:Z l <=
  (negatives l * (D - t) + \sum_(x <- positive_moves q q' l) steps_apart t x)%:Z.
Proof.
move=> mv t_le; rewrite /all_steps /negatives /positive_moves.
elim: l => [|y l IH]; first by rewrite !big_nil.
have /andP[d0 dD] := mv y.1; rewrite big_cons; case: y => h [g|] /= in d0 dD *.
  rewrite add0n big_cons addnCA PoszD; apply: ler_add IH.
  by rewrite -apartE gez0_abs.
rewrite add1n mulSn -addnA PoszD; apply: ler_add IH.
by rewrite le_maxl lez_nat leq0n -subzn // ler_sub.
Qed.

Lemma steps_down q q' l t D : (forall h, moves Down D (q' h - q h)) -> (t <= D)%N ->
  all_steps q q' (- t%:Z) l <=
  (negatives l * t + \sum_(x <- positive_moves q q' l) steps_apart t x)%:Z.
Proof.
move=> mv t_le; rewrite /all_steps /negatives /positive_moves.
elim: l => [|y l IH]; first by rewrite !big_nil.
have /andP[dD d0] := mv y.1; rewrite big_cons; case: y => h [g|] /= in d0 dD *.
  rewrite add0n big_cons addnCA PoszD; apply: ler_add IH.
  by rewrite -apartE lez0_abs // opprK -opprD normrN.
rewrite add1n mulSn -addnA PoszD; apply: ler_add IH.
by rewrite le_maxl lez_nat leq0n /= opprK ger_addr.
Qed.

End Steps.

Section Likelihood.
Context {R : realType} {H : choiceType}.
Variables (D : nat) (eps1 r : R) (q q' T : H -> int) (kappa : int).
Hypotheses (D_gt0 : (0 < D)%N) (eps1_gt0 : 0 < eps1) (r_gt0 : 0 < r).
Implicit Types (l : seq (H * option int)).

Local Notation likely q :=
  (likelihood (laplace (eps1 / D%:R)) (fun h => gap_answer (laplace (r / D%:R)) (q h) (T h) kappa)).

Lemma laplace_gap_by l (s : int) (M : R) :
  eps1 / D%:R * `|s|%:~R + r / D%:R * (all_steps q q' s l)%:~R <= M ->
  likely q l <= expR M * likely q' l.
Proof.
move=> le; have e0 : 0 < eps1 / D%:R by rewrite divr_gt0 ?ltr0n.
have a0 : 0 < r / D%:R by rewrite divr_gt0 ?ltr0n.
apply: le_trans (laplace_gap_aligned q q' T kappa s l e0 a0) _.
by rewrite ler_wpmul2r ?ge0_psum // ler_expR.
Qed.

Lemma laplace_gap_whole l (s : int) (i j : nat) :
  `|s| <= (i * D)%:Z -> all_steps q q' s l <= (j * D)%:Z ->
  likely q l <= expR (i%:R * eps1 + j%:R * r) * likely q' l.
Proof.
by move=> s_le all_le; apply: (laplace_gap_by (s := s)); apply: ler_add; apply: steps_cost.
Qed.

Lemma laplace_gap_best l (s : int) (t j : nat) (M : R) :
  `|s| = t%:Z -> all_steps q q' s l <= j%:Z -> eps1 * t%:R + r * j%:R <= D%:R * M ->
  likely q l <= expR M * likely q' l.
Proof.
move=> sE all_le le; have D0 : 0 < D%:R :> R by rewrite ltr0n.
have scaled (x y : R) : D%:R * (x / D%:R * y) = x * y.
  by rewrite mulrA [D%:R * _]mulrC divfK ?gt_eqF.
apply: (laplace_gap_by (s := s)); rewrite sE -(ler_pmul2l D0); apply: le_trans le.
rewrite mulrDr !scaled ler_add2l ler_wpmul2l ?(ltW r_gt0) //.
by rewrite -[j%:R]/(j%:Z%:~R) ler_int.
Qed.

Lemma laplace_gap_likelihood u l : (forall h, moves u D (q' h - q h)) ->
  likely q l <= expR (laplace_gap_loss u eps1 r (negatives l) (positives l)) * likely q' l.
Proof.
move=> mv; have lo h : - D%:Z <= q' h - q h by have [] := moves_bound (mv h).
have hi h : q' h - q h <= D%:Z by have [] := moves_bound (mv h).
have le_r := ltW r_gt0; have le_e := ltW eps1_gt0.
case: u mv => mv /=.
- apply: le_expR_min.
    have all1 : all_steps q q' 0 l <= ((negatives l + positives l) * D)%:Z.
      have := @all_steps_le _ q q' 0 l D 1 1; rewrite !muln1 addnC; apply => y _.
      rewrite if_same mul1n /gap_steps; case: y.2 => [g|]; first by rewrite sub0r normrN; apply: mv.
      by rewrite le_maxl lez_nat leq0n subr0 hi.
    have := laplace_gap_whole (i := 0) _ all1; rewrite mul0r add0r; apply.
    by rewrite normr0.
  case: (leqP (positives l) ((negatives l + positives l)./2)) => _.
    have all2 : all_steps q q' D l <= (2 * positives l * D)%:Z.
      have := @all_steps_le _ q q' D l D 2 0; rewrite muln0 addn0 (mulnC _ 2%N); apply => y _.
      rewrite /gap_steps; case: y.2 => [g|]; last by rewrite max_l ?mul0n ?subr_le0.
      by rewrite ger0_norm ?subr_ge0 // mul2n -addnn PoszD ler_add2l ler_oppl.
    have := laplace_gap_whole (i := 1) _ all2; rewrite mul1r; apply.
    by rewrite mul1n.
  have [|t t_le le] := @median _ (fun y => q' y.1 - q y.1) D l; first by move=> y _; apply: mv.
  have := @laplace_gap_whole l t 1 (size l)./2.*2.
  rewrite mul1r -positives_negatives addnC -mul2n; apply; first by rewrite mul1n.
  by apply: le_trans (steps_median _ _ _ _) _; rewrite mul2n addnC positives_negatives.
- set M := \big[_/_]_(_ < _) _.
  have [|h|t t_le] := @best_shift R eps1 r M (negatives l) D (positive_moves q q' l) le_e le_r.
  + by apply/allP => _ /mapP[y _ ->]; have /andP[d0 dD] := mv y.1; rewrite -lez_nat gez0_abs.
  + rewrite size_positive_moves => h_le.
    exact: (le_bigmax _ (fun h : 'I__ => Num.min ((_ + h)%:R * r) (_ + (_ - h)%:R * r))
      (Ordinal (_ : h < (positives l).+1)%N)).
  by apply: (laplace_gap_best (s := t%:Z)) => //; apply: steps_up.
set M := \big[_/_]_(_ < _) _.
have e'0 : 0 <= eps1 + (negatives l)%:R * r by rewrite addr_ge0 // mulr_ge0 ?ler0n.
have [|h|t t_le] := @best_shift R _ r M 0 D (positive_moves q q' l) e'0 le_r.
- by apply/allP => _ /mapP[y _ ->]; have /andP[dD d0] := mv y.1; rewrite -lez_nat lez0_abs // ler_oppl.
- rewrite size_positive_moves => h_le; rewrite add0n.
  pose j := Ordinal (leq_subr h (positives l) : (positives l - h < (positives l).+1)%N).
  apply: le_trans (le_bigmax 0 (fun h : 'I_(positives l).+1 =>
    Num.min ((positives l - h)%:R * r) (eps1 + (negatives l + h)%:R * r)) j).
  by rewrite /= subKn // natrD mulrDl addrA.
rewrite mul0n add0n => le; apply: (laplace_gap_best (s := - t%:Z)) (steps_down l mv t_le) _.
  by rewrite normrN.
apply: le_trans le; rewrite natrD mulrDr mulrDl addrA ler_add2r ler_add2l.
by rewrite natrM mulrA [r * _]mulrC.
Qed.

End Likelihood.

Section Gate.
Context {R : realType}.
Variables (c Delta : nat) (eps1 : R) (T : seq (option int) -> int) (kappa : int) (n : nat).
Implicit Types (q : seq (option int) -> int) (r : R) (t : seq (option int)).

Definition laplace_gap_gate r q : {distr (seq (option int)) / R} :=
  gate (laplace (eps1 / Delta%:R)) (closed_after isSome c)
    (fun h => gap_answer (laplace (r / Delta%:R)) (q h) (T h) kappa) n.

Hypotheses (Delta_gt0 : (0 < Delta)%N) (eps1_gt0 : 0 < eps1).

Theorem laplace_gap_gate_sums_to_one r q : 0 < r -> psum (laplace_gap_gate r q) = 1.
Proof.
move=> r0; have D0 : 0 < Delta%:R :> R by rewrite ltr0n.
apply: gate_sums_to_one; first by apply: laplace_sums_to_one; apply: divr_gt0.
by move=> h rho; apply: gap_answer_sums_to_one; apply: laplace_sums_to_one; apply: divr_gt0.
Qed.

Theorem laplace_gap_transcript u r q q' t : 0 < r -> (forall h, moves u Delta (q' h - q h)) ->
  laplace_gap_gate r q t <=
  expR (laplace_gap_loss u eps1 r (count (predC isSome) t) (count isSome t)) *
  laplace_gap_gate r q' t.
Proof.
move=> r0 mv; apply: gate_by_likelihood => _.
have := laplace_gap_likelihood T kappa Delta_gt0 eps1_gt0 r0 (contexts [::] t) mv.
by rewrite /negatives /positives contexts_answers.
Qed.

(** The scales of the code: Delta/eps1 and s c Delta/eps2. *)
Theorem laplace_gap_is_free monotonic (eps2 : R) q q' :
  0 < eps2 -> (0 < c)%N -> neighbours monotonic Delta q q' ->
  let r := eps2 / (sides monotonic * c)%:R in
  within (eps1 + eps2) (laplace_gap_gate r q) (laplace_gap_gate r q').
Proof.
move=> eps2_gt0 c0 near_q r; apply: (private_by_positives eps2_gt0 c0 near_q) => u t mv.
have r0 : 0 < r by rewrite divr_gt0 // ltr0n muln_gt0 c0; case: (monotonic).
apply: le_trans (laplace_gap_transcript t r0 mv) _.
by rewrite ler_wpmul2r // ler_expR; apply: laplace_gap_loss_le; apply: ltW.
Qed.

End Gate.
