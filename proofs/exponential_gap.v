(** * The free gap, with one-sided noise

    The gate of [exponential_gate.v], rho and nu geometric of scales Delta/eps1 and Delta/r, whose ABOVE
    also says by how much ([gap.v]): it releases g = q + nu - T - rho - kappa. Whoever asks may use the
    gaps that were released for the next question. This is what the public gate runs by default.

    [exponential_gap_gate_sums_to_one]: it is a whole law.

    [exponential_gap_transcript]: for m BELOW and k ABOVE, with any gaps, the probability is within e^L,
    L = [exponential_gap_loss] as the code has it:

        answers move either way (Any):   eps1 + 2 k r,   m = 0 < k: max{ k r,  eps1 + 2 (k-1) r }
        answers only rise (Up):          eps1 + k r,     m = 0 < k: eps1 + (k-1) r
        answers only fall (Down):        k r

    and 0 where nothing was said.

    [exponential_gap_is_free]: with r = eps2 / (s c) the whole transcript with its gaps is
    (eps1 + eps2)-DP, as it is without them; s = 2, and s = 1 where all answers move one way.

    The argument: rho is matched with rho + Delta, or with itself where all answers fall. Without BELOWs
    rho need move no further than the answer that rises most, and that one is then free. *)

From Sparsegate Require Import prelude privacy sums laplace geometric gate laplace_gate standard_gate.
From Sparsegate Require Import transcripts gap.
Local Open Scope ring_scope.

Definition exponential_gap_loss {R : realType} (u : way) (e1 r : R) (m k : nat) : R :=
  match u with
  | Any => if (0 < m)%N then e1 + (2 * k)%:R * r
           else if (0 < k)%N then Num.max (k%:R * r) (e1 + (2 * k.-1)%:R * r) else 0
  | Up => if (0 < m)%N then e1 + k%:R * r else if (0 < k)%N then e1 + k.-1%:R * r else 0
  | Down => k%:R * r
  end.

Lemma exponential_gap_loss_le {R : realType} u (e1 r : R) m k :
  0 <= e1 -> 0 <= r -> exponential_gap_loss u e1 r m k <= e1 + k%:R * ((reach u)%:R * r).
Proof.
move=> e0 r0; have kr0 j : 0 <= j%:R * r by rewrite mulr_ge0 ?ler0n.
have le_r (i j : nat) : (i <= j)%N -> i%:R * r <= j%:R * r by move=> ij; rewrite ler_wpmul2r ?ler_nat.
rewrite mulrA -natrM; case: u => /=; rewrite ?muln1.
- case: ifP => _; first by rewrite mulnC.
  case: ifP => _; last by rewrite addr_ge0.
  rewrite le_maxl ler_paddl ?le_r ?leq_pmulr //= ler_add2l le_r // mulnC leq_mul2r.
  by rewrite leq_pred orbT.
- by case: ifP => _ //; case: ifP => _; rewrite ?addr_ge0 // ler_add2l le_r // leq_pred.
by rewrite ler_paddl.
Qed.

