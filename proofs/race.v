(** * Peeling until the bottom is drawn

    Candidates are the finite set [A] of a type [I] that may be infinite; [q] gives every candidate its
    score, and one more, the bottom, has the score [B].

    - [race_round a q B A]: one draw of the exponential mechanism at rate [a] among [A] and the bottom:
      [Some i] is the candidate i, [None] the bottom.
    - [race a q B A n]: up to [n] rounds; what was drawn is a candidate no more, and the bottom ends it.
      The outcome is the list of the draws, in their order, the bottom included.

    Exported:
    - [race_sums_to_one].
    - [race_before_bottom]: of candidates that all score at most s, k in number, one is drawn before the
      bottom with probability at most k e^(a (s - B)).
    - [race_ratio]: for outcomes all of whose candidates are in a set G, n rounds are within e^(n k) if
      each round is within e^k wherever no candidates but some of G are gone.
    - [race_near_restricted]: without candidates that come before the bottom with probability at most
      delta, the race is within delta of what it was, in total variation. *)

From mathcomp Require Import finmap.
From Sparsegate Require Import prelude privacy sums programs approximate exponential_mechanism.
Local Open Scope fset_scope.
Local Open Scope ring_scope.

Section Prefix.
Context {R : realType} {X : choiceType}.
Implicit Types (mu : {distr X / R}) (f : X -> {distr (seq X) / R}).

(** A first draw, and what comes after it. *)
Definition prefixed mu f : {distr (seq X) / R} :=
  \dlet_(x <- mu) \dlet_(t <- f x) dunit (x :: t).

Lemma psum_one (U : choiceType) (u : U -> R) x :
  0 <= u x -> (forall y, y != x -> u y = 0) -> psum u = u x.
Proof.
by move=> u_ge0 u0; rewrite (psum_point u0) ger0_norm.
Qed.

Lemma prefixed_nil mu f : prefixed mu f [::] = 0.
Proof.
rewrite dletE; apply: psum_eq0 => x; rewrite dletE (psum_eq0 (f := fun _ => _)) ?mulr0 // => t.
by rewrite dunit1E mulr0.
Qed.

Lemma prefixed_cons mu f x t : prefixed mu f (x :: t) = mu x * f x t.
Proof.
have after y : (\dlet_(t' <- f y) dunit (y :: t')) (x :: t) = (y == x)%:R * f y t.
  rewrite dletE (psum_one (x := t)) ?mulr_ge0 // => [|t' neq]; rewrite dunit1E eqseq_cons.
    by rewrite eqxx andbT mulrC.
  by rewrite (negbTE neq) andbF mulr0.
rewrite dletE (psum_one (x := x)) ?after ?eqxx ?mul1r ?mulr_ge0 // => y /negbTE neq.
by rewrite after neq mul0r mulr0.
Qed.

Lemma pr_prefixed mu f (E : pred (seq X)) :
  \P_[prefixed mu f] E = psum (fun x => mu x * \P_[f x] (fun t => E (x :: t))).
Proof.
rewrite pr_after; apply: eq_psum => x; congr (_ * _).
by rewrite pr_after; apply: eq_psum => t; rewrite pr_dunit mulrC.
Qed.

End Prefix.

Section Race.
Context {R : realType} {I : choiceType}.
Implicit Types (a B k : R) (q : I -> R) (A : {fset I}) (n : nat) (i : I).

Definition scored q B A (o : option A) : R := if o is Some x then q (val x) else B.

Definition race_round a q B A : {distr (option I) / R} :=
  \dlet_(o <- exponential a (scored q B (A := A)) finset.setT) dunit (omap val o).

Fixpoint race a q B A n : {distr (seq (option I)) / R} :=
  if n is n'.+1 then
    prefixed (race_round a q B A) (fun o => if o is Some i then race a q B (A `\ i) n' else dunit [::])
  else dunit [::].

Definition round_total a q B A := expR (a * B) + \sum_(i <- A) expR (a * q i).

Lemma round_total_gt0 a q B A : 0 < round_total a q B A.
Proof. by rewrite ltr_paddr ?expR_gt0 // sumr_ge0 // => i _; apply: expR_ge0. Qed.

Lemma round_totalE a q B A : total_weight a (scored q B (A := A)) finset.setT = round_total a q B A.
Proof.
rewrite /total_weight /round_total (bigD1 None) ?inE //=; congr (_ + _).
rewrite (reindex_omap Some id) /=; last by case=> //; rewrite eqxx andbF.
by rewrite big_seq_fsetE; apply: eq_bigl => x; rewrite !inE eqxx.
Qed.

Lemma round_bottom a q B A : race_round a q B A None = expR (a * B) / round_total a q B A.
Proof.
rewrite dletE (psum_one (x := None)) /= ?mulr_ge0 // => [|[x|] //]; last by rewrite dunit1E mulr0.
by rewrite dunit1E eqxx mulr1 exponentialE inE round_totalE.
Qed.

Lemma round_candidate a q B A i :
  race_round a q B A (Some i) = if i \in A then expR (a * q i) / round_total a q B A else 0.
Proof.
rewrite dletE; case: (boolP (i \in A)) => [iA | iA]; last first.
  apply: psum_eq0 => -[x|]; rewrite dunit1E ?mulr0 //=.
  by case: eqP iA => [[<-]|_ _]; rewrite ?mulr0 // (valP x).
rewrite (psum_one (x := Some [` iA])) /= ?mulr_ge0 // => [|y neq].
  by rewrite dunit1E eqxx mulr1 exponentialE inE round_totalE.
