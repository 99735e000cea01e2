(** * Top-c when the items that exist are themselves private

    The mechanism of tables/observed.py, on a table [h] (candidates.v) by the race with a bottom
    (race.v), with public dbar, c, rate e, margin t, and Delta, the most one person raises a score:

    - [bottom Delta t dbar h] = h_(dbar+1) + Delta (1 + t), the score of the bottom.
    - [peeled e Delta t dbar c h]: peel the [candidates h dbar] and the bottom with weights
      e^(e score / Delta) until the bottom, or c candidates, were drawn. (The code draws c times in any
      case and drops what comes after the bottom: the same law.)
    - [observed e Delta t dbar c h]: the labels drawn, in their order, without dummies.

    Exported, for neighbours h, h' that differ by one person who raises at most m scores, and both ways:
    - [observed_sums_to_one].
    - [sides_hardly_appear]: candidates that are not common to h and h' are drawn with probability at most
      min(m, dbar) e^(-e t).
    - [observed_domain_is_private]: with e = eps / c and t >= ln(min(m, dbar) / delta) / e the labels are
      (eps, delta)-private: the accounting "pure" of the code. *)

From mathcomp Require Import finmap.
From Sparsegate Require Import prelude privacy programs approximate exponential_mechanism race candidates.
Local Open Scope fset_scope.
Local Open Scope ring_scope.

Section Rounds.
Context {R : realType} {I : choiceType}.
Implicit Types (a B k : R) (q : I -> R) (A : {fset I}) (w : I -> R).

