(** * The gate that draws rho anew

    As the gate of [gate.v], but after an answer that [redraws] says, rho is drawn anew
    ([redrawn_run], [redrawn_gate]).

    [redrawn_alignment]: the i-th rho on D is matched with rho + s i on D', which costs c1 i but for a
    rho that no question is asked with; the costs of the answers add to that ([redrawn_cost]). Every rho may
    have a shift of its own, and which is best may depend on the transcript.

    Alg. 2 of the paper (Dwork, Roth 2014), [dwork_roth_gate]: every rho ~ Lap(c Delta/eps1), drawn
    anew after each ABOVE, nu ~ Lap(2 c Delta/eps2), closed after c ABOVE.

    - [dwork_roth_gate_is_private]: (eps1+eps2)-DP, any number of adaptively chosen questions;
    - [dwork_roth_gate_monotonic]: (eps1 + eps2/2)-DP where all answers move one way, so 3/4 eps where
      the shares are halves of eps;
    - [dwork_roth_gate_sums_to_one]: it is a whole law. *)

From Sparsegate Require Import prelude privacy sums laplace gate laplace_gate standard_gate.
Local Open Scope ring_scope.

Section Redrawn.
Context {R : realType} {A : choiceType}.
Variables (mu : {distr int / R}) (closed : seq A -> bool) (redraws : pred A).
Implicit Types (step f g : seq A -> int -> {distr A / R}) (h t : seq A) (n : nat) (rho : int).