rewrite dunit1E; case: eqP => [e|_]; last by rewrite mulr0.
case: y neq e => [y|] //= /eqP neq [e]; case: neq; congr Some; exact: val_inj.
Qed.

Lemma psum_round a q B A (p : option I -> R) : (forall o, 0 <= p o) ->
  psum (fun o => race_round a q B A o * p o) =
  (expR (a * B) * p None + \sum_(i <- A) expR (a * q i) * p (Some i)) / round_total a q B A.
Proof.
move=> p_ge0; have mass_ge0 o : 0 <= race_round a q B A o * p o by rewrite mulr_ge0.
rewrite (psum_finseq (r := None :: [seq Some i | i <- A])).
- rewrite big_cons big_map ger0_norm // round_bottom mulrDl mulrAC; congr (_ + _).
  rewrite mulr_suml big_seq [RHS]big_seq; apply: eq_bigr => i iA.
  by rewrite ger0_norm // round_candidate iA mulrAC.
- rewrite /= map_inj_uniq ?fset_uniq ?andbT; last by move=> i j [].
  by apply/mapP => -[].
- move=> [i|] //; rewrite !inE /= round_candidate; case: ifP => iA; last by rewrite mul0r eqxx.
  by move=> _; apply/mapP; exists i.
Qed.

Lemma round_sums_to_one a q B A : psum (race_round a q B A) = 1.
Proof.
rewrite -[RHS](divff (lt0r_neq0 (round_total_gt0 a q B A))).
under eq_psum => o do rewrite -[race_round _ _ _ _ _]mulr1.
rewrite (psum_round _ _ _ _ (p := fun=> 1)) ?ler01 // mulr1; congr (_ / _).
by rewrite /round_total; congr (_ + _); apply: eq_bigr => i _; rewrite mulr1.
Qed.

Theorem race_sums_to_one a q B A n : psum (race a q B A n) = 1.
Proof.
rewrite -pr_predT; elim: n A => [|n IH] A /=; first by rewrite pr_dunit.
rewrite pr_prefixed -[RHS](round_sums_to_one a q B A); apply: eq_psum => -[i|] /=.
  by rewrite IH mulr1.
by rewrite pr_dunit mulr1.
Qed.

(** Let beta be the weight of the bad ones and b that of the bottom. A bad one is drawn in this round
    with probability beta / W; a good one, of weight g, leaves the claim beta / b for the rounds to come:
    beta / W + (g / W) beta / b <= beta / b, because W = b + beta + g. *)
Lemma race_bad a q B A n (bad : pred I) :
  \P_[race a q B A n] (has (oapp bad false)) <=
  (\sum_(i <- A | bad i) expR (a * q i)) / expR (a * B).
Proof.
elim: n A => [|n IH] A; first by rewrite /= pr_dunit divr_ge0 ?expR_ge0 ?sumr_ge0 // => i _; apply: expR_ge0.
set b := expR (a * B); have b_gt0 : 0 < b by apply: expR_gt0.
set beta := \sum_(i <- A | bad i) _.
have beta_ge0 : 0 <= beta by apply: sumr_ge0 => i _; apply: expR_ge0.
rewrite /= pr_prefixed psum_round => [|o]; last exact: ge0_pr.
rewrite ler_pdivr_mulr ?round_total_gt0 // pr_dunit /= mulr0 add0r.
rewrite (bigID bad) /= /round_total [X in _ <= _ * (_ + X)](bigID bad) /= -/beta -/b.
apply: (@le_trans _ _ (beta + \sum_(i <- A | ~~ bad i) expR (a * q i) * (beta / b))).
  apply: ler_add.
    by apply: ler_sum => i _; rewrite ler_pimulr ?expR_ge0 ?le1_pr.
  rewrite big_seq_cond [leRHS]big_seq_cond; apply: ler_sum => i /andP[iA good].
  rewrite ler_wpmul2l ?expR_ge0 //= (negbTE good) /=; apply: le_trans (IH _) _.
  rewrite ler_wpmul2r ?invr_ge0 ?(ltW b_gt0) // /beta big_mkcond [leRHS]big_mkcond /=.
  by rewrite (big_fsetD1 i iA) /= (negbTE good) add0r.