(** A round moves by what the weight drawn, and the sum of the weights, move. *)
Lemma round_le a q q' B B' A A' k1 k2 o :
  (forall i, a * q i <= k1 + a * q' i) -> a * B <= k1 + a * B' ->
  round_total a q' B' A' <= expR k2 * round_total a q B A ->
  (if o is Some i then (i \in A) = (i \in A') else True) ->
  race_round a q B A o <= expR (k1 + k2) * race_round a q' B' A' o.
Proof.
move=> le_q le_B le_W both.
have step x x' : x <= k1 + x' ->
    expR x / round_total a q B A <= expR (k1 + k2) * (expR x' / round_total a q' B' A').
  move=> le_x; rewrite mulrA ler_pdivl_mulr ?round_total_gt0 // mulrAC ler_pdivr_mulr ?round_total_gt0 //.
  rewrite [expR (k1 + k2)]expRD -[leRHS]mulrA mulrACA -expRD; apply: ler_pmul => //; rewrite ?expR_ge0 ?ler_expR //.
  exact: ltW (round_total_gt0 _ _ _ _).
case: o both => [i both|_]; last by rewrite !round_bottom; apply: step.
by rewrite !round_candidate -both; case: ifP => // _; [apply: step | rewrite mulr0].
Qed.

Lemma perm_common A A' : perm_eq [seq i <- A | i \in A'] [seq i <- A' | i \in A].
Proof. by apply: uniq_perm; rewrite ?filter_uniq ?fset_uniq // => i; rewrite !mem_filter andbC. Qed.

(** Of two sets of equal size, the one that holds the larger weights has the larger sum. *)
Lemma sum_top A A' w theta : #|` A| = #|` A'| ->
  (forall i, i \in A -> i \notin A' -> theta <= w i) ->
  (forall j, j \in A' -> j \notin A -> w j <= theta) ->
  \sum_(j <- A') w j <= \sum_(i <- A) w i.
Proof.
move=> size_eq high low; rewrite (bigID (mem A)) [leRHS](bigID (mem A')) /=.
rewrite -[X in X + _]big_filter (perm_big _ (perm_common A' A)) big_filter ler_add2l.
have sides : count (predC (mem A')) A = count (predC (mem A)) A'.
  apply/eqP; rewrite -(eqn_add2l (count (mem A') A)) count_predC.
  have -> : count (mem A') A = count (mem A) A' by rewrite -!size_filter (perm_size (perm_common A A')).
  by rewrite count_predC size_eq.
have const (X Y : {fset I}) : \sum_(i <- X | i \notin Y) theta = theta *+ count (predC (mem Y)) X.
  by rewrite big_const_seq iter_addr addr0.
apply: (@le_trans _ _ (\sum_(j <- A' | j \notin A) theta)).
  by rewrite big_seq_cond [leRHS]big_seq_cond; apply: ler_sum => j /andP[]; exact: low.
rewrite const -sides -const.
by rewrite big_seq_cond [leRHS]big_seq_cond; apply: ler_sum => j /andP[]; exact: high.
Qed.

Lemma count_sides A A' (p : pred I) : (forall i, i \in A -> p i -> i \notin A') ->
  (count p A <= #|` A `\` A'|)%N.
Proof.
move=> out; rewrite -size_filter; apply: uniq_leq_size; first by rewrite filter_uniq ?fset_uniq.
by move=> i; rewrite mem_filter inE => /andP[pi iA]; rewrite iA andbT; exact: out.
Qed.

End Rounds.

Section Observed.
Context {R : realType} {d : unit} {T : orderType d}.
Implicit Types (h : @table d T) (e eps delta : R) (Delta margin dbar m c : nat).

Definition bottom Delta margin dbar h := (following h dbar + Delta * (1 + margin))%N.

Definition peeled e Delta margin dbar c h : {distr (seq (option (@item d T))) / R} :=
  race (e / Delta%:R) (fun i => (score h i)%:R) (bottom Delta margin dbar h)%:R (candidates h dbar) c.

Definition released (t : seq (option (@item d T))) : seq T :=
  pmap (fun o => if o is Some (inl x) then Some x else None) t.

Definition observed e Delta margin dbar c h : {distr (seq T) / R} :=
  \dlet_(t <- peeled e Delta margin dbar c h) dunit (released t).

Theorem observed_sums_to_one e Delta margin dbar c h : psum (observed e Delta margin dbar c h) = 1.
Proof.
rewrite -pr_predT pr_after -[RHS](race_sums_to_one (e / Delta%:R) (fun i => (score h i)%:R)
  (bottom Delta margin dbar h)%:R (candidates h dbar) c).
by apply: eq_psum => t; rewrite pr_dunit mulr1.
Qed.

Section Neighbours.
Variables (e : R) (Delta margin m dbar c : nat) (h h' : @table d T).
Hypotheses (Delta_gt0 : (0 < Delta)%N) (e_ge0 : 0 <= e) (near : table_neighbours Delta m h h').

Let a : R := e / Delta%:R.
Let f := following h dbar.
Let f' := following h' dbar.
Let q i : R := (score h i)%:R.
Let q' i : R := (score h' i)%:R.
Let B : R := (bottom Delta margin dbar h)%:R.
Let B' : R := (bottom Delta margin dbar h')%:R.

Definition common i := (i \in candidates h dbar) && (i \in candidates h' dbar).

Lemma rate_ge0 : 0 <= a.
Proof. by rewrite divr_ge0 ?ler0n. Qed.

Lemma rate_step (x y : nat) : (x <= y + Delta)%N -> a * x%:R <= e + a * y%:R.
Proof.
move=> le; apply: (@le_trans _ _ (a * (y + Delta)%:R)); first by rewrite ler_wpmul2l ?rate_ge0 ?ler_nat.
by rewrite natrD mulrDr /a mulfVK ?pnatr_eq0 -?lt0n // addrC.
Qed.

Lemma rate_mono (x y : nat) : (x <= y)%N -> a * x%:R <= a * y%:R.
Proof. by move=> le; rewrite ler_wpmul2l ?rate_ge0 ?ler_nat. Qed.

Lemma bottom_moves :
  (bottom Delta margin dbar h <= bottom Delta margin dbar h' <= bottom Delta margin dbar h + Delta)%N.
Proof.
have /andP[le ge] := following_moves dbar near.
by rewrite /bottom leq_add2r le addnAC leq_add2r.
Qed.

(** What holds as long as only common candidates are drawn. *)
Definition matched (A A' : {fset @item d T}) :=
  [/\ #|` A| = #|` A'|, forall i, common i -> (i \in A) = (i \in A'),
      A `<=` candidates h dbar & A' `<=` candidates h' dbar].

Lemma matched_drop A A' i : matched A A' -> common i -> i \in A -> matched (A `\ i) (A' `\ i).
Proof.
move=> [sizes both subA subA'] ci iA; have iA' : i \in A' by rewrite -both.
split.
- by move: sizes; rewrite (cardfsD1 i A) (cardfsD1 i A') iA iA' => /addnI.
- by move=> j cj; rewrite !inE both.
- exact: fsubset_trans (fsubD1set _ _) subA.
- exact: fsubset_trans (fsubD1set _ _) subA'.
Qed.

Lemma only_here A A' i : matched A A' -> i \in A -> i \notin A' ->
  (i \in candidates h dbar) && (i \notin candidates h' dbar).
Proof.
move=> [_ both subA _] iA; rewrite (fsubsetP subA i iA) /=; apply: contra => iC'.
by rewrite -both // /common iC' (fsubsetP subA i iA).
Qed.

Lemma only_there A A' j : matched A A' -> j \in A' -> j \notin A ->
  (j \in candidates h' dbar) && (j \notin candidates h dbar).
Proof.
move=> [_ both _ subA'] jA'; rewrite (fsubsetP subA' j jA') /=; apply: contra => jC.
by rewrite both // /common jC (fsubsetP subA' j jA').
Qed.

(** The candidates that are left are the largest of the items that are left, on each side. *)
Lemma sum_here A A' : matched A A' -> \sum_(i <- A') expR (a * q i) <= \sum_(i <- A) expR (a * q i).
Proof.
move=> inv; case: (inv) => sizes _ _ _; apply: (sum_top (theta := expR (a * f%:R)) sizes) => i i1 i2.
  by have /andP[iC _] := only_here inv i1 i2; rewrite ler_expR rate_mono // candidate_score.
by have /andP[_ iC] := only_there inv i1 i2; rewrite ler_expR rate_mono // outside_score.
Qed.

Lemma sum_there A A' : matched A A' -> \sum_(i <- A) expR (a * q' i) <= \sum_(i <- A') expR (a * q' i).
Proof.
move=> inv; case: (inv) => sizes _ _ _.
apply: (sum_top (theta := expR (a * f'%:R)) (esym sizes)) => i i1 i2.
  by have /andP[iC _] := only_there inv i1 i2; rewrite ler_expR rate_mono // candidate_score.
by have /andP[_ iC] := only_here inv i1 i2; rewrite ler_expR rate_mono // outside_score.
Qed.

Lemma round_here A A' : matched A A' -> forall o, oapp common true o ->
  race_round a q B A o <= expR e * race_round a q' B' A' o.
Proof.
move=> inv o both; rewrite -[e]add0r; apply: round_le.
- by move=> i; rewrite add0r rate_mono //; case/andP: (score_rises near i).
- by rewrite add0r rate_mono //; case/andP: bottom_moves.
- rewrite /round_total mulrDr ler_add //; first by rewrite -expRD ler_expR rate_step //; case/andP: bottom_moves.
  apply: le_trans (ler_wpmul2l (expR_ge0 e) (sum_here inv)); rewrite mulr_sumr.
  by apply: ler_sum => i _; rewrite -expRD ler_expR rate_step //; case/andP: (score_rises near i).
- by case: o both => [i /= ci|//]; case: inv => _ /(_ i ci).
Qed.

Lemma round_there A A' : matched A A' -> forall o, oapp common true o ->
  race_round a q' B' A' o <= expR e * race_round a q B A o.
Proof.
move=> inv o both; rewrite -[e]addr0; apply: round_le.
- by move=> i; rewrite rate_step //; case/andP: (score_rises near i).
- by rewrite rate_step //; case/andP: bottom_moves.
- rewrite expR0 mul1r /round_total ler_add //; first by rewrite ler_expR rate_mono //; case/andP: bottom_moves.
  apply: le_trans (sum_there inv).
  by apply: ler_sum => i _; rewrite ler_expR rate_mono //; case/andP: (score_rises near i).
- by case: o both => [i /= ci|//]; case: inv => _ /(_ i ci).
Qed.

Lemma matched_start : matched (candidates h dbar) (candidates h' dbar).
Proof.
split; rewrite ?card_candidates ?fsubset_refl // => i /andP[-> ->] //.
Qed.

Theorem sides_hardly_appear :
  \P_[peeled e Delta margin dbar c h] (has (oapp (predC common) false)) <=
    (minn m dbar)%:R * expR (- (e * margin%:R)) /\
  \P_[peeled e Delta margin dbar c h'] (has (oapp (predC common) false)) <=
    (minn m dbar)%:R * expR (- (e * margin%:R)).
Proof.
have exponent g : a * ((g + Delta)%:R - (g + Delta * (1 + margin))%:R) = - (e * margin%:R).
  rewrite mulnDr muln1 addnA [X in _ - X]natrD opprD addrA subrr add0r mulrN natrM mulrA.
  by rewrite /a mulfVK ?pnatr_eq0 -?lt0n.
have [few few'] := sides_are_few dbar near.
have low i : i \in candidates h dbar -> predC common i -> i \notin candidates h' dbar.
  by move=> iC; rewrite /= /common iC.
have low' i : i \in candidates h' dbar -> predC common i -> i \notin candidates h dbar.
  by move=> iC'; rewrite /= /common iC' andbT.
split; [rewrite -(exponent f) | rewrite -(exponent f')].
  apply: le_trans (race_before_bottom (s := (f + Delta)%:R) _ _ rate_ge0 _) _ => [i iC bad|].
    by rewrite ler_nat; have [+ _] := sides_are_low dbar near i; apply; rewrite inE iC low.
  by rewrite ler_wpmul2r ?expR_ge0 // ler_nat; apply: leq_trans few; apply: count_sides.
apply: le_trans (race_before_bottom (s := (f' + Delta)%:R) _ _ rate_ge0 _) _ => [i iC' bad|].
  by rewrite ler_nat; have [_ +] := sides_are_low dbar near i; apply; rewrite inE iC' low'.
by rewrite ler_wpmul2r ?expR_ge0 // ler_nat; apply: leq_trans few'; apply: count_sides.
Qed.

Lemma peeled_is_private delta : (minn m dbar)%:R * expR (- (e * margin%:R)) <= delta ->
  within_delta (c%:R * e) delta (peeled e Delta margin dbar c h) (peeled e Delta margin dbar c h') /\
  within_delta (c%:R * e) delta (peeled e Delta margin dbar c h') (peeled e Delta margin dbar c h).
Proof.
have [rare rare'] := sides_hardly_appear => small.
have not_all : predC (all (oapp common true)) =i has (oapp (predC common) false).
  by move=> t; rewrite !unfold_in /= -has_predC; apply: eq_has => -[].
split; apply: (within_delta_except (G := all (oapp common true))); rewrite 1?(eq_pr _ not_all).
- by move=> t; apply: race_ratio round_here matched_drop e_ge0 _ _ _ matched_start.
- exact: le_trans rare small.
- pose flipped A' A := matched A A'.
  have keep A' A i : flipped A' A -> common i -> i \in A' -> flipped (A' `\ i) (A `\ i).
    by move=> inv ci iA'; apply: matched_drop => //; case: inv => _ ->.
  have there A' A : flipped A' A -> forall o, oapp common true o ->
      race_round a q' B' A' o <= expR e * race_round a q B A o by exact: round_there.
  by move=> t; apply: race_ratio there keep e_ge0 _ _ _ matched_start.
- exact: le_trans rare' small.
Qed.

End Neighbours.

(** The margin of the code, from its ln: what the sides may weigh. *)
Lemma margin_bound e delta (k margin : nat) : 0 < e -> 0 < delta ->
  ln (k%:R / delta) / e <= margin%:R -> k%:R * expR (- (e * margin%:R)) <= delta.
Proof.
move=> e0 d0; case: k => [_|k]; first by rewrite mul0r ltW.
have k0 : (0 : R) < k.+1%:R by rewrite ltr0n.
rewrite ler_pdivr_mulr // => le; rewrite expRN ler_pdivr_mulr ?expR_gt0 // [delta * _]mulrC.
by rewrite -ler_pdivr_mulr // -[leLHS]lnK ?posrE ?divr_gt0 // ler_expR [e * _]mulrC.
Qed.

Theorem observed_domain_is_private eps delta Delta margin m dbar c h h' :
  0 < eps -> 0 < delta -> (0 < c)%N -> (0 < Delta)%N -> table_neighbours Delta m h h' ->
  ln ((minn m dbar)%:R / delta) / (eps / c%:R) <= margin%:R ->
  within_delta eps delta (observed (eps / c%:R) Delta margin dbar c h)
                         (observed (eps / c%:R) Delta margin dbar c h') /\
  within_delta eps delta (observed (eps / c%:R) Delta margin dbar c h')
                         (observed (eps / c%:R) Delta margin dbar c h).
Proof.
move=> eps0 delta0 c0 D0 near margin_le.
have e0 : 0 < eps / c%:R by rewrite divr_gt0 ?ltr0n.
have eps_eq : c%:R * (eps / c%:R) = eps by rewrite mulrC mulfVK ?pnatr_eq0 -?lt0n.
have [one two] := peeled_is_private c D0 (ltW e0) near (margin_bound e0 delta0 margin_le).
by rewrite eps_eq in one two; split; apply: within_delta_post.
Qed.

End Observed.