Fixpoint redrawn_run step n h rho : {distr (seq A) / R} :=
  if n is n'.+1 then
    if closed h then dunit h else
      \dlet_(a <- step h rho)
        if redraws a then \dlet_(rho' <- mu) redrawn_run step n' (rcons h a) rho'
        else redrawn_run step n' (rcons h a) rho
  else dunit h.

Definition redrawn_gate step n := \dlet_(rho <- mu) redrawn_run step n [::] rho.

Lemma redrawn_sums_to_one step n :
  psum mu = 1 -> (forall h rho, psum (step h rho) = 1) -> psum (redrawn_gate step n) = 1.
Proof.
move=> mu1 step1; apply: dlet_sums_to_one => // rho.
elim: n [::] rho => [|n IH] h rho /=; first exact: dunit_sums_to_one.
case: ifP => _; [exact: dunit_sums_to_one | apply: dlet_sums_to_one => // a].
by case: ifP => _ //; apply: dlet_sums_to_one.
Qed.

(** What has a chance extends the history. *)
Lemma redrawn_extends step n h rho x : redrawn_run step n h rho x != 0 -> prefix h x.
Proof.
have stop h' : dunit h' x != 0 :> R -> prefix h' x.
  by rewrite dunit1E pnatr_eq0 eqb0 negbK => /eqP ->; apply: prefix_refl.
elim: n h rho => [|n IH] h rho /=; first exact: stop.
case: (closed h); first exact: stop.
rewrite dletE => /eqP/neq0_psum[a /eqP]; rewrite mulf_eq0 negb_or => /andP[_].
move=> ne; apply: (prefix_trans (prefix_rcons h a)); case: (redraws a) ne => [|/IH //].
by rewrite dletE => /eqP/neq0_psum[rho' /eqP]; rewrite mulf_eq0 negb_or => /andP[_ /IH].
Qed.

Lemma shifted_dlet (F G : int -> {distr (seq A) / R}) (s : int) (c1 k : R) x :
  (forall rho, mu rho <= expR c1 * mu (rho + s)) ->
  (forall rho, F rho x <= expR k * G (rho + s) x) ->
  (\dlet_(rho <- mu) F rho) x <= expR (c1 + k) * (\dlet_(rho <- mu) G rho) x.
Proof.
move=> mu_s FG; rewrite !dletE; apply: (@psum_le_shift _ _ _ s).
- exact: ltW (expR_gt0 _).
- by move=> rho; apply: mulr_ge0.
- by move=> rho; rewrite expRD mulrACA; apply: ler_pmul.
- exact: summable_mlet.
Qed.

(** The number of the rho that a question after [h] is asked with: 0, 1, 2, ... *)
Definition round h := count redraws h.

(** A redrawn rho is matched afresh; after the last positive it is not used. *)
Definition redrawn_cost (c1 : nat -> R) (w : seq A -> A -> R) h a : R :=
  w h a + (if redraws a && ~~ closed (rcons h a) then c1 (round (rcons h a)) else 0).

Lemma redrawn_run_le f g n (s : nat -> int) (c1 : nat -> R) (w : seq A -> A -> R) h t rho :
  (forall i rho, mu rho <= expR (c1 i) * mu (rho + s i)) ->
  (forall h rho a, f h rho a <= expR (w h a) * g h (rho + s (round h)) a) ->
  complete closed n h t ->
  redrawn_run f n h rho (h ++ t) <=
  expR (cost (redrawn_cost c1 w) h t) * redrawn_run g n h (rho + s (round h)) (h ++ t).
Proof.
move=> mu_s fg; elim: n h t rho => [|n IH] h [|a t] rho //=.
- by move=> _; rewrite expR0 mul1r.
- by move=> ->; rewrite expR0 mul1r.
case/andP=> /negbTE -> done; rewrite !dletE.
apply: le_psum_scaled (summable_mlet _ _ _); first exact: ltW (expR_gt0 _).
  by move=> b; apply: mulr_ge0.
move=> b; have [->|b_ne] := eqVneq b a; last first.
  have none k rho' : redrawn_run f k (rcons h b) rho' (h ++ a :: t) = 0.
    apply/eqP; apply: contraT => /redrawn_extends.
    by rewrite -cats1 prefix_catr // eqxx /= (negbTE b_ne).
  have -> : (if redraws b then \dlet_(rho' <- mu) redrawn_run f n (rcons h b) rho'
      else redrawn_run f n (rcons h b) rho) (h ++ a :: t) = 0.
    by case: ifP => _ //; rewrite dletE psum_eq0 // => rho'; rewrite none mulr0.
  by rewrite mulr0 !mulr_ge0 // ltW ?expR_gt0.
rewrite /redrawn_cost -addrA expRD mulrACA; apply: ler_pmul => //.
rewrite -cat_rcons; case redraws_a: (redraws a) => /=; last first.
  have -> : round h = round (rcons h a) by rewrite /round -cats1 count_cat /= redraws_a !addn0.
  by rewrite add0r; apply: IH.
case closed_a: (closed (rcons h a)) => /=.
- have t0 : t = [::] by case: (t) (n) done => [|b' t'] [|n'] //=; rewrite closed_a.
  have same k u rho' : redrawn_run u k (rcons h a) rho' = dunit (rcons h a).
    by case: k => //= k; rewrite closed_a.
  by rewrite t0 /= addr0 expR0 mul1r !dletE; under eq_psum do rewrite same;
    under [leRHS]eq_psum do rewrite same.
- by apply: shifted_dlet => // rho'; apply: IH.
Qed.

Lemma redrawn_incomplete step n h rho t :
  ~~ complete closed n h t -> redrawn_run step n h rho (h ++ t) = 0.
Proof.
have stop h' a t' : dunit h' (h' ++ a :: t') = 0 :> R.
  by rewrite dunit1E -{1}[h']cats0 eqseq_cat // eqxx.
elim: n h t rho => [|n IH] h t rho; first by case: t => //= a t _; apply: stop.
case closed_h: (closed h) t => [] [|a t] /=; rewrite closed_h //=.
- move=> _; rewrite dletE psum_eq0 // => b; apply/eqP; rewrite mulf_eq0; apply/orP; right.
  rewrite cats0; apply: contraT => ne; have : prefix (rcons h b) h.
    case: (redraws b) ne => [|/redrawn_extends //].
    by rewrite dletE => /eqP/neq0_psum[rho' /eqP]; rewrite mulf_eq0 negb_or => /andP[_ /redrawn_extends].
  by move/size_prefix; rewrite size_rcons ltnn.
- move=> open; rewrite dletE psum_eq0 // => b; apply/eqP; rewrite mulf_eq0; apply/orP; right.
  have none rho' : redrawn_run step n (rcons h b) rho' (h ++ a :: t) = 0.
    have [->|b_ne] := eqVneq b a; first by rewrite -cat_rcons; apply: IH.
    apply/eqP; apply: contraT => /redrawn_extends.
    by rewrite -cats1 prefix_catr // eqxx /= (negbTE b_ne).
  by case: ifP => _; rewrite ?none // dletE psum_eq0 // => rho'; rewrite none mulr0.
Qed.

Lemma costD (w1 w2 : seq A -> A -> R) h t :
  cost (fun h a => w1 h a + w2 h a) h t = cost w1 h t + cost w2 h t.
Proof. by elim: t h => [|a t IH] h /=; rewrite ?addr0 // IH addrACA. Qed.

Theorem redrawn_alignment f g n (s : nat -> int) (c1 : nat -> R) (w : seq A -> A -> R) t :
  (forall i rho, mu rho <= expR (c1 i) * mu (rho + s i)) ->
  (forall h rho a, f h rho a <= expR (w h a) * g h (rho + s (round h)) a) ->
  redrawn_gate f n t <= expR (c1 0%N + cost (redrawn_cost c1 w) [::] t) * redrawn_gate g n t.
Proof.
move=> mu_s fg; apply: (shifted_dlet (mu_s 0%N)) => rho.
case done: (complete closed n [::] t); first exact: (@redrawn_run_le f g n s c1 w [::] t rho).
by rewrite (@redrawn_incomplete f n [::] rho t) ?done // mulr_ge0 // ltW ?expR_gt0.
Qed.

End Redrawn.

Section DworkRoth.
Context {R : realType}.
Variables (c Delta : nat) (eps1 eps2 : R) (T : seq bool -> int) (n : nat).
Hypotheses (c0 : (0 < c)%N) (Delta0 : (0 < Delta)%N) (eps10 : 0 < eps1) (eps20 : 0 < eps2).
Implicit Types (q : seq bool -> int) (h t : seq bool).

Local Notation e1 := (eps1 / c%:R).
Local Notation r := (eps2 / (2 * c)%:R).

(** Every rho of scale c Delta/eps1, nu of scale 2 c Delta/eps2, closed after c ABOVE. *)
Definition dwork_roth_gate q : {distr (seq bool) / R} :=
  redrawn_gate (laplace (e1 / Delta%:R)) (closed_after id c) id
    (fun h => compare (r / Delta%:R) (q h) (T h)) n.

Let e1_gt0 : 0 < e1. Proof. by rewrite divr_gt0 ?ltr0n. Qed.
Let r_gt0 : 0 < r. Proof. by rewrite divr_gt0 ?ltr0n // muln_gt0 c0. Qed.
Let rate_gt0 (e : R) : 0 < e -> 0 < e / Delta%:R. Proof. by move=> e0; rewrite divr_gt0 ?ltr0n. Qed.

Theorem dwork_roth_gate_sums_to_one q : psum (dwork_roth_gate q) = 1.
Proof.
apply: redrawn_sums_to_one => [|h rho]; first exact/laplace_sums_to_one/rate_gt0.
exact/compare_sums_to_one/rate_gt0.
Qed.

(** After the first, at most c - 1 more rho are used. *)
Lemma redraws_cost (c1 : R) h t : 0 <= c1 ->
  cost (fun h a => if a && ~~ closed_after id c (rcons h a) then c1 else 0) h t <=
  (c.-1 - count id h)%:R * c1.
Proof.
move=> c10; elim: t h => [|a t IH] h /=; first by rewrite mulr_ge0 ?ler0n.
apply: le_trans (ler_add (lexx _) (IH _)) _.
rewrite /closed_after -cats1 count_cat /= addn0; case: a => /=; last by rewrite add0r addn0.
case: leqP => /= hc.
- by rewrite add0r ler_wpmul2r // ler_nat leq_sub2l // leq_addr.
- rewrite -(@subnSK (count id h) c.-1); last by rewrite ltn_predRL -addn1.
  by rewrite addn1 -natr1 mulrDl mul1r addrC.
Qed.

Lemma dwork_roth_aligned q q' (e u : nat) : shift Delta q q' e u 0 ->
  within (e%:R * eps1 + u%:R * (eps2 / 2)) (dwork_roth_gate q) (dwork_roth_gate q').
Proof.
move=> [s [s_le up down]] t.
case done: (complete (closed_after id c) n [::] t); last first.
  rewrite {1}/dwork_roth_gate /redrawn_gate dletE psum_eq0 => [|rho].
    by rewrite mulr_ge0 // ltW ?expR_gt0.
  by rewrite (@redrawn_incomplete _ _ _ _ _ _ n [::] rho t) ?done ?mulr0.
have kc := complete_positives (isT : (count id [::] <= c)%N) done; rewrite cat0s in kc.
pose w h := answer_cost (r / Delta%:R) s (q' h - q h).
pose c1 := e1 / Delta%:R * `|s|%:~R.
pose step h := compare (r / Delta%:R) (q' h) (T h).
apply: le_trans (@redrawn_alignment _ _ _ _ _ _ step n (fun=> s) (fun=> c1) w t _ _) _.
- by move=> i rho; apply/laplace_mass_ratio/rate_gt0.
- by move=> h rho b; apply/compare_ratio/rate_gt0.
rewrite ler_wpmul2r // ler_expR.
have c1_le : c1 <= e%:R * e1 by apply: steps_cost.
have c1_ge0 : 0 <= c1 by rewrite mulr_ge0 ?ler0z ?normr_ge0 // ltW // rate_gt0.
rewrite (costD w (fun h a => if a && ~~ closed_after id c (rcons h a) then c1 else 0)) addrCA addrC.
apply: ler_add.
- apply: le_trans (ler_add (lexx c1) (redraws_cost _ _ c1_ge0)) _.
  rewrite subn0 -{1}[c1]mul1r -mulrDl addrC natr1 prednK //.
  apply: le_trans (ler_wpmul2l (ler0n _ _) c1_le) _.
  by rewrite mulrCA [c%:R * _]mulrC divfK // pnatr_eq0 -lt0n.
- apply: le_trans (cost_counts (positive := id) (u := u%:R * r) (v := 0%:R * r) _ _ _) _.
    by move=> h b; rewrite /w /answer_cost; case: b; apply: steps_cost => //;
      rewrite le_maxl; apply/andP.
  rewrite mul0r mulr0 addr0 mulrCA ler_wpmul2l ?ler0n //.
  rewrite natrM invfM [eps2 * _]mulrA mulrCA ger_pmulr ?divr_gt0 ?ltr0n //.
  by rewrite ler_pdivr_mulr ?ltr0n // mul1r ler_nat.
Qed.

Theorem dwork_roth_gate_is_private q q' :
  near Delta q q' -> within (eps1 + eps2) (dwork_roth_gate q) (dwork_roth_gate q').
Proof.
move=> qq'; have := dwork_roth_aligned (shift_up qq').
by rewrite mul1r mulrC divfK ?pnatr_eq0.
Qed.

Theorem dwork_roth_gate_monotonic q q' : near Delta q q' -> one_way q q' ->
  within (eps1 + eps2 / 2) (dwork_roth_gate q) (dwork_roth_gate q').
Proof.
move=> qq' [le|le].
- by have := dwork_roth_aligned (rising_up qq' le); rewrite !mul1r.
- apply: within_weaken (dwork_roth_aligned (falling_none qq' le)).
  by rewrite mul0r add0r mul1r ler_addr ltW.
Qed.

End DworkRoth.