rewrite -mulr_suml !mulrDr mulfVK ?gt_eqF // ler_add2l addrC.
by rewrite [leLHS]mulrC ler_addl mulr_ge0 ?divr_ge0 ?(ltW b_gt0).
Qed.

Theorem race_before_bottom a q B A n s (bad : pred I) : 0 <= a ->
  (forall i, i \in A -> bad i -> q i <= s) ->
  \P_[race a q B A n] (has (oapp bad false)) <= (count bad A)%:R * expR (a * (s - B)).
Proof.
move=> a_ge0 low; apply: le_trans (race_bad _ _ _ _ _ _) _.
rewrite mulrBr expRB mulrA ler_wpmul2r ?invr_ge0 ?expR_ge0 //.
apply: (@le_trans _ _ (\sum_(i <- A | bad i) expR (a * s))).
  rewrite big_seq_cond [leRHS]big_seq_cond; apply: ler_sum => i /andP[iA bad_i].
  by rewrite ler_expR ler_wpmul2l // low.
by rewrite big_const_seq iter_addr addr0 mulr_natl.
Qed.

(** Two races, round by round. [same A A'] is what is kept as long as only candidates of G are drawn. *)
Theorem race_ratio a q q' B B' k n (G : pred I) (same : {fset I} -> {fset I} -> Prop) :
  (forall A A', same A A' -> forall o, oapp G true o -> race_round a q B A o <= expR k * race_round a q' B' A' o) ->
  (forall A A' i, same A A' -> G i -> i \in A -> same (A `\ i) (A' `\ i)) -> 0 <= k ->
  forall A A' t, same A A' -> all (oapp G true) t ->
  race a q B A n t <= expR (n%:R * k) * race a q' B' A' n t.
Proof.
move=> ratio keep k_ge0; elim: n => [|n IH] A A' t inv good.
  by rewrite mul0r expR0 mul1r.
case: t good => [_|o t /= /andP[good_o good_t]]; first by rewrite /= !prefixed_nil mulr0.
have expand : expR (n.+1%:R * k) = expR k * expR (n%:R * k) by rewrite -expRD -nat1r mulrDl mul1r.
rewrite /= !prefixed_cons expand mulrACA; case: o good_o => [i|] good_o /=.
  case: (boolP (i \in A)) => [iA|iA].
    by apply: ler_pmul => //; [exact: ratio | apply: IH => //; exact: keep].
  by rewrite round_candidate (negbTE iA) mul0r !mulr_ge0 ?expR_ge0.
apply: ler_pmul => //; first exact: ratio.
by rewrite ler_pemull // -[leLHS]expR0 ler_expR mulr_ge0 ?ler0n.
Qed.

Theorem race_near_restricted a q B A n (G : pred I) delta :
  \P_[race a q B A n] (has (oapp (predC G) false)) <= delta ->
  near_law delta (race a q B A n) (race a q B [fset i in A | G i] n) /\
  near_law delta (race a q B [fset i in A | G i] n) (race a q B A n).
Proof.
move=> bad; apply: (near_dominated (G := all (oapp G true))); rewrite ?race_sums_to_one //; last first.
  apply: le_trans bad; apply: subset_pr => t; rewrite !inE -has_predC.
  by rewrite (eq_has (a2 := oapp (predC G) false)) //; case.
pose same (C C' : {fset I}) := C' = [fset i in C | G i] :> {fset I}.
have round_le C C' : same C C' -> forall o, oapp G true o ->
    race_round a q B C o <= expR 0 * race_round a q B C' o.
  move=> ->; have inv_le : (round_total a q B C)^-1 <= (round_total a q B [fset i in C | G i])^-1.
    rewrite lef_pinv ?posrE ?round_total_gt0 // ler_add2l big_fset /= [leRHS](bigID G) /= ler_addl.
    by apply: sumr_ge0 => i _; apply: expR_ge0.
  move=> [i /= Gi|_]; rewrite expR0 mul1r ?round_bottom ?round_candidate ?inE /=.
    by rewrite Gi andbT; case: ifP => // _; rewrite ler_wpmul2l ?expR_ge0.
  by rewrite ler_wpmul2l ?expR_ge0.
have keep C C' i : same C C' -> G i -> i \in C -> same (C `\ i) (C' `\ i).
  by move=> -> _ _; apply/fsetP => j; rewrite !inE andbA.
move=> t good; have := race_ratio n round_le keep (lexx 0) (erefl : same A _) good.
by rewrite mulr0 expR0 mul1r.
Qed.

End Race.