Section Exponential.
Context {R : realType} {H : choiceType}.
Variables (D : nat) (eps1 r : R) (q q' T : H -> int) (kappa : int).
Hypotheses (D_gt0 : (0 < D)%N) (eps1_gt0 : 0 < eps1) (r_gt0 : 0 < r).
Implicit Types (l : seq (H * option int)).

Local Notation likely q :=
  (likelihood (geometric (eps1 / D%:R)) (fun h => gap_answer (geometric (r / D%:R)) (q h) (T h) kappa)).

Lemma exponential_gap_by l (s : int) (i j : nat) :
  0 <= s <= (i * D)%:Z -> {in l, forall y, q' y.1 - q y.1 <= s} -> all_steps q q' s l <= (j * D)%:Z ->
  likely q l <= expR (i%:R * eps1 + j%:R * r) * likely q' l.
Proof.
move=> /andP[s0 s_le] le all_le.
have e0 : 0 < eps1 / D%:R by rewrite divr_gt0 ?ltr0n.
have a0 : 0 < r / D%:R by rewrite divr_gt0 ?ltr0n.
apply: le_trans (geometric_gap_aligned T kappa e0 a0 s0 le) _; rewrite ler_wpmul2r ?ge0_psum //.
by rewrite ler_expR; apply: ler_add; apply: steps_cost.
Qed.

Lemma exponential_gap_likelihood u l : (forall h, moves u D (q' h - q h)) ->
  likely q l <=
  expR (exponential_gap_loss u eps1 r (negatives l) (positives l)) * likely q' l.
Proof.
move=> mv; have lo h : - D%:Z <= q' h - q h by have [] := moves_bound (mv h).
have hi h : q' h - q h <= D%:Z by have [] := moves_bound (mv h).
(* rho is matched with rho + s: if no answer moves by more than s, or less than s - w D, ... *)
have all_by (s : int) (i w : nat) : 0 <= s <= (i * D)%:Z ->
    {in l, forall y, s - (w * D)%:Z <= q' y.1 - q y.1 <= s} ->
    likely q l <= expR (i%:R * eps1 + (positives l * w)%:R * r) * likely q' l.
  move=> s_le le; apply: exponential_gap_by s_le _ _ => [y /le/andP[]//|].
  rewrite -[(_ * w)%N]addn0 -(muln0 (negatives l)); apply: all_steps_le => y /le/andP[lo_y hi_y].
  case: y.2 => [g|] /=.
    by rewrite ger0_norm ?subr_ge0 // ler_subl_addr -ler_subl_addl.
  by rewrite mul0n max_l // subr_le0.
(* ... and without BELOWs, with the answer that moves up most, which is then free. *)
have top_by y (w : nat) : negatives l = 0%N -> y \in l -> 0 <= q' y.1 - q y.1 ->
    {in l, forall z, q' y.1 - q y.1 - (w * D)%:Z <= q' z.1 - q z.1 <= q' y.1 - q y.1} ->
    likely q l <= expR (1%:R * eps1 + ((positives l).-1 * w)%:R * r) * likely q' l.
  move=> none yl y0 le; apply: (@exponential_gap_by _ (q' y.1 - q y.1)).
  - by rewrite y0 mul1n hi.
  - by move=> z /le /andP[].
  have y_some : isSome y.2 by exact: none_negative none yl.
  rewrite (all_steps_rem _ _ _ yl) (positives_rem yl y_some) /=.
  rewrite -[(_ * w)%N]addn0 -(muln0 (negatives (rem y l))).
  have -> : gap_steps (q' y.1 - q y.1) (q' y.1 - q y.1) y.2 = 0.
    by case: y.2 => [g|] /=; rewrite subrr ?normr0 ?maxxx.
  rewrite add0r; apply: all_steps_le => z /mem_rem /le /andP[lo_z hi_z]; case: z.2 => [g|] /=.
    by rewrite ger0_norm ?subr_ge0 // ler_subl_addr -ler_subl_addl.
  by rewrite mul0n max_l // subr_le0.
have weaken (x y : R) : x <= y -> likely q l <= expR x * likely q' l ->
    likely q l <= expR y * likely q' l.
  by move=> xy le; apply: le_trans le _; rewrite ler_wpmul2r ?ge0_psum // ler_expR.
have empty (x : R) : 0 <= x -> negatives l = 0%N -> positives l = 0%N ->
    likely q l <= expR x * likely q' l.
  move=> x0 none none'; apply: (weaken (0%:R * eps1 + (positives l * 0)%:R * r)).
    by rewrite muln0 !mul0r addr0.
  apply: (all_by 0) => // y; have : size l = 0%N by rewrite -positives_negatives none none'.
  by move/size0nil->.
case: u mv => mv /=; last first.
- apply: (weaken (0%:R * eps1 + (positives l * 1)%:R * r)); first by rewrite mul0r add0r muln1.
  by apply: (all_by 0) => // y _; rewrite sub0r mul1n lo /=; case/andP: (mv y.1).
- case: ltnP => [_|]; last rewrite leqn0 => /eqP none.
    apply: (weaken (1%:R * eps1 + (positives l * 1)%:R * r)); first by rewrite mul1r muln1.
    by apply: (all_by D) => [|y _]; rewrite mul1n ?lexx ?andbT // subrr hi andbT; case/andP: (mv y.1).
  case: ltnP => [some|]; last by rewrite leqn0 => /eqP; apply: empty.
  have [|y yl top] := @exists_highest _ (fun y => q' y.1 - q y.1) l; first by rewrite -positives_negatives none addn0.
  apply: (weaken (1%:R * eps1 + ((positives l).-1 * 1)%:R * r)); first by rewrite mul1r muln1.
  have /andP[y0 _] := mv y.1; apply: (top_by y) => // z zl; rewrite top // andbT mul1n.
  by have /andP[z0 _] := mv z.1; rewrite (le_trans _ z0) // subr_le0 hi.
case: ltnP => [_|]; last rewrite leqn0 => /eqP none.
  apply: (weaken (1%:R * eps1 + (positives l * 2)%:R * r)); first by rewrite mul1r mulnC.
  apply: (all_by D) => [|y _]; rewrite ?mul1n ?lexx ?andbT // hi andbT mul2n -addnn PoszD.
  by rewrite opprD addrA subrr sub0r.
case: ltnP => [some|]; last by rewrite leqn0 => /eqP; apply: empty.
have [|y yl top] := @exists_highest _ (fun y => q' y.1 - q y.1) l; first by rewrite -positives_negatives none addn0.
have [y0|y0] := leP 0 (q' y.1 - q y.1).
  apply: (weaken (1%:R * eps1 + ((positives l).-1 * 2)%:R * r)).
    by rewrite le_maxr mul1r mulnC lexx orbT.
  apply: (top_by y) => // z zl; rewrite top // andbT; apply: le_trans (lo z.1).
  by rewrite mul2n -addnn PoszD opprD addrA ler_sub_addr addNr subr_le0 hi.
apply: (weaken (0%:R * eps1 + (positives l * 1)%:R * r)).
  by rewrite mul0r add0r muln1 le_maxr lexx.
by apply: (all_by 0) => // z zl; rewrite sub0r mul1n lo /= (le_trans (top z zl)) // ltW.
Qed.

End Exponential.

Section Gate.
Context {R : realType}.
Variables (c Delta : nat) (eps1 : R) (T : seq (option int) -> int) (kappa : int) (n : nat).
Implicit Types (q : seq (option int) -> int) (r : R) (t : seq (option int)).

Definition exponential_gap_gate r q : {distr (seq (option int)) / R} :=
  gate (geometric (eps1 / Delta%:R)) (closed_after isSome c)
    (fun h => gap_answer (geometric (r / Delta%:R)) (q h) (T h) kappa) n.

Hypotheses (Delta_gt0 : (0 < Delta)%N) (eps1_gt0 : 0 < eps1).

Theorem exponential_gap_gate_sums_to_one r q : 0 < r -> psum (exponential_gap_gate r q) = 1.
Proof.
move=> r0; have D0 : 0 < Delta%:R :> R by rewrite ltr0n.
apply: gate_sums_to_one; first by apply: geometric_sums_to_one; apply: divr_gt0.
by move=> h rho; apply: gap_answer_sums_to_one; apply: geometric_sums_to_one; apply: divr_gt0.
Qed.

Theorem exponential_gap_transcript u r q q' t : 0 < r -> (forall h, moves u Delta (q' h - q h)) ->
  exponential_gap_gate r q t <=
  expR (exponential_gap_loss u eps1 r (count (predC isSome) t) (count isSome t)) *
  exponential_gap_gate r q' t.
Proof.
move=> r0 mv; apply: gate_by_likelihood => _.
have := exponential_gap_likelihood T kappa Delta_gt0 eps1_gt0 r0 (contexts [::] t) mv.
by rewrite /negatives /positives contexts_answers.
Qed.

(** The scales of the code: Delta/eps1 and s c Delta/eps2. *)
Theorem exponential_gap_is_free monotonic (eps2 : R) q q' :
  0 < eps2 -> (0 < c)%N -> neighbours monotonic Delta q q' ->
  let r := eps2 / (sides monotonic * c)%:R in
  within (eps1 + eps2) (exponential_gap_gate r q) (exponential_gap_gate r q').
Proof.
move=> eps2_gt0 c0 near_q r; apply: (private_by_positives eps2_gt0 c0 near_q) => u t mv.
have r0 : 0 < r by rewrite divr_gt0 // ltr0n muln_gt0 c0; case: (monotonic).
apply: le_trans (exponential_gap_transcript t r0 mv) _.
by rewrite ler_wpmul2r // ler_expR; apply: exponential_gap_loss_le; apply: ltW.
Qed.

End Gate.
